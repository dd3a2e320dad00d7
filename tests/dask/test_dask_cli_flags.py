"""Flags of ``frugalsvm train --dask``: what they do is what they do on one machine."""

import json
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("distributed")
pytest.importorskip("typer")
pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")

from distributed import Client  # noqa: E402
from typer.testing import CliRunner  # noqa: E402

from frugalsvm import load  # noqa: E402
from frugalsvm.cli.app import app  # noqa: E402
from frugalsvm.cli.commands import train_dask as module  # noqa: E402


@pytest.fixture(scope="module")
def client():
    with Client(
        processes=False, n_workers=2, threads_per_worker=1, dashboard_address=":0", set_as_default=False
    ) as client:
        yield client


@pytest.fixture
def run(client, monkeypatch, tmp_path):
    """Runs a command; ``--dask`` is that cluster."""

    @contextmanager
    def inside(flags):
        with client.as_current():
            yield client

    monkeypatch.setattr(module, "_client", inside)
    monkeypatch.chdir(tmp_path)

    def invoke(*arguments, code=0):
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        assert result.exit_code == code, (result.output, result.exception)
        return result

    return invoke


@pytest.fixture
def table(tmp_path):
    """Text, missing values, a decimal comma and no delimiter that is said, names that say nothing; in three files."""
    rng = np.random.default_rng(0)
    n_rows = 1500
    frame = pd.DataFrame({"name": [f"n{k}" for k in range(n_rows)], "size": 1000 * rng.random(n_rows)})
    frame["color"] = rng.choice(["red", "blue", "green"], n_rows)
    frame["month"], frame["noise"] = rng.integers(1, 4, n_rows), rng.random(n_rows)
    frame["kind"] = np.where((frame["size"] > 500) ^ (frame["color"] == "red") ^ (frame["month"] == 2), "yes", "no")
    frame["price"] = frame["size"] / 10 + 5 * (frame["color"] == "red")
    frame.loc[::40, "size"], frame.loc[::37, "color"] = np.nan, None
    for number in range(3):
        part = frame.iloc[500 * number : 500 * (number + 1)]
        part.to_csv(f"{tmp_path}/part-{number}.csv", index=False, sep=";", decimal=",")
        part.to_parquet(f"{tmp_path}/part-{number}.parquet", index=False)
    return frame


IGNORED = ("--ignore", "noise,price", "--categorical", "month")


def accuracy(run, *files):
    return json.loads(run("evaluate", "m.frugal", *files, "--json").stdout)["accuracy"]


def test_text_and_missing_values(run, table):
    flags = ("--label", "kind", "-a", "asset", "--budget", 100, "--calibrate", "--dask", "here", *IGNORED)
    result = run("train", "part-*.csv", *flags, "-o", "m.frugal")
    assert "column 'name' has 1,500 different texts in 1,500 rows: it is left out" in " ".join(result.stderr.split())
    assert "features scaled" in result.output
    assert accuracy(run, "part-1.csv", "--label", "kind") > 0.9
    run("predict", "m.frugal", "part-2.csv", "--label", "kind", "--probabilities", "-o", "told.csv")
    assert len(Path("told.csv").read_text().splitlines()) == 500


@pytest.mark.slow
def test_parquet_and_bsgd(run, table):
    ignored = ("--ignore", "noise", "--ignore", "price,name", "--categorical", "month", "--missing", "skip")
    run("train", "part-*.parquet", "--label", "kind", "-a", "bsgd", "--dask", "here", *ignored, "-o", "m.frugal")
    model = load("m.frugal")
    assert model.impute is None
    table.dropna(subset="size").to_parquet("whole.parquet", index=False)
    assert accuracy(run, "whole.parquet", "--label", "kind") > 0.8


def test_numbers_and_quantiles(run, table):
    flags = ("--label", "price", "--dask", "here", "--ignore", "noise,kind,name", "--task", "regression")
    told = json.loads(run("train", "part-*.parquet", *flags, "-a", "asset", "-o", "m.frugal", "--json").stdout)
    assert told["validation_score"] > 0.9
    run("train", "part-*.parquet", *flags[:-2], "-a", "asset", "--quantile", "0.1,0.9", "-o", "q.frugal")
    found = load("q.frugal").predict(table[["size", "color", "month"]])
    assert found.shape == (1500, 2)
    assert np.mean(found[:, 0] < found[:, 1]) > 0.9
    said = run("train", "part-*.parquet", *flags, "--calibrate", "-o", "m.frugal", code=3).stderr
    assert "--calibrate is for classes" in said


def test_novelties(run, table):
    flags = ("-a", "one-class", "--nu", 0.1, "--ignore", "name,price,noise", "--label", "kind", "--dask", "here")
    run("train", "part-*.parquet", *flags, "-o", "m.frugal")
    told = json.loads(run("evaluate", "m.frugal", "part-0.parquet", "--anomaly", "yes", "--json").stdout)
    assert told["alarms"] == pytest.approx(0.1, abs=0.05)
    said = run("train", "part-*.parquet", *flags, "--alarm-rate", 0.1, code=2).output
    assert "--nu is the share of rows" in " ".join(said.split())


def test_columns_that_are_not_there_and_files_that_are_not_read(run, table):
    assert "has no column 'kin'" in run("train", "part-*.csv", "--label", "kin", "--dask", "here", code=3).stderr
    said = run("train", "part-*.svm", "--dask", "here", code=3).stderr
    assert "convert the rows first, or train without --dask" in " ".join(said.split())
    said = run("train", "part-*.parquet", "--label", "price", "-a", "asset", "--dask", "here", code=3).stderr
    assert "`-a asset --task regression` learns numbers" in " ".join(said.split())


@pytest.mark.slow
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_dates_are_refused_and_what_is_predicted_is_told(run, form):
    rng = np.random.default_rng(0)
    days = pd.date_range("2020-01-01", periods=400, freq="D")
    frame = pd.DataFrame({"a": rng.normal(size=400), "when": days, "y": rng.integers(0, 2, 400)})
    if form == "csv":
        frame.to_csv("rows.csv", index=False)
    else:
        frame.to_parquet("rows.parquet")
    common = ("train", f"rows.{form}", "--dask", "here", "-a", "bsgd", "--budget", 20, "--gamma", 1.0, "--label", "y")
    refused = " ".join(run(*common, code=3).output.split())
    assert "column 'when' has dates, which --dask does not learn from: leave it out (--ignore when)" in refused
    assert "note: predicting 'y': 2 classes" in run(*common, "--ignore", "when").stderr


def test_files_without_a_header(run, table):
    for number in range(2):
        part = table.iloc[750 * number : 750 * (number + 1)][["size", "month", "kind"]].fillna(0)
        part.to_csv(f"bare-{number}.csv", index=False, header=False)
    run("train", "bare-*.csv", "--label", "2", "-a", "asset", "--dask", "here", "--header", "no", "-o", "m.frugal")
    assert load("m.frugal").n_features_in_ == 2
    assert accuracy(run, "bare-0.csv", "--label", "2") > 0.6


def test_the_label_is_found_by_its_name_as_on_one_machine(run, table, tmp_path):
    named = table.rename(columns={"kind": "label"})[["size", "label", "color"]]
    named.to_csv(tmp_path / "named.csv", index=False)
    said = run("train", "named.csv", "-a", "asset", "--budget", 30, "--gamma", 1.0, "--C", 1.0, "--dask", "here").stderr
    assert "note: labels come from column 'label' (by its name)" in said
    assert "note: predicting 'label': 2 classes" in said
