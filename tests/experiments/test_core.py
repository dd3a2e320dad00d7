"""Tasks, their store, the runner, choices of parameters, the work itself."""

import io
import json

import numpy as np
import pytest
from rich.console import Console

from experiments import tasks, tuning
from experiments.data import scaled, split
from experiments.running import run_tasks
from experiments.store import Store
from experiments.tasks import Task
from experiments.tuning import Choices, choose
from experiments.work import accuracy, learn_for

SQUARE = "core_support:square"


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store")


def run(wanted, store, jobs=1):
    """Failures, and what was shown."""
    console = Console(file=io.StringIO(), width=200)
    return run_tasks(wanted, store, jobs=jobs, console=console), console.file.getvalue()


# Tasks


def test_equal_tasks_have_equal_keys_whatever_they_are_called():
    task = Task(SQUARE, {"value": 3, "rows": [1, 2]}, seed=1)
    assert task.key == Task(SQUARE, {"rows": [1, 2], "value": 3}, 1, names={"row": "a"}, seconds=9.0).key


@pytest.mark.parametrize(
    "other",
    [
        Task(SQUARE, {"value": 4}),
        Task(SQUARE, {"value": 3, "rows": None}),
        Task(SQUARE, {"value": 3}, seed=1),
        Task("core_support:choice", {"value": 3}),
    ],
)
def test_keys_change_with_settings_seed_and_work(other):
    assert other.key != Task(SQUARE, {"value": 3}).key


def test_keys_change_with_versions(monkeypatch):
    task = Task(SQUARE, {"value": 3})
    before = task.key
    monkeypatch.setattr(tasks, "versions", lambda: {"frugalsvm": "99"})
    assert task.key != before


def test_a_task_that_needs_another_has_no_key_until_it_is_resolved():
    task = Task(SQUARE, {"value": 3}, needs=Task("core_support:choice", {"extra": 5}))
    with pytest.raises(ValueError, match="before that one is done"):
        _ = task.key
    assert task.resolved({"chosen": {"tuned": {"extra": 5}}}).run() == {"square": 14, "seed": 0}


# Store


def test_a_result_is_found_again_with_all_that_led_to_it(store):
    task = Task(SQUARE, {"value": 3}, seed=2)
    assert store.get(task) is None
    assert store.record(task) is None
    store.put(task, {"square": 9}, 1.5)
    assert Store(store.folder).get(task) == {"square": 9}
    record = store.record(task)
    assert record["settings"] == {"value": 3}
    assert (record["seed"], record["seconds"], record["versions"]) == (2, 1.5, tasks.versions())


def test_a_result_that_cannot_be_written_is_not_there_and_spoils_nothing(store):
    task = Task(SQUARE, {"value": 3})
    store.put(task, {"square": 9}, 1.0)
    with pytest.raises(TypeError, match="JSON"):
        store.put(task, {"square": {1, 2}}, 1.0)
    assert store.get(task) == {"square": 9}
    with pytest.raises(TypeError, match="JSON"):
        store.put(Task(SQUARE, {"value": 4}), {"square": {1, 2}}, 1.0)
    assert store.get(Task(SQUARE, {"value": 4})) is None


def test_a_stop_between_writing_and_naming_leaves_no_half_result(store, monkeypatch):
    def stopped(*names):
        raise KeyboardInterrupt

    task = Task(SQUARE, {"value": 3})
    with monkeypatch.context() as patch:
        patch.setattr("os.replace", stopped)
        with pytest.raises(KeyboardInterrupt):
            store.put(task, {"square": 9}, 1.0)
    assert store.get(task) is None
    assert not list(store.folder.rglob("*.json"))


# Runner


def test_what_is_needed_is_run_first_and_becomes_part_of_the_settings(store):
    task = Task(SQUARE, {"value": 3}, needs=Task("core_support:choice", {"extra": 5}))
    assert store.get(task) is None
    failures, _ = run([task], store)
    assert failures == []
    assert store.get(task) == {"square": 14, "seed": 0}


