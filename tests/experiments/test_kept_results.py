"""Results in the repository: packed and found again, told from those of another protocol, and what is left to do."""

import json
from dataclasses import replace

import pytest
from report_support import EXPERIMENTS, install

from experiments.costs import Costs, duration_in_words
from experiments.keeping import keep, kept_results
from experiments.kept import KeptResult, KeptResults, write_kept
from experiments.packing import packed, rounded, unpacked
from experiments.protocol import all_experiments, folder_of
from experiments.store import Store
from experiments.tasks import Task

SQUARE = "core_support:square"
HERE = {"machine": "here"}


@pytest.mark.parametrize(
    "values",
    [
        [{"accuracy": 90.5, "n": 3}],
        [{"accuracy": 90.5, "n": 3}, {"accuracy": 91.5, "n": 3}],
        [{"curve": [{"n": 1, "gap": 0.5}, {"n": 2, "gap": 0.25}]}, {"curve": [{"n": 1, "gap": 0.75}]}],
        [{"curve": []}, {"curve": [{"n": 1}]}],
        [{"a": None}, {"b": [True, "word"]}],
        [{"pictures": {"100": {"twins": [[1.0, 2.0]]}}}, {"pictures": {"100": {"twins": [[3.0, 2.0]]}}}],
        [{"same": [{"n": 1}]}, {"same": [{"n": 1}]}],
    ],
)
def test_what_is_packed_comes_back(values):
    stored = json.loads(json.dumps(packed(values)))
    assert unpacked(stored, len(values)) == values


def test_equal_values_and_names_are_stored_once():
    values = [{"curve": [{"n": n, "gap": seed + n} for n in range(50)], "n_learned": 1000} for seed in range(5)]
    assert len(json.dumps(packed(values))) < 0.5 * len(json.dumps(values))


def test_numbers_lose_digits_and_counts_do_not():
    value = {"accuracy": 97.12345678, "n": 1234567, "curve": [0.123456789, {"gap": 98765.4321}], "word": None}
    assert rounded(value) == {"accuracy": 97.1235, "n": 1234567, "curve": [0.1235, {"gap": 98770.0}], "word": None}


def tasks_of(value, n_seeds):
    return [Task(SQUARE, {"value": value}, seed, {"data": "banana", "seed": seed}) for seed in range(n_seeds)]


def test_results_are_found_by_configuration_and_seed(tmp_path):
    tasks = [*tasks_of(2, 3), *tasks_of(3, 1)]
    found = {(task.digest, task.seed): KeptResult({"square": 4 + task.seed}, 1.0, HERE) for task in tasks}
    path = tmp_path / "results" / "full.jsonl"
    assert write_kept(path, tasks, found) == 4
    assert len(path.read_text().splitlines()) == 3  # a heading, and a line for each configuration
    kept = KeptResults([path, tmp_path / "not there"])
    assert kept.get(tasks[1]) == KeptResult({"square": 5}, 1.0, HERE)
    assert kept.get(replace(tasks[0], seed=7)) is None
    assert kept.get(replace(tasks[0], settings={"value": 2, "rows": 5})) is None


def test_results_of_two_machines_are_told_apart(tmp_path):
    tasks = tasks_of(2, 2)
    found = {(t.digest, t.seed): KeptResult({"square": 4}, 1.0, {"machine": str(t.seed)}) for t in tasks}
    write_kept(tmp_path / "full.jsonl", tasks, found)
    kept = KeptResults([tmp_path / "full.jsonl"])
    assert [kept.get(task).environment["machine"] for task in tasks] == ["0", "1"]


def test_another_format_is_refused(tmp_path):
    (tmp_path / "full.jsonl").write_text('{"format": 99, "environments": []}\n')
    with pytest.raises(ValueError, match="has format 99; this version reads format 1"):
        KeptResults([tmp_path / "full.jsonl"])


