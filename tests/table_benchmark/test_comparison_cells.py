"""Cells of the comparison: what is measured, in processes that can be stopped, and resumed."""

import json
import os
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from benchmarks.comparison import causes, cells, lanes, splits
from benchmarks.comparison.causes import Way
from benchmarks.comparison.cells import Place, measured, warm_up
from benchmarks.comparison.commands import main
from benchmarks.comparison.peers import PEERS, Peer, Task, add_peer
from benchmarks.comparison.plan import EFFORTS, Cell, Effort, left_over, planned
from benchmarks.comparison.repeat import agreement
from benchmarks.comparison.results import Results, key_of, machine_here, written
from benchmarks.comparison.sources import MissingTable
from benchmarks.comparison.tables import TABLES
from benchmarks.comparison.tuning import chosen
from benchmarks.comparison.worker import Failed, Stopped, Worker
from benchmarks.peak_memory import PeakMemory

PLACE = Place(1)


class Tree(Peer):
    """Learns at once: what is tested is the measurement."""

    name, label = "tree", "a tree"

    def new(self, task, settings):
        kind = DecisionTreeRegressor if task.is_regression else DecisionTreeClassifier
        return kind(random_state=task.seed, **settings)

    def draw(self, task, rng):
        return {"max_depth": int(rng.integers(1, 9))}


