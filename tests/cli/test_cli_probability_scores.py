"""``frugalsvm evaluate`` of models with probabilities: log loss, Brier score and calibration."""

import json

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss, log_loss
from typer.testing import CliRunner

from frugalsvm.cli.app import app
from frugalsvm.metrics.collected import probability_scores
from frugalsvm.persist import load


def run(*arguments):
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exit_code == 0, (result.output, result.exception)
    return result.stdout


@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_are_those_of_scikit_learn(n_classes):
    rng = np.random.default_rng(0)
    probabilities, classes = rng.dirichlet(np.ones(n_classes), 500), np.array(["a", "b", "c"])[:n_classes]
    labels = np.array([rng.choice(classes, p=row) for row in probabilities])
    found = probability_scores(labels, probabilities, classes)
    assert found["log_loss"] == pytest.approx(log_loss(labels, probabilities, labels=classes))
    squares = np.square(probabilities - (labels[:, None] == classes)).sum(axis=1).mean()
    if n_classes == 2:
        squares = brier_score_loss(labels, probabilities[:, 1], pos_label="b")
    assert found["brier"] == pytest.approx(squares)
    assert found["calibration_error"] < 0.06  # labels were drawn with these probabilities
    sure = np.where(probabilities == probabilities.max(axis=1, keepdims=True), 0.98, 0.02 / (n_classes - 1))
    assert probability_scores(labels, sure, classes)["calibration_error"] > 0.15


def test_evaluate_has_them_where_there_are_probabilities(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2))
    y = X[:, 0] + 0.5 * rng.normal(size=len(X)) > 0
    data, model = tmp_path / "rows.csv", tmp_path / "m.frugal"
    np.savetxt(
        data, np.column_stack([X, y]), delimiter=",", header="a,b,label", comments="", fmt=["%.6g", "%.6g", "%d"]
    )
    flags = ["-a", "bsgd", "--budget", 30, "--gamma", "0.3", "--alpha", "1e-4", "-o", model, "-q"]
    run("train", data, *flags)
    assert "log_loss" not in json.loads(run("evaluate", model, data, "--json"))
    run("train", data, *flags, "--calibrate")
    told = json.loads(run("evaluate", model, data, "--json"))
    rows = np.loadtxt(data, delimiter=",", skiprows=1)
    assert told["log_loss"] == pytest.approx(log_loss(rows[:, 2], load(model).predict_proba(rows[:, :2])), abs=1e-5)
    page = run("evaluate", model, data)
    assert all(words in page for words in ("log loss", "Brier score", "calibration"))
