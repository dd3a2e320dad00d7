"""``--metric`` on the command line: learned, saved, shown by its features' names, and used by the other commands."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from frugalsvm.cli.app import app
from frugalsvm.datasets import make_checkerboard
from frugalsvm.persist import load

FAST = ["--alpha", "1e-5", "--budget", "50", "--quiet"]


def run(*arguments, code=0):
    """Output of a command that ends with an exit code."""
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exit_code == code, (result.output, result.exception)
    return result.output


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A checkerboard, with two columns of noise between its own."""
    X, y = make_checkerboard(1500, random_state=0)
    noise = np.random.default_rng(1).normal(size=X.shape)
    rows = np.column_stack([X[:, 0], noise, X[:, 1], y])
    path = tmp_path_factory.mktemp("data") / "rows.csv"
    header = "left,noise,static,right,label"
    np.savetxt(path, rows, delimiter=",", header=header, comments="", fmt=["%.5g"] * 4 + ["%d"])
    return path


@pytest.fixture(scope="module")
def model(data):
    path = data.with_name("model.frugal")
    told = json.loads(run("train", data, "--metric", "diag", "-o", path, *FAST, "--json"))
    assert told["chosen"]["metric"] == "diag"
    return path


def test_the_model_has_a_metric_that_leaves_noise_out(data, model, tmp_path):
    assert load(model).estimator_.feature_importances_[[0, 3]].sum() > 0.9
    plain = tmp_path / "plain.frugal"
    run("train", data, "-o", plain, *FAST)
    accuracies = [json.loads(run("evaluate", each, data, "--json"))["accuracy"] for each in (model, plain)]
    assert accuracies[0] > accuracies[1] + 0.05
    predicted = run("predict", model, data).split()
    assert len(predicted) == 1500


def test_inspect_names_the_features_that_count_most(model):
    told = json.loads(run("inspect", model, "--json"))["metric"]
    assert told["kind"] == "factors"
    assert set(list(told["most important"])[:2]) == {"left", "right"}
    assert sum(told["most important"].values()) == pytest.approx(1.0, abs=1e-3)
    assert "left" in run("inspect", model)


@pytest.mark.slow
def test_directions_are_counted(data, tmp_path):
    output = tmp_path / "model.frugal"
    told = run("train", data, "--metric", "full", "--gamma", "2", "-o", output, *FAST)
    assert "metric full" in told
    shown = json.loads(run("inspect", output, "--json"))["metric"]
    assert shown["kind"] == "directions"
    assert shown["directions"] == len(load(output).estimator_.metric_)


@pytest.mark.slow
def test_all_rows_at_once(data, tmp_path):
    output = tmp_path / "model.frugal"
    told = run("train", data, "-a", "asset", "--device", "cpu", "--metric", "diag", "--budget", 60, "-o", output, "-q")
    assert "metric diag" in told
    assert json.loads(run("evaluate", output, data, "--json"))["accuracy"] > 0.9


@pytest.mark.slow
def test_tune_takes_it_and_writes_it_for_train(data, tmp_path):
    best = tmp_path / "best.toml"
    told = json.loads(
        run("tune", data, "--metric", "diag", "--rows", 1500, "--budget", 40, "-o", best, "--json", "--seed", 1)
    )
    assert told["best"]["metric"] == "diag"
    assert 'metric = "diag"' in best.read_text()
    assert "--metric" in run("tune", data, "-a", "perceptron", "--metric", "diag", code=2)


def test_resume_goes_on_with_the_metric_of_the_run(data, model, tmp_path):
    assert "was_finished" in run("train", data, "-o", model, "--resume", "--json", "-q")
    told = run("train", data, "-o", model, "--resume", "--metric", "full", "-q", code=3)
    assert "--metric full" in told


def test_a_kernel_that_it_does_not_go_with(data, tmp_path):
    told = run("train", data, "--metric", "full", "--kernel", "laplacian", "-o", tmp_path / "m.frugal", "-q", code=2)
    assert "--metric full: --kernel laplacian adds up" in told
    assert not (tmp_path / "m.frugal").exists()
