"""``-a local``: all rows at once in cells, and what other commands make of such a model."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from frugalsvm import LocalSVC, load, save
from frugalsvm.cli.app import app
from frugalsvm.cli.errors import Exit
from frugalsvm.datasets import make_checkerboard


def run(*arguments):
    result = CliRunner().invoke(app, [str(each) for each in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Rows of classes and of numbers, as files, and a model of each."""
    path = tmp_path_factory.mktemp("local")
    X, y = make_checkerboard(1200, cells=2, random_state=0)
    for name, target in (
        ("classes", np.where(y > 0, "yes", "no")),
        ("numbers", np.round(np.sin(X[:, 0]) + X[:, 1], 4)),
    ):
        lines = ["a,b,target", *(f"{a:.5f},{b:.5f},{t}" for (a, b), t in zip(X, target, strict=True))]
        (path / f"{name}.csv").write_text("\n".join(lines[:1001]) + "\n")
        (path / f"{name}-test.csv").write_text("\n".join([lines[0], *lines[1001:]]) + "\n")
    flags = ["--label", "target", "--gamma", 1.0]
    told = run("train", path / "classes.csv", "-o", path / "classes.frugal", "-a", "local", "--calibrate", *flags)
    assert "error by leaving each row out" in told
    run("train", path / "numbers.csv", "-o", path / "numbers.frugal", "-a", "local", "--task", "regression", *flags)
    return path


def test_what_is_trained(folder):
    model = load(folder / "classes.frugal").estimator_
    assert type(model).__name__ == "LocalSVC"
    assert (model.kernel, model.gamma_, model.n_jobs, model.device) == ("matern12", 1.0, None, "cpu")
    assert type(load(folder / "numbers.frugal").estimator_).__name__ == "LocalSVR"


def test_predict_and_evaluate(folder):
    scores = json.loads(run("evaluate", folder / "classes.frugal", folder / "classes-test.csv", "--json"))
    assert scores["accuracy"] > 0.93
    assert json.loads(run("evaluate", folder / "numbers.frugal", folder / "numbers-test.csv", "--json"))["r2"] > 0.98
    run("predict", folder / "classes.frugal", folder / "classes-test.csv", "-o", folder / "out.csv", "--probabilities")
    assert len((folder / "out.csv").read_text().splitlines()) == 200


@pytest.mark.parametrize("name", ["classes", "numbers"])
def test_what_others_tell(folder, name):
    assert f"Local{'SVC' if name == 'classes' else 'SVR'}" in run("inspect", folder / f"{name}.frugal")
    assert json.loads(run("inspect", folder / f"{name}.frugal", "--json"))["n cells"] == 1
    assert run("explain", folder / f"{name}.frugal", folder / f"{name}-test.csv")


def test_export(folder):
    run("export", folder / "classes.frugal", "--to", "c", "-o", folder / "c")
    assert (folder / "c" / "model.c").exists()


def test_several_cells_leave_as_c_alone(folder):
    X, y = make_checkerboard(300, cells=2, random_state=0)
    model = folder / "cells.frugal"
    save(LocalSVC(kernel="matern12", gamma=1.0, cell_size=100, random_state=0).fit(X, y), model)
    run("export", model, "--to", "c", "-o", folder / "cells")
    for flags, words in (
        (["onnx"], "--to onnx is for a single machine: take --to c, or train with -a asset"),
        (["libsvm"], "--to libsvm is for a single machine"),
        (["c", "--explain"], "--explain is for a single machine: leave it out"),
    ):
        result = CliRunner().invoke(app, ["export", str(model), "-o", str(folder / "out"), "--to", *flags])
        assert result.exit_code == Exit.DATA
        assert words in " ".join(result.output.split())
