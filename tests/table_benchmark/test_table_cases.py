"""A method on a table: what is measured of it, in processes that can be stopped."""

import json
import os
import sys
import time

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import Bunch

from benchmarks import tables, tables_cases, tables_data
from benchmarks.peak_memory import PeakMemory
from benchmarks.tables_cases import Case, measured, warm_up
from benchmarks.tables_methods import METHODS, Method, Untuned
from benchmarks.tables_summary import load
from benchmarks.tables_tuning import Effort
from benchmarks.tables_worker import Failed, Stopped, Worker

EFFORT = Effort(2, 200, 60.0)


class Tree(Untuned, Method):
    """Learns at once: what is tested is the measurement."""

    label = "tree"

    def new(self, task, settings, seed):
        return DecisionTreeClassifier(random_state=seed)


@pytest.fixture(autouse=True)
def data(monkeypatch):
    """Has any data set be this one."""
    monkeypatch.setitem(METHODS, "tree", Tree())
    X = np.random.default_rng(0).normal(size=(300, 2)).astype(np.float32)
    y = (X[:, 0] > 0).astype(int)
    monkeypatch.setattr(tables_data, "fetch", lambda name: Bunch(X_train=X, y_train=y))


def case(problem="phoneme", method="tree", **others):
    return Case(problem, method, 0, "cpu", EFFORT, **others)


def test_what_is_measured():
    warm_up(case(method="hgb-plain"))
    row, report = measured(case(method="hgb-plain"))
    assert row["error"] < 10
    assert row["auc"] > 0.9
    assert row["log_loss"] < 0.5
    assert (row["rows"], row["row_bytes"], row["candidates"], report) == (240, 240 * 2 * 4, 1, "")
    assert row["seconds"] > 0
    assert row["cpu_seconds"] > 0
    assert row["bytes"] > 1000
    assert row["peak_bytes"] is None  # it is known where the process has made one table
    assert json.loads(json.dumps(row)) == row


def test_choosing_settings_belongs_to_the_seconds():
    row, _ = measured(case(method="svm"))
    assert row["candidates"] == 2
    assert 0 < row["tuning_seconds"] < row["seconds"]
    assert row["auc"] is None


def test_more_rows_than_a_method_is_for(monkeypatch):
    monkeypatch.setattr(METHODS["svm"], "most_rows", 100)
    row, _ = measured(case(method="svm"))
    assert (row["error"], row["missing"]) == (None, "for 100 rows or fewer")


def test_made_tables_have_a_peak_of_memory():
    row, _ = measured(case("hard-100k", rows=500))
    assert row["peak_bytes"] >= 0


def test_peaks_of_memory():
    memory = PeakMemory()
    rows = np.ones(2**25)
    del rows
    assert 0.9 * 2**28 < memory.bytes() < 1.5 * 2**28
    torch = sys.modules.get("torch")
    assert (memory.gpu_bytes() is None) == (torch is None or not torch.cuda.is_initialized())


class Compiling(Untuned, Method):
    """Tells that it compiles in its first fit."""

    label = "compiling"
    n_fits = 0

    def new(self, task, settings, seed):
        return self

    def fit(self, X, y):
        self.n_fits += 1
        if self.n_fits == 1:
            tables_cases.logging.getLogger("frugalsvm").info("Compiled %s in %.1f s.", "a function", 3.0)
        return self

    def predict(self, X):
        return np.zeros(len(X), int)


def test_a_fit_that_compiles_is_made_again(monkeypatch):
    method = Compiling()
    monkeypatch.setitem(METHODS, "compiling", method)
    measured(case(method="compiling"))
    assert method.n_fits == 2
    measured(case(method="compiling"))
    assert method.n_fits == 3


def test_validation_rows_are_told_apart():
    assert measured(case(validate=True))[0]["rows"] == 192
    assert case(validate=True).identity()["judged_on"] == "validation"


def test_results_of_few_rows_are_told_apart():
    assert case().identity()["problem"] == "phoneme"
    assert case(rows=2000).identity()["problem"] == "phoneme (2,000 rows)"


class TestWorker:
    @pytest.fixture
    def worker(self):
        worker = Worker()
        yield worker
        worker.close()

    def test_calls_in_another_process(self, worker):
        assert worker.call(os.getpid) != os.getpid()
        assert worker.call(divmod, 7, 2) == (3, 1)
        with pytest.raises(Failed, match="ZeroDivisionError"):
            worker.call(divmod, 1, 0)
        assert worker.call(divmod, 8, 2) == (4, 0)  # it goes on
        with pytest.raises(Stopped):
            worker.call(time.sleep, 60, limit=0.1)
        assert not worker.is_alive

    def test_a_process_that_ends_by_itself(self, worker):
        with pytest.raises(Failed, match="ended by itself"):
            worker.call(os._exit, 3)


class Here:
    """In the place of another process."""

    is_alive = True

    def call(self, function, *arguments, limit=None):
        if limit == 0.0:
            raise Stopped
        try:
            return function(*arguments)
        except ValueError as error:
            raise Failed(str(error)) from None

    def close(self):
        pass


@pytest.fixture
def run(monkeypatch, tmp_path):
    path = tmp_path / "tables.json"
    monkeypatch.setattr(tables, "Worker", Here)
    for name in tables.THREADS:
        monkeypatch.setenv(name, "1")

    def run_with(words):
        tables.main([*words.split(), "--json", str(path)])
        return load(path)["rows"]

    return run_with


def test_from_the_command_line(run, capsys):
    rows = run("--only phoneme letter --methods tree svm --candidates 2 --seeds 2 --first-seed 1")
    assert [(row["method"], row["problem"], row["seed"]) for row in rows] == [
        (method, problem, seed)
        for method in ("tree", "SVC, SVR, tuned")
        for problem in ("phoneme", "letter")
        for seed in (1, 2)
    ]
    assert all(row["error"] < 20 for row in rows)
    assert "phoneme" in capsys.readouterr().out


def test_a_method_that_fails_does_not_end_the_measurement(run, monkeypatch):
    class Failing(Untuned, Method):
        label = "failing"

        def new(self, task, settings, seed):
            raise ValueError("singular")

    monkeypatch.setitem(METHODS, "xrfm", Failing())
    failed, good = run("--only phoneme --methods xrfm svm --candidates 1")
    assert failed["missing"] == "failed: singular"
    assert good["error"] is not None


def test_measurements_go_on_where_they_ended(run, capsys):
    assert run("--only phoneme letter --methods tree --minutes 0") == []
    assert "2 are left" in capsys.readouterr().out
    assert len(run("--only letter --methods tree --resume")) == 1
    capsys.readouterr()
    assert len(run("--only phoneme letter --methods tree --resume")) == 2
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines if ": error" in line] == ["phoneme, tree, cpu, seed 0"]


def test_a_method_that_takes_too_long(run):
    (row,) = run("--only phoneme --methods tree --limit 0")
    assert row["missing"] == "stopped after 0 s"


def test_quick_is_the_automatic_one_alone(monkeypatch):
    options = tables._options(["--quick"])
    assert options.methods == ["auto"]
    assert {"letter", "covtype", "hard-100k"} <= set(options.only)
    assert "hard-10M" not in options.only


def test_threads(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    tables._set_threads(None)
    assert "OMP_NUM_THREADS" not in os.environ
    tables._set_threads(3)
    assert os.environ["OMP_NUM_THREADS"] == "3"
    tables._set_threads(1)
