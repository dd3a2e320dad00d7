"""`frugalsvm train` with nothing else: models are compared, and every other command takes the result."""

import json
import re

import numpy as np
import pytest
from typer.testing import CliRunner

from frugalsvm.auto.report import as_dict
from frugalsvm.cli.app import app
from frugalsvm.cli.commands.train import _default_algorithm
from frugalsvm.cli.commands.train_auto import tried_rows
from frugalsvm.cli.words.progress import SearchProgress
from frugalsvm.datasets import make_checkerboard
from frugalsvm.persist import load
from frugalsvm.pipelines.label_task import task_of
from frugalsvm.pipelines.reading import DataOptions
from frugalsvm.streams import batch


def invoke(*arguments, code=0, data=None):
    result = CliRunner().invoke(app, [str(a) for a in arguments], input=data)
    assert result.exit_code == code, (result.output, result.exception)
    return result


def write(path, header, columns):
    lines = [",".join(map(str, row)) for row in zip(*columns, strict=True)]
    path.write_text("\n".join([header, *lines]) + "\n")
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table with a gap, text, names, a constant and an empty column; and one with numbers to predict."""
    made, rng, n = tmp_path_factory.mktemp("auto"), np.random.default_rng(0), 240
    age = rng.integers(18, 80, n)
    town = rng.choice(["Oslo", "Rome", ""], n)
    income = [
        "" if gap else f"{value:.1f}" for gap, value in zip(rng.random(n) < 0.1, rng.lognormal(5, 1, n), strict=True)
    ]
    buys = np.where((age > 45) ^ (town == "Oslo"), "yes", "no")
    names = [f"person {k}" for k in range(n)]
    columns = [names, age, income, town, ["x"] * n, [""] * n, buys]
    write(made / "messy.csv", "name,age,income,town,constant,empty,buys", columns)
    X = rng.normal(size=(n, 2)).round(3)
    write(made / "price.csv", "size,rooms,price", [*X.T, (5 * np.sin(X[:, 0]) + X[:, 1] ** 2 + 50).round(2)])
    board, labels = make_checkerboard(n, random_state=0)
    write(made / "board.csv", "a,b,label", [*board.round(4).T, labels])
    return made


@pytest.fixture(scope="module")
def messy(folder):
    output = folder / "messy.frugal"
    return output, invoke("train", folder / "messy.csv", "-o", output, "--time-budget", "10s")


def test_a_messy_table_and_no_other_flag(messy, folder):
    output, trained = messy
    assert "'name' has 240 different texts in 240 rows: it is read by its words (--categorical name" in trained.stderr
    assert "Left out, with another text in almost every row, and words that tell nothing: name." in trained.stdout
    assert "predicting 'buys': 2 classes" in trained.stderr
    for words in ("What was tried", "Chosen: the", "of rows left out; always saying", "Missing values in 2 columns"):
        assert words in trained.stdout
    told = json.loads(invoke("evaluate", output, folder / "messy.csv", "--json").stdout)
    assert told["accuracy"] > 0.9
    labels = invoke("predict", output, folder / "messy.csv").stdout.split()
    rows = [
        line.split("\t")
        for line in invoke("predict", output, folder / "messy.csv", "--probabilities").stdout.splitlines()
    ]
    assert [row[0] for row in rows] == labels
    for label, *shares in rows:
        assert ["no", "yes"][int(np.argmax([float(share) for share in shares]))] == label
    page = invoke("inspect", output).stdout
    assert "How it was chosen" in page
    assert "income is missing" in page
    assert "2 of text" in page
    said = invoke("export", output, "--to", "c", "-o", folder / "c").stderr
    assert "the text of a row, in this order: constant, town" in said
    said = " ".join(invoke("export", output, "--to", "libsvm", "-o", folder / "m.txt", code=3).stderr.split())
    assert "LIBSVM takes rows of numbers, all of which are there" in said
    assert "cannot learn more rows" in invoke("evaluate", output, folder / "messy.csv", "--prequential", code=3).stderr


def test_numbers_to_predict(folder):
    output = folder / "price.frugal"
    told = json.loads(invoke("train", folder / "price.csv", "-o", output, "--time-budget", "5s", "--json").stdout)
    assert told["r2"] > 0.9
    assert "labels" in told["chosen"]
    results = json.loads(invoke("evaluate", output, folder / "price.csv", "--json").stdout)
    predicted = np.array(invoke("predict", output, folder / "price.csv").stdout.split(), float)
    price = np.genfromtxt(folder / "price.csv", delimiter=",", skip_header=1)[:, -1]
    np.testing.assert_allclose(results["rmse"], np.sqrt(np.mean((predicted - price) ** 2)))
    np.testing.assert_allclose(results["r2"], 1 - np.mean((predicted - price) ** 2) / price.var())
    assert "root mean square error" in invoke("evaluate", output, folder / "price.csv").stdout
    lines = invoke("predict", output, folder / "price.csv", "--interval", 0.9).stdout.splitlines()
    predicted, low, high = np.array([line.split("\t") for line in lines], float).T
    assert (low < predicted).all()
    assert (predicted < high).all()
    assert "--interval" in invoke("predict", output, folder / "price.csv", "--interval", 2, code=2).stderr
    told = invoke("predict", output, folder / "price.csv", "--interval", 0.999999, code=3).stderr
    most = re.search(r"--interval must be (0\.\d+) at most for so few rows", told)[1]
    invoke("predict", output, folder / "price.csv", "--interval", most)  # which is one that works
    assert "predicts a number" in invoke("inspect", output).stdout
    assert "--scores is for classes" in invoke("predict", output, folder / "price.csv", "--scores", code=3).stderr
    invoke("evaluate", output, folder / "price.csv", "--picture", folder / "x.png", code=3)
    invoke("export", output, "--to", "c", "-o", folder / "c")
    assert "was_finished" in invoke("train", folder / "price.csv", "-o", output, "--resume", "--json").stdout


def test_the_round_that_decides_comes_first():
    """Although a kernel that left earlier has a better score, on other rows."""
    usual = {"gamma": 1.0, "C": 1.0, "rows": "scaled", "n_components": 64, "n_rows": 300, "seconds": 1.0}
    tried = [("rbf", 1, 0.97), ("laplacian", 1, 0.99), ("rbf", 4, 0.95), ("matern12", 1, 0.5)]
    rows = [
        {**usual, "kernel": kernel, "heat": heat, "key": 1.0 - score, "scores": [score] * 3, "score": score}
        for kernel, heat, score in tried
    ]
    shown = tried_rows(as_dict({"title": "", "notes": [], "score": "R^2"}, rows))
    assert [next(iter(row)) for row in shown] == ["round"] * 3
    assert [(row["round"], row["R^2"]) for row in shown] == [("4", "0.9500"), ("1", "0.9900"), ("1", "0.5000")]


def test_more_rows_than_there_is_memory_for(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(batch, "_most_bytes", lambda share: 100)
    output = tmp_path / "m.frugal"
    said = invoke("train", folder / "board.csv", "-o", output).stderr
    assert "bsgd learns it instead" in said
    assert type(load(output).estimator_).__name__ == "BSGDClassifier"
    said = invoke("train", folder / "price.csv", "-o", output, "--time-budget", "3s").stderr
    assert "bsgd-regressor learns it instead" in said
    assert type(load(output).estimator_).__name__ == "BSGDRegressor"
    rows = (folder / "price.csv").read_text()
    said = invoke("train", "-", "-a", "auto", "-o", output, "--time-budget", "3s", data=rows).stderr
    assert "its first 240 rows are learned, and no others" in said


def test_one_label_only(tmp_path):
    data = write(tmp_path / "one.csv", "a,y", [range(30), ["same"] * 30])
    assert "one label only, 'same'" in invoke("train", data, "-o", tmp_path / "m.frugal", code=3).stderr


@pytest.mark.parametrize("flags", [["train"], ["tune"], ["tune", "-a", "bsgd"]], ids=" ".join)
def test_rows_that_are_left_out_are_told_once(flags, tmp_path):
    """Before anything that may end the run: here, that the class NA is taken for missing labels."""
    labels = ["NA" if k % 3 else "same" for k in range(30)]
    data = write(tmp_path / "rows.csv", "a,y", [["" if k < 6 else k for k in range(30)], labels])
    said = " ".join(invoke(*flags, data, "--missing", "skip", code=3).stderr.split())
    assert "note: 20 rows without a label: left out ('NA' in 20 of them; if that is a class" in said
    assert "note: 2 rows with missing values: left out" in said
    assert said.count("left out") == 2


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["-a", "auto", "--budget", 9], "--budget: auto chooses that by itself"),
        (["-a", "auto", "--missing", "mean"], "--missing: --algorithm auto imputes medians"),
        (["-a", "bsgd", "--time-budget", "9s"], "--time-budget: it is for `--algorithm auto`"),
        (["-a", "auto", "--dask", "local:1"], "--dask: it is for the algorithms asset, bsgd and one-class, and"),
        (["--task", "guess"], "--task: 'guess' is not one of auto, classification, regression"),
    ],
)
def test_flags_that_do_not_go_together(flags, told, tmp_path):
    result = invoke("train", tmp_path / "nowhere.csv", *flags, code=2)
    assert told in " ".join(result.output.split())


def test_a_time_that_is_none(folder, tmp_path):
    said = invoke("train", folder / "board.csv", "--time-budget", "soon", "-o", tmp_path / "m.frugal", code=3).stderr
    assert "--time-budget" in said
    assert "'90s'" in said


@pytest.mark.parametrize(
    ("data", "given", "algorithm"),
    [
        ("rows.csv", ["data", "output", "label", "seed", "time_budget", "calibrate"], "auto"),
        ("rows.csv", ["device"], "auto"),
        ("rows.csv", ["kernel"], "auto"),
        ("rows.csv", ["budget"], "bsgd"),
        ("rows.csv", ["checkpoint_every"], "bsgd"),
        ("rows.csv", ["dask"], "bsgd"),
        ("-", ["data"], "bsgd"),
    ],
)
def test_what_is_trained_if_nobody_says(data, given, algorithm):
    values, rows = {"missing": "median", "task": "auto", "kernel": "rbf"}, DataOptions(data)
    assert _default_algorithm(values, given, rows) == algorithm
    of_numbers = "auto" if algorithm == "auto" else "asset" if "dask" in given else "bsgd-regressor"
    assert _default_algorithm({**values, "task": "regression"}, given, rows) == of_numbers


def test_what_labels_are():
    letters = np.repeat(np.arange(26.0), 10)
    assert task_of(letters).classifies
    assert task_of(letters).is_guess
    assert not task_of(letters, "regression").classifies
    assert not task_of(np.arange(200.0)).classifies
    assert task_of(np.arange(200.0), "classification").classifies
    assert not task_of(np.array([0.5, 1.0])).classifies
    assert task_of(np.array(["1", "b"], object)).y.dtype.kind == "U"
    with pytest.raises(ValueError, match=r"0\.5 is not a class"):
        task_of(np.array([0.5, 1.0]), "classification")
    with pytest.raises(ValueError, match="are not numbers"):
        task_of(np.array(["a"], object), "regression")


def test_progress_counts_candidates_and_knows_the_best():
    progress = SearchProgress(60.0)
    candidate = {"rows": "scaled", "gamma": 1.0, "C": 1.0, "score_name": "accuracy", "seconds": 0.1}
    assert "0 candidates" in progress.words()
    progress({**candidate, "kernel": "rbf", "score": 0.9})
    progress({**candidate, "kernel": "laplacian", "score": 0.8})
    assert "2 candidates" in progress.words()
    assert "of 60 s" in progress.words()
    assert "best accuracy so far 90.00 %" in progress.words()
    assert "last: scaled, laplacian, gamma=1, C=1" in progress.words()
    progress({"stage": "learning a metric, which takes about 12 s"})
    assert "2 candidates" in progress.words()
    assert "now learning a metric, which takes about 12 s (0 s so far)" in progress.words()
    progress({**candidate, "kernel": "laplacian", "score": 0.8})
    assert "now" not in progress.words()
    assert progress.bar().total == 60.0
    assert SearchProgress().bar().pulse


class TestInterruption:
    """There is nothing to save before the end: what was there stays."""

    def run(self, folder, output, monkeypatch, end):
        monkeypatch.setattr("frugalsvm.auto._machine.search", _raising(end))
        return CliRunner().invoke(app, ["train", str(folder / "board.csv"), "-o", str(output)])

    @pytest.mark.parametrize(("end", "code"), [(KeyboardInterrupt(), 130), (SystemExit(143), 143)])
    def test_the_old_file_stays(self, folder, tmp_path, monkeypatch, end, code):
        output = tmp_path / "m.frugal"
        output.write_text("from before")
        result = self.run(folder, output, monkeypatch, end)
        assert result.exit_code == code
        assert f"Interrupted; {output} is as it was before. `--time-budget" in result.stderr
        assert output.read_text() == "from before"

    def test_no_file_is_made(self, folder, tmp_path, monkeypatch):
        result = self.run(folder, tmp_path / "m.frugal", monkeypatch, KeyboardInterrupt())
        assert "was not written" in result.stderr
        assert not list(tmp_path.glob("*.frugal"))

    def test_errors_are_no_interruptions(self, folder, tmp_path, monkeypatch):
        assert "Interrupted" not in self.run(folder, tmp_path / "m.frugal", monkeypatch, ValueError("wrong")).stderr


def _raising(error):
    def search(*_):
        raise error

    return search


def test_text_is_read_by_its_words(tmp_path):
    """Titles of names tell the class; codes tell nothing, and need not be there later."""
    rng, n = np.random.default_rng(0), 300
    title, kept = rng.integers(3, size=n), tmp_path / "m.frugal"
    names = [f"{'' if k % 50 == 0 else ['Mr', 'Mrs', 'Dr'][t] + ' Smith' + str(k)}" for k, t in enumerate(title)]
    codes, age = [f"q{k:04d}z" for k in rng.permutation(n)], rng.normal(size=n).round(3)
    data = write(tmp_path / "people.csv", "code,name,age,y", [codes, names, age, np.where(title == 1, "yes", "no")])
    trained = invoke("train", data, "-o", kept, "--time-budget", "10s")
    assert "column 'name' has 294 different texts in 294 rows: it is read by its words" in trained.stderr
    assert "is read by its most frequent words: name." in trained.stdout
    assert "words that tell nothing: code." in trained.stdout
    assert json.loads(invoke("evaluate", kept, data, "--json").stdout)["accuracy"] > 0.97
    without = write(tmp_path / "later.csv", "age,name", [age, names])
    assert invoke("predict", kept, without).stdout == invoke("predict", kept, data).stdout
    one = write(tmp_path / "one.csv", "age,name", [age[3:4], names[3:4]])
    assert invoke("predict", kept, one).stdout.split() == invoke("predict", kept, data).stdout.split()[3:4]
    assert "'name' is read by its words" in invoke("export", kept, "--to", "c", "-o", tmp_path / "c", code=3).stderr