def test_the_folder_comes_before_what_is_kept(tmp_path):
    known, other = tasks_of(2, 2)
    kept = KeptResults()
    kept.by_task = {(task.digest, task.seed): KeptResult({"square": -1}, 9.0, HERE) for task in (known, other)}
    store = Store(tmp_path, kept)
    store.put(known, {"square": 4}, 1.0)
    assert (store.get(known), store.get(other)) == ({"square": 4}, {"square": -1})
    assert store.record(other)["seconds"] == 9.0
    assert [store.everything()[task.digest, task.seed].result["square"] for task in (known, other)] == [4, -1]


def test_keeping_adds_to_what_is_kept_and_drops_what_no_plan_asks_for(monkeypatch, tmp_path):
    store = install(monkeypatch, tmp_path, EXPERIMENTS[:1])
    store.put(Task("report_support:nothing", {"value": 99}), {"value": 99}, 1.0)
    (line,) = keep(store)
    assert line.startswith("invented, full: 2 of 2 results")
    kept = kept_results()
    assert {key[1] for key in kept.by_task} == {0}
    assert kept.get(Task("report_support:nothing", {"value": 1})).result == {"value": 1}
    assert kept.get(Task("report_support:nothing", {"value": 99})) is None
    # Another folder, with nothing: what was kept stays.
    assert keep(Store(tmp_path / "empty", kept)) == [line]
    assert kept_results().by_task == kept.by_task


def test_nothing_to_keep_is_said(monkeypatch, tmp_path):
    install(monkeypatch, tmp_path)
    assert "Nothing to keep" in keep(Store(tmp_path / "empty"))[0]


def test_costs_come_from_other_repetitions_and_from_tasks_of_the_same_kind(tmp_path):
    store = Store(tmp_path)
    known, same, similar, foreign = (
        Task(SQUARE, {"value": 1}, 0, seconds=1.7),
        Task(SQUARE, {"value": 1}, 1, seconds=1.7),
        Task(SQUARE, {"value": 2}, 0, seconds=9.7),
        Task("core_support:choice", {"extra": 1}, seconds=2.7),
    )
    store.put(known, {"square": 1}, 4.0)
    tasks = [known, same, similar, foreign]
    costs = Costs(tasks, store)
    assert costs.of(same) == 4.0
    assert costs.of(similar) == pytest.approx(20.0)  # twice what its plan says, as for the known one
    assert costs.of(foreign) == pytest.approx(3.0)
    cost = costs.missing([*tasks, same])
    assert (cost.n_missing, cost.n_tasks) == (3, 4)
    assert cost.seconds == pytest.approx(27.0)
    assert cost.in_words(2) == "3 of 4 results are to be computed: about 14 seconds with 2 processes."
    assert costs.missing([known]).in_words() == "All 1 results are there: nothing to compute."


def test_kept_results_tell_how_long_a_task_takes_that_is_to_be_computed_again(tmp_path):
    task = Task(SQUARE, {"value": 1}, 0, seconds=50.0)
    kept = KeptResults()
    kept.by_task[task.digest, 7] = KeptResult({"square": 1}, 4.0, {})
    cost = Costs([task], Store(tmp_path), kept).missing([task])
    assert (cost.n_missing, cost.seconds) == (1, 4.0)


def test_a_search_that_a_task_needs_is_part_of_the_cost(tmp_path):
    choosing = Task("core_support:choice", {"extra": 5}, seconds=50.0)
    task = Task(SQUARE, {"value": 3}, needs=choosing, seconds=2.0)
    assert Costs([task], Store(tmp_path)).missing([task]).seconds == pytest.approx(52.6)


@pytest.mark.parametrize(("seconds", "words"), [(20, "20 seconds"), (600, "10 minutes"), (9000, "2.5 hours")])
def test_durations_in_words(seconds, words):
    assert duration_in_words(seconds) == words


def test_what_is_in_the_repository_is_small_and_of_todays_plans(tmp_path):
    files = [path for paper, _ in all_experiments().values() for path in (folder_of(paper) / "results").glob("*.jsonl")]
    assert sum(path.stat().st_size for path in set(files)) < 1_200_000
    for path in set(files):
        assert {path.stem} <= {"full", "confirm"}
        assert KeptResults([path]).by_task