class Failing(Tree):
    name, label = "failing", "one that fails"

    def new(self, task, settings):
        raise ValueError("a singular matrix")


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Peers that learn at once, and any table is this one."""
    known = dict(PEERS)
    add_peer(Tree())
    add_peer(Failing())
    X = np.random.default_rng(0).normal(size=(300, 2)).astype(np.float32)
    monkeypatch.setattr(splits, "rows_of", lambda name: (X, (X[:, 0] > 0).astype(int)))
    yield
    PEERS.clear()
    PEERS.update(known)


def test_what_is_measured():
    warm_up("hgb", PLACE)
    row = measured(Cell("phoneme", "hgb", 0), PLACE)
    assert row["error"] < 10
    assert row["auc"] > 0.9
    assert row["log_loss"] < 0.5
    assert 0 < row["fit_cpu"] < 100
    assert row["predict_s"] > 0
    assert row["bytes"] > 1000
    assert row["peak"] >= 0
    assert json.loads(json.dumps(row)) == row
    assert measured(Cell("phoneme", "hgb", 0), PLACE)["error"] == row["error"]


def test_tuning_belongs_to_a_cell(monkeypatch):
    monkeypatch.setitem(EFFORTS, "1min", Effort(0.02, 100))
    row = measured(Cell("phoneme", "tree", 0, "1min"), PLACE)
    assert row["tried"] >= 1
    assert row["tune_s"] >= 0.08  # of one core in place of four
    assert "tried" not in measured(Cell("phoneme", "tree", 0), PLACE)


class Thresholds(Tree):
    """Says 1 above a threshold in the first column; only one of them is good, and some fail."""

    values = iter(())

    def new(self, task, settings):
        threshold = settings.get("threshold", 2.0)
        if threshold is None:
            raise np.linalg.LinAlgError("singular")
        return _Threshold(threshold)

    def draw(self, task, rng):
        return {"threshold": next(self.values)}


class _Threshold:
    def __init__(self, threshold):
        self.threshold = threshold

    def fit(self, X, y):
        return self

    def predict(self, X):
        return (X[:, 0] > self.threshold).astype(int)


def test_the_settings_that_err_least_are_chosen(monkeypatch):
    peer = Thresholds()
    peer.values = iter([1.0, None, 0.0, -1.0])
    times = iter([0.0, 0.0, 0.1, 0.2, 0.3, 9.0])
    monkeypatch.setattr("benchmarks.comparison.tuning.time.perf_counter", lambda: next(times))
    task = Task(False, 2, 4)
    choice = chosen(peer, task, splits.split_of("phoneme", 0), Effort(1.0, 200))
    assert choice == ({"threshold": 0.0}, 5, 1)


def test_settings_of_a_peer_with_one_thread_are_compared_side_by_side(monkeypatch):
    peer = Thresholds()
    peer.is_single_threaded, peer.values = True, iter([1.0, 0.0, None, -1.0])
    times = iter([0.0, 0.0, 9.0])
    monkeypatch.setattr("benchmarks.comparison.tuning.time.perf_counter", lambda: next(times))
    choice = chosen(peer, Task(False, 2, 4), splits.split_of("phoneme", 0), Effort(1.0, 200))
    assert choice == ({"threshold": 0.0}, 5, 1)


def test_defaults_are_not_tuned():
    assert chosen(Tree(), Task(False, 2, 4), None, EFFORTS["default"]) == ({}, 0, 0)


def test_ours_has_the_same_time():
    assert chosen(PEERS["auto"], Task(False, 2, 2), None, EFFORTS["1min"]).settings == {"seconds": 120.0}
    assert PEERS["auto"].new(Task(True, 2, 2), {"seconds": 120.0}).time_budget == 120.0


class Compiling(Tree):
    """Tells that it compiles in its first fit."""

    n_fits = 0

    def new(self, task, settings):
        return self

    def fit(self, X, y):
        self.n_fits += 1
        if self.n_fits == 1:
            cells.logging.getLogger("frugalsvm").info("Compiled %s in %.1f s.", "a function", 3.0)
        return self

    def predict(self, X):
        return np.zeros(len(X), int)


def test_a_fit_that_compiles_is_made_again(monkeypatch):
    peer = Compiling()
    monkeypatch.setitem(PEERS, "compiling", peer)
    measured(Cell("phoneme", "compiling", 0), PLACE)
    assert peer.n_fits == 2
    measured(Cell("phoneme", "compiling", 0), PLACE)
    assert peer.n_fits == 3


@pytest.mark.parametrize("name", [name for name in PEERS if name != "realmlp"])
@pytest.mark.parametrize("is_regression", [False, True])
def test_peers_where_they_are_installed(name, is_regression):
    peer = PEERS[name]
    if reason := peer.missing():
        pytest.skip(reason)
    X = np.random.default_rng(0).normal(size=(300, 2)).astype(np.float32)
    y = X[:, 0] * 1.0 if is_regression else (X[:, 0] > 0).astype(int)
    task = Task(is_regression, 2, 1)
    drawn = [peer.draw(task, np.random.default_rng(1))] if peer.has_draws and not peer.tunes_itself else []
    for settings in ({}, *drawn):
        model = peer.new(task, settings).fit(X, y)
        assert np.asarray(model.predict(X)).shape == (300,)
        assert hasattr(model, "predict_proba") == (not is_regression and name not in ("svc", "liquidsvm"))
        if hasattr(model, "predict_proba"):
            assert model.predict_proba(X).shape == (300, 2)
        if hasattr(model, "predict_quantiles"):
            quantiles = model.predict_quantiles(X, (0.1, 0.5, 0.9))
            assert (np.diff(quantiles, axis=1) >= 0).all()


def test_a_package_that_is_not_installed():
    class Absent(Tree):
        package = "no_such_package_of_boosted_trees"

    assert "pip install no_such_package" in Absent().missing()
    assert PEERS["hgb"].missing() is None


# --- plans and results ------------------------------------------------------------------------------------------------


def test_small_tables_come_first_with_all_peers():
    found = planned(["letter", "penguins"], ["auto", "hgb"], [0, 1])
    assert [(cell.split, cell.table, cell.peer) for cell in found[:5]] == [
        (0, "penguins", "auto"),
        (0, "penguins", "hgb"),
        (0, "letter", "auto"),
        (0, "letter", "hgb"),
        (1, "penguins", "auto"),
    ]
    assert {cell.table for cell in planned(most_rows=400)} == {"penguins", "mpg"}


def test_shards_share_all_cells():
    found = planned(["letter", "penguins"])
    done = {tuple(found[0])}
    shards = [left_over(found, done, (place, 3)) for place in (1, 2, 3)]
    assert sorted(cell for shard in shards for cell in shard) == sorted(found[1:])
    assert max(map(len, shards)) - min(map(len, shards)) <= 1


def test_lines_are_short_and_the_last_of_a_cell_counts(tmp_path):
    path = tmp_path / "made" / "cells.jsonl"
    machine = machine_here(4, 2, "busy")
    written(path, machine)
    for error in (1 / 3, 2 / 3):
        written(path, {**Cell("letter", "hgb", 0)._asdict(), "error": error, "machine": machine["machine"]})
    written(path, {**Cell("letter", "hgb", 0, "1min", "validation")._asdict(), "error": 4.0})
    with path.open("a") as file:
        file.write('{"table":"letter","peer":')  # a run that was stopped
    results = Results(path)
    assert results.machines[machine["machine"]]["note"] == "busy"
    assert [row["error"] for row in results.cells.values()] == [0.66667, 4.0]
    assert list(results.cells) == [("letter", "hgb", 0, "default", "test"), ("letter", "hgb", 0, "1min", "validation")]
    assert '"effort"' not in path.read_text().splitlines()[1]
    assert key_of(json.loads(path.read_text().splitlines()[3])) == tuple(Cell("letter", "hgb", 0, "1min", "validation"))


def test_machines_that_were_not_busy_count_first(tmp_path):
    path = tmp_path / "cells.jsonl"
    busy, free = machine_here(1, 1, "busy"), machine_here(4, 1)
    for machine, error in ((busy, 1.0), (free, 2.0), (busy, 3.0)):
        written(path, machine)
        written(path, {**Cell("letter", "hgb", 0)._asdict(), "error": error, "machine": machine["machine"]})
    assert [row["error"] for row in Results(path).cells.values()] == [2.0]


def test_peaks_of_memory():
    memory = PeakMemory()
    rows = np.ones(2**25)
    del rows
    assert 0.9 * 2**28 < memory.bytes() < 1.5 * 2**28
    torch = sys.modules.get("torch")
    assert (memory.gpu_bytes() is None) == (torch is None or not torch.cuda.is_initialized())


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
        assert worker.call(divmod, 8, 2) == (4, 0)  # it works as before
        with pytest.raises(Stopped):
            worker.call(time.sleep, 60, limit=0.1)
        assert not worker.is_alive

    def test_a_process_that_ends_by_itself(self, worker):
        with pytest.raises(Failed, match="ended by itself"):
            worker.call(os._exit, 3)


# --- lanes, and the command line --------------------------------------------------------------------------------------


class Here:
    """In the place of another process."""

    is_alive = True

    def __init__(self, cores=None):
        self.cores = cores

    def call(self, function, *arguments, limit=None):
        if limit == 0.0:
            raise Stopped
        try:
            return function(*arguments)
        except ValueError as error:
            raise Failed(f"ValueError: {error}") from None

    def close(self):
        pass


@pytest.fixture
def run(monkeypatch, tmp_path):
    path = tmp_path / "cells.jsonl"
    monkeypatch.setattr(lanes, "Worker", Here)
    monkeypatch.setattr(lanes, "warm_up", lambda peer, place: None)
    for name in lanes.THREADS:
        monkeypatch.setenv(name, "1")

    def run_with(words):
        main(["run", *words.split(), "--again", "--to", str(path)])
        return list(Results(path).cells.values()) if path.exists() else []

    return run_with


def test_from_the_command_line(run, capsys):
    rows = run("--tables phoneme penguins --peers tree svc --splits 0 1 --threads 1")
    assert [(row["split"], row["table"], row["peer"]) for row in rows] == [
        (split, table, peer) for split in (0, 1) for table in ("penguins", "phoneme") for peer in ("tree", "svc")
    ]
    assert all(row["error"] < 20 for row in rows)
    assert "phoneme tree split 1: error" in capsys.readouterr().out


def test_a_peer_that_fails_does_not_end_the_run(run):
    failed, good = run("--tables phoneme --peers failing tree --splits 0")
    assert failed["failed"] == "ValueError: a singular matrix"
    assert "error" in good


def test_runs_are_resumed(run, capsys):
    assert run("--tables phoneme penguins --peers tree --splits 0 --minutes 0") == []
    assert "the same command continues" in capsys.readouterr().out
    assert len(run("--tables penguins --peers tree --splits 0")) == 1
    capsys.readouterr()
    assert len(run("--tables phoneme penguins --peers tree --splits 0")) == 2
    lines = [line for line in capsys.readouterr().out.splitlines() if ": error" in line]
    assert [line.partition(":")[0] for line in lines] == ["phoneme tree split 0"]


def test_a_peer_that_was_stopped_is_not_tried_on_other_splits(run):
    first, second = run("--tables phoneme --peers tree --splits 0 1 --limit 0")
    assert first["failed"] == "stopped after 0 s with 4 threads"
    assert second["failed"] == "stopped on split 0, and not tried again"
    (*_, third) = run("--tables phoneme --peers tree --splits 2")  # a later run knows it
    assert third["failed"].startswith("stopped on split")


def test_lanes_share_cells(run):
    rows = run("--tables phoneme penguins --peers tree svc --lanes 3 --threads 1")
    assert len(rows) == 20


def test_validation_rows_are_told_apart(run):
    (row,) = run("--tables phoneme --peers tree --splits 0 --validate")
    assert row["rows"] == "validation"
    assert len(run("--tables phoneme --peers tree --splits 0")) == 2


def test_files_of_users_add_tables_and_peers(run, tmp_path):
    words = Path("benchmarks/comparison/peers/base.py").read_text()
    example = words[words.index("    from sklearn.neighbors") : words.index('"""\n\nfrom importlib')]
    path = tmp_path / "mine.py"
    path.write_text("\n".join(line[4:] for line in example.splitlines()))
    (row,) = run(f"--tables phoneme --peers neighbors --splits 0 --add {path}")
    assert row["error"] < 10


