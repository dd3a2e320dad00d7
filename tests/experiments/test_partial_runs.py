"""Runs that are cut short: short tasks first, choices recorded at once, and some tasks only."""

import importlib.util
import io
import json
import sys
from pathlib import Path

import pytest
from rich.console import Console

import experiments.screen
from experiments import running
from experiments.command import _only
from experiments.running import run_tasks
from experiments.store import Store
from experiments.tasks import Task
from experiments.tuning import Choices

QUIET = Console(quiet=True)


def squares(log, *seconds):
    settings = [{"value": i, "log": str(log)} for i in range(len(seconds))]
    return [Task("core_support:square", s, seconds=t) for s, t in zip(settings, seconds, strict=True)]


@pytest.mark.parametrize(("short_first", "order"), [(True, ["1", "2", "0"]), (False, ["0", "2", "1"])])
def test_order_of_tasks(tmp_path, short_first, order):
    log = tmp_path / "log"
    run_tasks(squares(log, 9.0, 1.0, 5.0), Store(tmp_path), console=QUIET, short_first=short_first)
    assert log.read_text().split() == order


def test_choices_are_recorded_although_the_run_is_stopped(tmp_path):
    store, choices = Store(tmp_path), Choices(tmp_path / "chosen.json")
    tasks = [
        choices.task(Task("core_support:square", {"value": 2}), name, Task(work, {"extra": 1}, seconds=seconds))
        for name, work, seconds in (("first", "core_support:choice", 2), ("second", "core_support:interruption", 1))
    ]
    with pytest.raises(KeyboardInterrupt):
        run_tasks(tasks, store, console=QUIET, on_chosen=lambda: choices.record(store))
    assert json.loads((tmp_path / "chosen.json").read_text()) == {"first": {"tuned": {"extra": 1}}}


def test_choices_of_two_runs_at_a_time_are_all_kept(tmp_path):
    store, path = Store(tmp_path), tmp_path / "chosen.json"
    one, other = Choices(path), Choices(path)
    for choices, name in ((one, "one"), (other, "other")):
        choosing = Task("core_support:choice", {"extra": len(name)})
        run_tasks([choices.task(Task("core_support:square", {"value": 2}), name, choosing)], store, console=QUIET)
    one.record(store)
    other.record(store)
    assert set(json.loads(path.read_text())) == {"one", "other"}


@pytest.mark.parametrize(
    ("words", "places"),
    [([], [0, 1, 2, 3]), (["banana"], [0, 1]), (["banana", "500"], [1]), (["banana", "usps", "100"], [0, 2])],
)
def test_some_tasks_only(words, places):
    tasks = [
        Task("core_support:square", {"value": 1}, names={"data": data, "budget": budget})
        for data in ("banana", "usps")
        for budget in (100, 500)
    ]
    assert _only(tasks, words) == [tasks[place] for place in places]


def test_tables_that_name_their_methods_otherwise_are_asked_together():
    names = ({"method": "LIBSVM"}, {"method": "TVM"}, {"column": "LIBSVM"}, {"column": "TVM"}, {"data": "banana"})
    tasks = [Task("core_support:square", {"value": 1}, names=one) for one in names]
    assert _only(tasks, ["LIBSVM"]) == [tasks[0], tasks[2]]


def test_words_that_name_nothing():
    with pytest.raises(SystemExit, match="Nothing is called bananna"):
        _only([Task("core_support:square", {}, names={"data": "banana"})], ["bananna"])


def loud():
    return Console(file=io.StringIO(), width=200)


@pytest.mark.parametrize("jobs", [1, 2])
def test_tasks_that_there_is_no_time_for_are_left(tmp_path, monkeypatch, jobs):
    short, long = Task("core_support:square", {"value": 2}), Task("core_support:square", {"value": 3}, seconds=1e6)
    console, store = loud(), Store(tmp_path)
    monkeypatch.setattr(running._Deadline, "leaves_time_for", lambda self, task: task.seconds < 100)
    assert run_tasks([short, long], store, jobs=jobs, console=console, minutes=10) == []
    assert (store.get(short), store.get(long)) == ({"square": 4, "seed": 0}, None)
    assert "the time is over, 1 are left" in console.file.getvalue()


def test_estimates_count_in_the_second_half_of_the_time(monkeypatch):
    now = 1000.0
    monkeypatch.setattr(running.time, "monotonic", lambda: now)
    deadline = running._Deadline(10)
    short, long = Task("core_support:square", {}, seconds=100.0), Task("core_support:square", {}, seconds=1e6)
    fits = {}
    for now in (1000.0, 1299.0, 1301.0, 1501.0):
        fits[now] = deadline.leaves_time_for(short), deadline.leaves_time_for(long)
    assert fits == {1000.0: (True, True), 1299.0: (True, True), 1301.0: (True, False), 1501.0: (False, False)}
    assert deadline.seconds_left == 99.0
    assert running._Deadline(None).leaves_time_for(long)
    assert running._Deadline(None).seconds_left is None


@pytest.mark.slow
def test_a_task_that_outlasts_the_time_is_lost_and_no_other(tmp_path):
    short, long = Task("core_support:square", {"value": 2}), Task("core_support:long_wait", {}, seconds=1.0)
    console, store = loud(), Store(tmp_path)
    assert run_tasks([long, short], store, jobs=2, console=console, minutes=0.1) == []
    assert (store.get(short), store.get(long)) == ({"square": 4, "seed": 0}, None)
    assert "the time is over, 1 are left" in console.file.getvalue()


def test_plain_lines_where_rich_is_not_installed(monkeypatch, capsys):
    for name in ("rich", "rich.console", "rich.markup", "rich.progress", "rich.table"):
        monkeypatch.setitem(sys.modules, name, None)
    path = Path(experiments.screen.__file__)
    spec = importlib.util.spec_from_file_location("plain_screen", path)
    plain = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(plain)
    console = plain.console_of_this_process()
    with plain.advancing(console, "measuring", 3) as advance:
        advance("one")
        console.print("[red]failed:[/red] " + plain.escape("[of]"))
    table = plain.ScreenTable("name", "done")
    table.add_row("banana", "1 of 2")
    console.print(table)
    assert capsys.readouterr().out == "failed: [of]\nname | done\nbanana | 1 of 2\n"
