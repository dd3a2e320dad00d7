"""`frugalsvm train --half-life --prequential`: streams that change, learned, resumed, and followed on the way."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from frugalsvm import BSGDClassifier
from frugalsvm.cli.app import app
from frugalsvm.cli.commands import train_stream
from frugalsvm.cli.io import saved_run
from frugalsvm.persist import describe, load
from frugalsvm.pipelines import StreamPipeline

N_ROWS, CHANGE = 9000, 3000
FAST = ("--gamma", 1.0, "--budget", 40, "-q")


def invoke(*arguments, code=0, data=None):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], input=data)
    assert result.exit_code == code, (result.output, result.exception)
    return result


def told(*arguments, data=None):
    return json.loads(invoke(*arguments, "--json", data=data).stdout)


def lines(form):
    """Two clouds that change places: labels of the first rows are wrong for the others. They lie far from zero."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, N_ROWS)
    X = (100 + 5 * (rng.normal(size=(N_ROWS, 3)) + 3.0 * y[:, None])).round(2)
    y[CHANGE:] = 1 - y[CHANGE:]
    rows = zip(X.tolist(), y.tolist(), strict=True)
    if form == "libsvm":
        return [" ".join([str(label), *(f"{k + 1}:{value}" for k, value in enumerate(row))]) for row, label in rows]
    return ["a,b,c,y", *(",".join(map(str, [*row, label])) for row, label in rows)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("changing")
    for form in ("csv", "libsvm"):
        (made / f"rows.{form}").write_text("\n".join(lines(form)) + "\n")
    return made


@pytest.fixture
def inside(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return folder


def test_the_model_forgets_and_its_scale_follows(inside):
    found = told("train", inside / "rows.csv", "-a", "bsgd", "--half-life", "auto", "--budget", 40, "-o", "m.frugal")
    model = load("m.frugal")
    assert model.estimator_.half_life == "auto"
    assert model.scaler_.half_life is not None
    assert (found["chosen"]["half_life"], found["chosen"]["scale"]) == ("auto", "following")
    assert found["chosen"]["gamma"] == model.estimator_.gamma_ > 0  # which the estimator has chosen
    page = invoke("inspect", "m.frugal").stdout
    assert f"gamma {model.estimator_.gamma_:.4g}" in page
    assert "means and standard deviations of the latest rows" in page
    assert "half_life auto" in page


@pytest.mark.parametrize("source", ["pipe", "file in turn"])
def test_a_stream_is_followed_as_in_python_if_nothing_was_said(inside, source):
    rows, flags = inside / "rows.csv", ("--label", "y", "--budget", 40, "-o", "m.frugal")
    if source == "pipe":
        found = told("train", "-", *flags, data=rows.read_text())
    else:
        found = told("train", rows, "--prequential", *flags)
    model, table = load("m.frugal"), np.loadtxt(rows, delimiter=",", skiprows=1)
    python = StreamPipeline(BSGDClassifier(budget=40, new_classes="grow", random_state=0), impute="median")
    for start in range(0, N_ROWS, 4096):
        python.partial_fit(
            table[start : start + 4096, :3].astype(np.float32), table[start : start + 4096, 3].astype(int)
        )
    assert found["recent_accuracy"] > 0.95
    assert found["chosen"]["half_life"] == model.estimator_.half_life == python.estimator_.half_life == "auto"
    assert found["chosen"]["gamma"] == pytest.approx(python.estimator_.gamma_, rel=1e-4)
    assert (model.scale, model.n_warmup) == (python.scale, python.n_warmup)
    C, onnx = Path("model.c"), Path("model.onnx")
    for output in (C, onnx):
        invoke("export", "m.frugal", "--to", output.suffix[1:], "-o", output)
        assert output.stat().st_size > 0


@pytest.mark.parametrize(
    "flags", [["--half-life", "inf"], ["--gamma", 0.5], ["--alpha", 1e-3], ["--shuffle", "yes"], ["--metric", "diag"]]
)
def test_a_pipe_is_not_followed_where_something_speaks_against_it(inside, flags):
    common = ("train", "-", "--label", "y", "--budget", 40, "-o", "m.frugal")
    rows = (inside / "rows.csv").read_text().splitlines(keepends=True)
    found = told(*common, *flags, data="".join(rows[:1500]))
    assert found["chosen"]["gamma"] > 0
    assert load("m.frugal").estimator_.forgets is False


def test_a_table_in_a_file_is_not_followed(inside):
    found = told("train", inside / "rows.csv", "-a", "bsgd", "--budget", 40, "-o", "m.frugal")
    assert "half_life" not in found["chosen"]


def test_what_is_given_stays(inside):
    flags = ("--half-life", 700, "--gamma", 0.5, "--alpha", 1e-3, "--scale", "robust", "--budget", 40)
    found = told("train", inside / "rows.csv", *flags, "-o", "m.frugal")  # it is about bsgd, which needs no name
    model = load("m.frugal")
    assert (model.estimator_.half_life, model.estimator_.gamma, model.estimator_.alpha) == (700.0, 0.5, 1e-3)
    assert (model.scale, found["chosen"]["strength"]) == ("robust", 1e-3)


def test_rows_keep_their_order_although_they_are_sorted(inside, tmp_path):
    header, *rows = lines("csv")
    (tmp_path / "sorted.csv").write_text("\n".join([header, *sorted(rows, key=lambda row: row[-1])]) + "\n")
    for flags, order in (((), "yes"), (("--half-life", "auto"), "no")):
        invoke("train", "sorted.csv", *FAST, *flags, "-o", "m.frugal")
        assert describe("m.frugal").metadata["training"]["data"]["shuffle"] == order


def test_sparse_rows_are_scaled_as_ever(inside):
    found = told("train", inside / "rows.libsvm", *FAST, "--half-life", "auto", "-o", "m.frugal")
    assert found["chosen"]["scale"] is True


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["-a", "lasvm", "--half-life", "auto"], "--half-life: lasvm does not use it: it is for bsgd."),
        (["-a", "auto", "--half-life", "auto"], "--half-life: auto compares models that forget nothing"),
        (["-a", "auto", "--prequential"], "--prequential: auto learns all rows at once"),
        (["--half-life", "long"], "--half-life: 'long' is neither auto nor a number of examples"),
        (["--half-life", "0.5"], "--half-life: '0.5' is neither auto nor a number of examples"),
    ],
)
def test_refusals(inside, flags, words):
    said = " ".join(invoke("train", inside / "rows.csv", *flags, code=2).output.split())
    assert words in said


