"""`frugalsvm train -a NAME` chooses what the estimator of that name chooses by itself, on the same rows."""

import json

import numpy as np
import pytest
from sklearn.base import clone
from typer.testing import CliRunner

from frugalsvm import (
    ASSETClassifier,
    BPAClassifier,
    BSGDClassifier,
    BSGDRegressor,
    LASVMClassifier,
    LocalSVC,
    TVMClassifier,
)
from frugalsvm.cli.app import app
from frugalsvm.datasets import make_checkerboard

N_MANY, N_CHOOSING = 6500, 3072
ESTIMATORS = {
    "bsgd": BSGDClassifier(new_classes="grow"),
    "lasvm": LASVMClassifier(),
    "asset": ASSETClassifier(),
    "bpa": BPAClassifier(gamma="auto"),  # which takes "scale" if it is not asked to choose
    "tvm": TVMClassifier(gamma="auto"),
    "bsgd-regressor": BSGDRegressor(gamma="auto"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Rows of a checkerboard within [-1, 1], which are left as they are: all of them, and the first ones."""
    made = tmp_path_factory.mktemp("same")
    X, y = make_checkerboard(N_MANY, random_state=0)
    X = (X / np.abs(X).max()).round(4)
    lines = [f"{a},{b},{label}" for (a, b), label in zip(X, y, strict=True)]
    for name, n_rows in (("few", 700), ("many", N_MANY)):
        (made / f"{name}.csv").write_text("\n".join(["a,b,label", *lines[:n_rows]]) + "\n")
    return made


def rows_of(path):
    table = np.loadtxt(path, delimiter=",", skiprows=1)
    return table[:, :2].astype(np.float32), table[:, 2].astype(int)


def chosen(path, output, *flags):
    result = CliRunner().invoke(app, ["train", str(path), "-o", str(output), "--seed", "0", "--json", "-q", *flags])
    assert result.exit_code == 0, (result.output, result.exception)
    return json.loads(result.stdout)["chosen"]


def check_same(found, estimator):
    assert found["scale"] is False
    assert found["gamma"] == pytest.approx(estimator.gamma_, rel=1e-6)
    strength = next(name for name in ("C", "alpha") if hasattr(estimator, name))
    value = getattr(estimator, strength)
    value = getattr(estimator, f"{strength}_") if isinstance(value, str | list) else value
    assert found.get("C", found["strength"]) == pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_of_a_small_file_as_in_fit(folder, tmp_path, name):
    X, y = rows_of(folder / "few.csv")
    found = chosen(folder / "few.csv", tmp_path / "m.frugal", "-a", name)
    check_same(found, clone(ESTIMATORS[name]).set_params(random_state=0).fit(X, y))


@pytest.mark.parametrize("name", ["bsgd", "lasvm", "asset", "bsgd-regressor"])
def test_of_a_large_file_as_in_partial_fit(folder, tmp_path, name):
    X, y = rows_of(folder / "many.csv")
    found = chosen(folder / "many.csv", tmp_path / "m.frugal", "-a", name)
    check_same(found, clone(ESTIMATORS[name]).set_params(random_state=0).partial_fit(X[:N_CHOOSING], y[:N_CHOOSING]))


@pytest.mark.parametrize("flags", [["-a", "asset", "--device", "cpu"], ["-a", "local"]])
def test_all_rows_at_once_as_in_fit(folder, tmp_path, flags):
    X, y = rows_of(folder / "few.csv")
    estimator = ASSETClassifier(n_components=500, C=[0.1, 1.0, 10.0, 100.0]) if "asset" in flags else LocalSVC()
    found = chosen(folder / "few.csv", tmp_path / "m.frugal", *flags)
    check_same(found, estimator.set_params(random_state=0).fit(X, y))
