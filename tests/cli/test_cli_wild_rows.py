"""A few wild rows cost the command line's default next to nothing."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from frugalsvm.cli.app import app


def run(*arguments):
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exit_code == 0, (result.output, result.exception)
    return json.loads(result.output)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 4)) * [1, 5, 0.1, 20]
    Z = X / [1, 5, 0.1, 20]
    return X, (Z[:, 0] * Z[:, 1] + 0.5 * Z[:, 2] + 0.2 * rng.normal(size=6000) > 0).astype(int)


def test_training_with_defaults(table, tmp_path):
    X, y = table
    wild = np.where(np.random.default_rng(1).random((6000, 1)) < 0.008, 100.0, 1.0) * X
    test = write(tmp_path / "test.csv", X[4000:], y[4000:])
    accuracies = []
    for name, rows in (("calm", X), ("wild", wild)):
        data, model = write(tmp_path / f"{name}.csv", rows[:4000], y[:4000]), tmp_path / f"{name}.frugal"
        run("train", data, "--budget", 100, "-o", model, "--json")
        accuracies.append(run("evaluate", model, test, "--json")["accuracy"])
    assert accuracies[1] > accuracies[0] - 0.02
    assert accuracies[0] > 0.85


def write(path, X, y):
    np.savetxt(path, np.column_stack([X, y]), delimiter=",", header="a,b,c,d,label", comments="", fmt="%.6g")
    return path


def test_columns_that_leave_their_range_are_named_once(tmp_path):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(16_000, 4))
    y = (X[:, 0] > 0).astype(int)
    X[:, [1, 3]] += 100.0 * np.searchsorted([5000, 11_000], np.arange(16_000))[:, None]  # twice
    data, model = write(tmp_path / "jumps.csv", X, y), tmp_path / "m.frugal"
    flags = ("--label", "label", "--budget", 10, "--gamma", 1, "--alpha", 1e-3, "-q")
    X[:, [1, 3]] += 1000.0
    later = write(tmp_path / "later.csv", X, y)
    for arguments in (("train", data, *flags, "-o", model), ("evaluate", model, later, "--prequential")):
        result = CliRunner().invoke(app, [str(a) for a in arguments])
        assert result.exit_code == 0, result.output
        assert " ".join(result.stderr.split()).count("Features 'b', 'd' have left the range") == 1
        assert result.stderr.count("left the range") == 1