GIVEN = (*FAST, "--half-life", "auto")


RUNS = {
    "in batches": [*GIVEN],
    "in turn": [*GIVEN, "--prequential"],
    "in turn, twice": [*GIVEN, "--prequential", "--calibrate", "--passes", 2],
    "followed": ["--prequential", "--budget", 40, "-q"],
}
FAST_RUNS = {("csv", "in batches"), ("csv", "in turn, twice"), ("libsvm", "in turn"), ("libsvm", "followed")}


@pytest.mark.parametrize(
    ("form", "run"),
    [
        pytest.param(form, run, marks=[] if (form, run) in FAST_RUNS else pytest.mark.slow)
        for form in ("csv", "libsvm")
        for run in RUNS
    ],
)
def test_an_interrupted_run_ends_with_the_same_file(inside, form, run):
    rows = Path(f"rows.{form}")
    rows.write_text("\n".join(lines(form)[:5000]) + "\n")  # more than a batch, of which some are after the change
    common = ("train", rows, *RUNS[run])
    invoke(*common, "-o", "whole.frugal")
    write, written = saved_run.save_run, []

    def full(*arguments):
        if len(written) == 3:
            raise OSError(28, "No space left on device")
        written.append(write(*arguments))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(train_stream, "save_run", full)
        invoke(*common, "-o", "parts.frugal", "--checkpoint-every", 1100, code=5)
    other = invoke("train", rows, "--half-life", 9, "--resume", "-o", "parts.frugal", code=3)
    assert "--half-life" in other.output
    invoke("train", rows, "--resume", "-q", "-o", "parts.frugal")
    assert Path("parts.frugal").read_bytes() == Path("whole.frugal").read_bytes()


@pytest.mark.parametrize("form", ["csv", "libsvm"])
def test_recent_accuracy_tells_that_the_model_has_followed(inside, form):
    command = ("train", inside / f"rows.{form}", "--gamma", 1.0, "--budget", 40, "--half-life", "auto", "--prequential")
    found = told(*command, "-o", "m.frugal")
    assert 4500 < found["recent_rows"] <= 5000
    assert found["recent_accuracy"] > 0.97
    assert found["accuracy_before_learning"] < found["recent_accuracy"]
    said = invoke(*command, "-o", "n.frugal").stderr
    assert f"(last {found['recent_rows']:,}: {100 * found['recent_accuracy']:.2f} %)" in said
    assert f"of the last {found['recent_rows']:,} rows" in invoke("inspect", "m.frugal").stdout


def test_each_row_is_predicted_by_a_model_of_all_before_it(inside):
    """Labels that come in runs: the batch before says nothing of them, the row before nearly all."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(9000, 2)).round(3), np.repeat(np.arange(90) % 2, 100)
    rows = [",".join(map(str, [*x, label])) for x, label in zip(X.tolist(), y.tolist(), strict=True)]
    Path("runs.csv").write_text("\n".join(["a,b,y", *rows]) + "\n")
    flags = ("--half-life", 10, "--gamma", 0.1, "--budget", 40)
    in_batches = told("train", "runs.csv", *flags, "-o", "m.frugal")
    in_turn = told("train", "runs.csv", *flags, "--prequential", "-o", "m.frugal")
    assert in_turn["accuracy_before_learning"] > 0.85 > 0.7 > in_batches["accuracy_before_learning"]
