"""`frugalsvm evaluate --prequential`: figures of windows of rows, on the page, in JSON and as CSV."""

import csv
import json

import numpy as np
import pytest
from typer.testing import CliRunner

from frugalsvm.cli.app import app
from frugalsvm.metrics.windows import Curve
from frugalsvm.persist import load

N_TRAIN, N_TEST, CHANGE = 1500, 2300, 1000


def invoke(*arguments, code=0):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == code, (result.output, result.exception)
    return result


@pytest.fixture(scope="module")
def rows():
    """Two clouds, which change places in the middle of the test rows."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, N_TRAIN + N_TEST)
    X = (rng.normal(size=(len(y), 2)) + 4.0 * y[:, None]).round(2)
    y[N_TRAIN + CHANGE :] = 1 - y[N_TRAIN + CHANGE :]
    return X, y


@pytest.fixture(scope="module")
def folder(rows, tmp_path_factory):
    made = tmp_path_factory.mktemp("curve")
    lines = [",".join(map(str, [*x, label])) for x, label in zip(rows[0].tolist(), rows[1].tolist(), strict=True)]
    for name, part in (("train", lines[:N_TRAIN]), ("test", lines[N_TRAIN:])):
        (made / f"{name}.csv").write_text("\n".join(["a,b,y", *part]) + "\n")
    flags = ("--half-life", 200, "--gamma", 0.5, "--budget", 30)
    invoke("train", made / "train.csv", *flags, "-q", "-o", made / "model.frugal")
    return made


def evaluated(folder, *flags):
    return invoke("evaluate", folder / "model.frugal", folder / "test.csv", "--prequential", *flags).stdout


def test_windows_are_those_of_a_model_that_learns_row_by_row(folder, rows, tmp_path):
    told = json.loads(evaluated(folder, "--window", 500, "--curve", tmp_path / "curve.csv", "--json"))
    X, y = rows[0][N_TRAIN:], rows[1][N_TRAIN:]
    model, right = load(folder / "model.frugal"), []
    for x, label in zip(X, y, strict=True):
        right.append(model.predict_one_row(x) == label)
        model.learn_one_row(x, label)
    ends = [500, 1000, 1500, 2000, 2300]
    windows = [np.mean(part) for part in np.split(right, ends[:-1])]
    assert told["curve"] == [{"examples": n, "accuracy": share} for n, share in zip(ends, windows, strict=True)]
    assert told["accuracy"] == np.mean(right)
    assert windows[2] == min(windows) < windows[-1]  # the stream has changed, and the model has followed
    with open(tmp_path / "curve.csv", newline="") as file:
        written = [
            {"examples": int(row["examples"]), "accuracy": float(row["accuracy"])} for row in csv.DictReader(file)
        ]
    assert written == told["curve"]


def test_the_model_file_stays_as_it_is(folder):
    before = (folder / "model.frugal").read_bytes()
    evaluated(folder)
    assert (folder / "model.frugal").read_bytes() == before


def test_the_page_shows_some_of_many_windows_and_the_last(folder):
    page = evaluated(folder, "--window", 50)
    assert "of 46 windows of rows; --curve and --json have all." in page
    assert "2,300" in page.split("Test, then train")[1]
    assert "windows of rows" not in evaluated(folder)


def test_a_curve_needs_a_model_that_learns(folder, tmp_path):
    command = ("evaluate", folder / "model.frugal", folder / "test.csv", "--curve")
    assert "--curve: it needs --prequential" in invoke(*command, tmp_path / "c.csv", code=2).output
    assert not (tmp_path / "c.csv").exists()
    assert "--window: it needs --prequential" in invoke(*command[:3], "--window", 9, code=2).output
    invoke(*command, tmp_path / "nowhere" / "c.csv", "--prequential", code=5)


@pytest.mark.parametrize("size", [1, 7, 10, 64])
def test_batches_change_nothing(size):
    values = np.arange(25)
    curve = Curve(10, lambda labels, predicted: {"sum": int(labels.sum()), "other": int(predicted.sum())})
    for start in range(0, 25, size):
        curve.add(values[start : start + size], 2 * values[start : start + size])
    sums = [values[:10].sum(), values[10:20].sum(), values[20:].sum()]
    assert curve.rows() == [
        {"examples": n, "sum": total, "other": 2 * total} for n, total in zip((10, 20, 25), sums, strict=True)
    ]
    assert curve.rows() == curve.rows()  # asking changes nothing


def test_no_rows_no_windows():
    assert Curve(10, lambda labels, predicted: {}).rows() == []