def test_equal_tasks_are_run_once_and_never_again(store, tmp_path):
    log = tmp_path / "log"
    wanted = [Task(SQUARE, {"value": value, "log": str(log)}, names={"n": n}) for n, value in enumerate((2, 3, 2))]
    run(wanted, store)
    assert sorted(log.read_text().split()) == ["2", "3"]
    _, shown = run([*wanted, Task(SQUARE, {"value": 4, "log": str(log)})], store)
    assert log.read_text().split()[2:] == ["4"]
    assert "2 of 3 are in the store" in shown


def test_a_stopped_run_goes_on_where_it_was(store, tmp_path):
    log = tmp_path / "log"
    first = Task(SQUARE, {"value": 2, "log": str(log)}, seconds=9)
    last = Task(SQUARE, {"value": 3, "log": str(log)}, seconds=1)
    with pytest.raises(KeyboardInterrupt):
        run([first, Task("core_support:interruption", {}, seconds=5), last], store)
    assert (store.get(first), store.get(last)) == ({"square": 4, "seed": 0}, None)
    run([first, last], store)
    assert log.read_text().split() == ["2", "3"]


@pytest.mark.parametrize("jobs", [1, 2])
def test_failures_are_told_and_stop_no_other(store, jobs):
    broken = Task("core_support:refusal", {}, names={"data": "banana"}, seconds=9)
    orphan = Task(SQUARE, {"value": 7}, needs=Task("core_support:refusal", {"again": True}))
    sound = [Task(SQUARE, {"value": value}, seed=1) for value in range(4)]
    failures, shown = run([broken, orphan, *sound], store, jobs)
    assert [store.get(task)["square"] for task in sound] == [0, 1, 4, 9]
    needed, orphaned, alone = failures
    assert (needed.task, orphaned.task, alone.task) == (orphan.needs, orphan, broken)
    assert "ValueError: no rows [/of] this [kind]" in alone.error
    assert orphaned.error == "the task it needs has failed"
    assert "failed: banana: ValueError: no rows [/of] this [kind]" in shown
    assert store.get(broken) is None


# Tuning


def _ring(seed=0, n=300):
    """Two rings, which a kernel that is much too wide or much too narrow cannot tell apart."""
    rng = np.random.default_rng(seed)
    angle, y = rng.uniform(0, 2 * np.pi, n), rng.integers(0, 2, n)
    radius = 1 + y + rng.normal(scale=0.1, size=n)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]).astype(np.float32), y


SETTINGS = {
    "data": "rings",
    "rows": 300,
    "scalings": ["standard", "range"],
    "estimator": "SVC",
    "fixed": {"C": 1.0},
    "grid": {"gamma": [1e-5, 1.0, 1e5]},
    "rounds": [[2, 3], [4, 1]],
}


def test_the_right_candidate_is_chosen_on_training_rows_alone(monkeypatch):
    X, y = _ring()
    asked = []

    def without_test_rows(*arguments):
        asked.append(arguments)
        return X, y, None, None

    monkeypatch.setattr(tuning, "split", without_test_rows)
    result = choose(SETTINGS, 3)
    assert asked == [("rings", 3, 300)]
    rows = scaled(result["chosen"]["scaling"], X)[0]
    assert result["chosen"]["tuned"]["gamma"] == pytest.approx(1 / (2 * rows.var()), rel=0.01)
    assert result["held_out_accuracy"] > 95


def test_later_rounds_decide(monkeypatch):
    """A candidate that wins on few splits loses to the one that is best on more of them."""
    scores = {(2, 0.1): 0.9, (2, 1.0): 0.8, (2, 10.0): 0.1, (4, 0.1): 0.6, (4, 1.0): 0.8}
    monkeypatch.setattr(tuning, "split", lambda *arguments: (*_ring(), None, None))
    monkeypatch.setattr(
        tuning, "_held_out", lambda settings, candidate, X, y, splits: scores[len(splits), candidate["tuned"]["C"]]
    )
    settings = {**SETTINGS, "scalings": [None], "grid": {"C": [0.1, 1.0, 10.0]}, "rounds": [[2, 2], [4, 1]]}
    assert choose(settings, 0) == {"chosen": {"scaling": None, "tuned": {"C": 1.0}}, "held_out_accuracy": 80.0}