def test_runs_are_compared(tmp_path, capsys):
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    for path, errors in ((first, (4.0, 2.0, 1.0)), (second, (4.0, 4.0))):
        for split, error in enumerate(errors):
            written(path, {**Cell("phoneme", "tree", split)._asdict(), "error": error})
    assert agreement(Results(first).cells, Results(second).cells) == {"tree": (2, 1, 0.25, 0.5, 0.5)}
    main(["repeat", str(first), str(second)])
    assert "50.00 %" in capsys.readouterr().out


def test_report(run, tmp_path, capsys, monkeypatch):
    rows = run("--tables phoneme penguins segment --peers tree svc hgb failing --splits 0 1")
    assert len(rows) == 24
    capsys.readouterr()
    monkeypatch.setattr("benchmarks.comparison.results.KEPT", tmp_path / "none")
    main(["report", "--to", str(tmp_path / "cells.jsonl"), "--peers", "tree", "svc", "hgb"])
    said = capsys.readouterr().out
    assert "24 cells" in said
    assert "of the error on 3 tables" in said
    assert "phoneme, one that fails: ValueError: a singular matrix" in said


def test_tables_that_are_here(capsys, monkeypatch):
    def rows_of(name):
        if name == "titanic":
            raise MissingTable("titanic.csv is not there")
        return np.zeros((TABLES[name].n_rows if name == "mpg" else 3, TABLES[name].n_columns), bool), None

    monkeypatch.setattr("benchmarks.comparison.run.rows_of", rows_of)
    main(["tables"])
    said = capsys.readouterr().out
    lines = {line.split("│")[1].strip(): line for line in said.splitlines() if line.startswith("│")}
    assert lines["mpg"].rstrip(" │").endswith("yes")
    assert "titanic.csv is not there" in lines["titanic"]
    assert "has 3 rows and 7" in lines["penguins"]
    assert "made when it is needed" in lines["hard-10M"]
    assert "a tree: installed" in said


def test_causes_are_ways_on_the_same_rows(monkeypatch, capsys):
    seen = []

    def noted(X):
        seen.append(X)
        return X

    ways = (
        Way("a tree", "tree"),
        Way("of one split", "tree", {"max_depth": 1}, noted),
        Way("of few", "tree", n_rows=5),
    )
    monkeypatch.setattr(causes, "CAUSES", {"phoneme": ways})
    main(["causes", "phoneme", "--parts", "2"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[-1] for line in lines[1:]] == ["a tree", "of one split", "of few"]
    assert float(lines[1].split()[0]) <= float(lines[3].split()[0])
    test_rows = {tuple(row) for row in splits.split_of("phoneme", 0).X_test}
    assert not any(tuple(row) in test_rows for X in seen for row in X)
    assert not np.array_equal(seen[0], seen[2])  # other parts
    with pytest.raises(SystemExit, match="there are phoneme"):
        main(["causes", "german"])
