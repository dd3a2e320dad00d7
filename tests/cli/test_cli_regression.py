"""`frugalsvm train -a bsgd-regressor`: numbers and quantiles on a budget, from files and pipes."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from frugalsvm.cli.app import app
from frugalsvm.persist import load
from frugalsvm.streams.label_order import LabelOrder

REGRESSOR = ("-a", "bsgd-regressor", "--budget", 40)


def invoke(*arguments, code=0, data=None):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], input=data)
    assert result.exit_code == code, (result.output, result.exception)
    return result


def table(seed, n_rows=6000):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-30, 30, size=(n_rows, 2)).round(2)
    return X, (20_000 + 500 * X[:, 1] * np.sin(X[:, 0] / 10) + 500 * rng.normal(size=n_rows)).round(1)


def text(X, y):
    return "\n".join(["a,b,price", *(f"{a},{b},{price}" for (a, b), price in zip(X, y, strict=True))]) + "\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("regression")
    (made / "train.csv").write_text(text(*table(0)))
    (made / "test.csv").write_text(text(*table(1, 1000)))
    return made


@pytest.fixture(scope="module")
def model(folder):
    output = folder / "model.frugal"
    told = json.loads(invoke("train", folder / "train.csv", *REGRESSOR, "-o", output, "--json").stdout)
    assert 500 < told["rmse_before_learning"] < 4000
    assert told["chosen"]["labels"] is None
    return output


def predicted(*arguments):
    return np.array([line.split("\t") for line in invoke("predict", *arguments).stdout.splitlines()], float)


def test_predictions_and_errors(model, folder):
    X, y = table(1, 1000)
    found = predicted(model, folder / "test.csv")[:, 0]
    np.testing.assert_allclose(found, load(model).predict(X))
    told = json.loads(invoke("evaluate", model, folder / "test.csv", "--json").stdout)
    np.testing.assert_allclose(told["rmse"], np.sqrt(np.mean(np.square(found - y))))
    np.testing.assert_allclose(told["mae"], np.mean(np.abs(found - y)))
    assert told["r2"] > 0.9
    curve = json.loads(invoke("evaluate", model, folder / "test.csv", "--prequential", "--json").stdout)["curve"]
    assert [row["examples"] for row in curve] == list(range(1000, len(y) + 1, 1000))
    assert all(set(row) == {"examples", "rmse"} for row in curve)


def test_rows_are_predicted_one_by_one_before_they_are_learned(folder, tmp_path):
    flags = (
        "-a",
        "bsgd-regressor",
        "--gamma",
        0.25,
        "--budget",
        40,
        "--prequential",
        "-o",
        tmp_path / "m.frugal",
        "--json",
    )
    told = json.loads(invoke("train", folder / "train.csv", *flags).stdout)
    assert 0 < told["recent_rmse"] < told["rmse_before_learning"]  # it knows more than at the beginning


def test_gamma_is_chosen_and_what_is_given_stays(model, folder, tmp_path):
    assert load(model).estimator_.gamma != "scale"
    flags = ("--gamma", 0.25, "--loss", "huber", "--alpha", 1e-5)
    invoke("train", folder / "train.csv", *REGRESSOR, *flags, "-o", tmp_path / "m.frugal", "-q")
    estimator = load(tmp_path / "m.frugal").estimator_
    assert (estimator.gamma, estimator.loss, estimator.alpha) == (0.25, "huber", 1e-5)


def test_a_pipe_with_a_task_is_learned_by_the_regressor(model, folder, tmp_path):
    rows = (folder / "train.csv").read_text()
    invoke("train", "-", "--task", "regression", "--budget", 40, "-o", tmp_path / "m.frugal", "-q", data=rows)
    np.testing.assert_array_equal(
        predicted(tmp_path / "m.frugal", folder / "test.csv"), predicted(model, folder / "test.csv")
    )


def test_several_quantiles(folder, tmp_path):
    output, y = tmp_path / "m.frugal", table(1, 1000)[1]
    flags = ("--quantile", "0.1,0.5,0.9", "--passes", 5, "--gamma", 1)
    told = json.loads(invoke("train", folder / "train.csv", *REGRESSOR, *flags, "-o", output, "--json").stdout)
    assert told["rmse_before_learning"] is None
    assert told["chosen"]["loss"] == "pinball"
    found = predicted(output, folder / "test.csv")
    assert found.shape == (1000, 3)
    assert (np.diff(found, axis=1) >= 0).all()
    told = json.loads(invoke("evaluate", output, folder / "test.csv", "--json").stdout)
    losses = [
        np.mean(np.maximum(q * (y - each), (q - 1) * (y - each)))
        for q, each in zip((0.1, 0.5, 0.9), found.T, strict=True)
    ]
    np.testing.assert_allclose([row["pinball"] for row in told["quantiles"]], losses, rtol=1e-6)
    np.testing.assert_allclose(told["pinball"], np.mean(losses), rtol=1e-6)
    assert [row["below"] for row in told["quantiles"]] == [np.mean(y <= each) for each in found.T]
    np.testing.assert_allclose([row["below"] for row in told["quantiles"]], (0.1, 0.5, 0.9), atol=0.04)
    assert told["coverage"] == np.mean((found[:, 0] <= y) & (y <= found[:, 2]))
    assert "quantile 0.9" in invoke("evaluate", output, folder / "test.csv").stdout
    assert "pinball loss" in invoke("evaluate", output, folder / "test.csv", "--prequential").stdout
    assert "quantile" in invoke("train", folder / "train.csv", "-o", output, "--resume").stdout


@pytest.mark.parametrize("order", ["as they come", "by label"])
def test_quantiles_of_one_pass_hold_and_training_tells_it(order, tmp_path):
    X, y = table(2, 6000)
    rows, output = np.argsort(y) if order == "by label" else np.arange(len(y)), tmp_path / "m.frugal"
    (tmp_path / "rows.csv").write_text(text(X[rows], y[rows]))
    flags = ("--quantile", "0.05,0.95", "--gamma", 1, "-o", output)
    told = invoke("train", tmp_path / "rows.csv", *REGRESSOR, *flags).stdout.replace("\n", " ")
    assert "of the labels are between the quantiles 0.05 and 0.95, of 90.00 % wanted (3,000 rows that did not" in told
    X, y = table(3, 3000)
    (tmp_path / "test.csv").write_text(text(X, y))
    low, high = predicted(output, tmp_path / "test.csv").T
    assert 0.87 < np.mean((low <= y) & (y <= high)) < 0.93
    assert "coverage" in invoke("evaluate", output, tmp_path / "test.csv").stdout
    assert "of the labels are between the quantiles" in invoke("inspect", output).stdout.replace("\n", " ")


def test_one_quantile_is_one_column(folder, tmp_path):
    output = tmp_path / "m.frugal"
    invoke("train", folder / "train.csv", *REGRESSOR, "--quantile", 0.9, "--gamma", 1, "-o", output, "-q")
    assert predicted(output, folder / "test.csv").shape == (1000, 1)
    told = json.loads(invoke("evaluate", output, folder / "test.csv", "--json").stdout)
    assert [row["quantile"] for row in told["quantiles"]] == [0.9]


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["-a", "bsgd-regressor", "--quantile", "0.5,2"], "--quantile: '2' is not a number between 0 and 1."),
        (["-a", "bsgd-regressor", "--quantile", 0.5, "--loss", "huber"], "--quantile: it is for --loss pinball"),
        (["-a", "bsgd-regressor", "--loss", "absolute"], "--loss: 'absolute' is not one of epsilon_insensitive,"),
        (["-a", "bsgd-regressor", "--calibrate"], "--calibrate: it is for classes, and bsgd-regressor learns numbers"),
        (
            ["-a", "lasvm", "--task", "regression"],
            "--task: lasvm learns classes: leave it out, or leave --algorithm out.",
        ),
        (
            ["-a", "bsgd", "--loss", "huber"],
            "--loss: bsgd does not use it: it is for bsgd-regressor and asset-regressor.",
        ),
    ],
)
def test_wrong_flags(folder, tmp_path, flags, told):
    said = invoke("train", folder / "train.csv", "-o", tmp_path / "m.frugal", *flags, code=2).output
    assert told in " ".join(said.split())


def test_text_is_no_number(folder, tmp_path):
    (tmp_path / "text.csv").write_text("a,b,price\n1,2,cheap\n3,4,dear\n")
    said = invoke("train", tmp_path / "text.csv", *REGRESSOR, "-o", tmp_path / "m.frugal", code=3).stderr
    assert "labels like 'cheap', which are not numbers" in said


def test_numbers_without_a_task_are_told_who_learns_them(folder, tmp_path):
    said = invoke("train", folder / "train.csv", "-a", "bsgd", "-o", tmp_path / "m.frugal", code=3).stderr
    assert "--task regression learns numbers" in said


def test_what_cannot_be_is_told(model, folder):
    assert (
        "--scores is for classes and novelties"
        in invoke("predict", model, folder / "test.csv", "--scores", code=3).stderr
    )
    assert "predicts on the CPU" in invoke("predict", model, folder / "test.csv", "--device", "cpu", code=3).stderr
    assert "has no p-values" in invoke("predict", model, folder / "test.csv", "--alarm-rate", 0.1, code=3).stderr
    assert "--anomaly is for" in invoke("evaluate", model, folder / "test.csv", "--anomaly", 1, code=3).stderr


def test_the_numbers_of_a_stream_are_not_kept(folder, tmp_path, monkeypatch):
    """As labels are, by their values: those of a long stream would fill the memory."""
    monkeypatch.setattr(LabelOrder, "add", lambda *_: pytest.fail("numbers are counted as if they were classes"))
    invoke("train", folder / "train.csv", *REGRESSOR, "--gamma", 1, "-o", tmp_path / "m.frugal", "-q")


@pytest.mark.parametrize("flags", [("-a", "bsgd-regressor"), ("--budget", 60)])
def test_files_sorted_by_their_numbers_are_shuffled(folder, tmp_path, flags):
    """Or the model would know the last ones only."""
    head, *rows = (folder / "train.csv").read_text().splitlines()
    rows.sort(key=lambda row: float(row.rsplit(",", 1)[1]))
    data, model = tmp_path / "sorted.csv", tmp_path / "m.frugal"
    data.write_text("\n".join([head, *rows]))
    told = invoke("train", data, *flags, "--gamma", 1, "-o", model).stderr
    assert "are sorted by label: all rows are read and shuffled" in told
    text = data.read_text()
    told = invoke("train", "-", "--format", "csv", *flags, "--gamma", 1, "-o", model, data=text).stderr
    assert "are sorted by label, and are learned in this order" in told
    told = invoke("train", data, *flags, "--gamma", 1, "--shuffle", "no", "-o", model).stderr
    assert "all rows are read and shuffled" not in told


def test_what_a_file_holds(model):
    page = invoke("inspect", model).stdout
    assert "predicts a number from 2 columns of numbers" in page
    assert "in the root mean square, before rows were learned" in page