def test_a_last_round_on_more_rows_decides(monkeypatch):
    """The candidate that is best on few rows need not be the best on all of them."""
    X, y = _ring()
    monkeypatch.setattr(tuning, "split", lambda data, seed, n_rows: (X[:n_rows], y[:n_rows], None, None))
    scores = {(100, 0.1): 0.9, (100, 1.0): 0.8, (100, 10.0): 0.1, (300, 0.1): 0.6, (300, 1.0): 0.7}
    monkeypatch.setattr(
        tuning, "_held_out", lambda settings, candidate, X, y, splits: scores[len(X), candidate["tuned"]["C"]]
    )
    settings = {**SETTINGS, "rows": 100, "scalings": [None], "grid": {"C": [0.1, 1.0, 10.0]}, "rounds": [[2, 2]]}
    assert choose(settings, 0)["chosen"]["tuned"] == {"C": 0.1}
    settings["last"] = {"rows": 300, "splits": 3}
    assert choose(settings, 0) == {"chosen": {"scaling": None, "tuned": {"C": 1.0}}, "held_out_accuracy": 70.0}


def test_choices_are_recorded_and_used_until_asked_for_again(store, tmp_path):
    path = tmp_path / "chosen.json"
    task, choosing = Task(SQUARE, {"value": 3}), Task("core_support:choice", {"extra": 5})
    first = Choices(path)
    needing = first.task(task, "banana 100", choosing)
    assert needing.needs == choosing
    assert first.record(store) == 0
    assert not path.exists()
    run([needing], store)
    assert first.record(store) == 1
    assert json.loads(path.read_text()) == {"banana 100": {"tuned": {"extra": 5}}}
    later = Choices(path).task(task, "banana 100", choosing)
    assert later.needs is None
    assert later.settings == {"value": 3, "tuned": {"extra": 5}}
    assert Choices(path, again=True).task(task, "banana 100", choosing).needs == choosing


# Work and data


def test_accuracy_of_scikit_learns_machine_on_a_checkerboard():
    settings = {"data": "checkerboard", "rows": 500, "scaling": "range", "estimator": "SVC"}
    settings |= {"fixed": {"C": 100.0}, "tuned": {"gamma": 30.0}}
    result = accuracy(settings, 1)
    assert result["accuracy"] > 85
    assert result["n_learned"] == 500
    assert 0 < result["n_support"] < 500
    assert accuracy(settings, 1) | {"seconds": result["seconds"]} == result


def test_learning_stops_when_its_time_is_over():
    class Counting:
        learned = 0

        def partial_fit(self, X, y, classes):
            self.learned += len(y)

    X, y = np.zeros((5_000, 1)), np.arange(5_000) % 2
    hurried, patient = Counting(), Counting()
    assert learn_for(hurried, X, y, seconds=-1.0) == hurried.learned == 2_000
    assert learn_for(patient, X, y, seconds=1e9) == patient.learned == 5_000


def test_generated_rows_are_as_many_as_asked_and_new_for_each_seed():
    X, y, X_test, y_test = split("waveform-1", seed=1, rows=200)
    assert (X.shape[0], X_test.shape[0], X.dtype, X_test.dtype) == (200, 20_000, np.float32, np.float32)
    assert set(y) == set(y_test) == {-1, 1}
    assert not np.array_equal(X, split("waveform-1", seed=2, rows=200)[0])


def test_scaling_uses_the_first_rows_only():
    X, other = np.array([[0.0], [10.0]], np.float32), np.array([[20.0]], np.float32)
    assert scaled("range", X, other)[1].tolist() == [[2.0]]
    assert scaled("standard", X, other)[1].tolist() == [[3.0]]
    assert scaled(None, X, other)[1] is other
