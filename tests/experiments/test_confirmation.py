"""The profile that confirms: the parameters that were chosen, and no seed, split or row order that was used before."""

import numpy as np
import pytest

import experiments.data
from experiments.protocol import CONFIRMATION_SEEDS, PROFILES, all_experiments, choices_of, planned
from experiments.tuning import Choices
from experiments.tvm.learners import AVERAGED

MILLION = 1_000_000  # seeds of the test rows of generated data begin here


def plans(profile, choices=choices_of):
    return {name: planned(paper, one, profile, choices(paper)) for name, (paper, one) in all_experiments().items()}


@pytest.fixture(scope="module")
def of_profile():
    return {profile: plans(profile) for profile in PROFILES}


def seeds_of(tasks_by_name):
    """Seeds of training rows, orders and learners, those of test rows, and those of the test digits of a stream."""
    own = {task.seed for tasks in tasks_by_name.values() for task in tasks}
    return own | {MILLION + seed for seed in own} | {1 + seed for seed in own}


def test_no_seed_of_a_confirmation_was_used_before(of_profile, tmp_path):
    fresh = seeds_of(of_profile["confirm"])
    nothing_chosen = plans("full", lambda paper: Choices(tmp_path / "none.json"))
    searches = [task.needs for tasks in nothing_chosen.values() for task in tasks if task.needs is not None]
    splits = {count for search in searches for count, _ in search.settings.get("rounds", [])}
    splits |= {search.settings["last"]["splits"] for search in searches if "last" in search.settings}
    used = seeds_of(of_profile["full"]) | seeds_of(of_profile["quick"])
    used |= {search.seed for search in searches} | set(range(max(splits) + 1))
    assert len(searches) > 500
    assert max(splits) >= 40
    assert not fresh & used
    assert min(fresh) == CONFIRMATION_SEEDS


def test_seeds_that_data_are_drawn_with_are_fresh_too(of_profile, monkeypatch):
    """What the generators and splits are given, not what the tasks say."""
    used = {"full": set(), "confirm": set()}

    def noted(kind, result):
        def draw(*arguments, random_state, **options):
            used[profile].add((kind, random_state))
            return result

        return draw

    rows = np.zeros((4, 2), np.float32), np.array([1, 1, 2, 2])
    for name in ("make_checkerboard", "make_two_gaussians", "make_waveform"):
        monkeypatch.setattr(experiments.data, name, noted("rows", rows))
    monkeypatch.setattr(experiments.data, "load", lambda name, split=None: rows)
    monkeypatch.setattr(experiments.data, "train_test_split", noted("split", (rows[0], rows[0], rows[1], rows[1])))
    for profile in used:
        for name in ("bsgd-table3", "tvm-table3"):
            for task in of_profile[profile][name]:
                experiments.data.split(task.settings["data"], task.seed, task.settings.get("rows"))
    assert min(map(len, used.values())) > 10
    assert not used["full"] & used["confirm"]


def printed(tasks):
    """Those of columns that the papers have."""
    return [task for task in tasks if task.names.get("column") != AVERAGED]


def test_a_confirmation_has_the_settings_of_the_first_run(of_profile):
    for name in ("bsgd-table3", "bsgd-table4", "tvm-table3", "tvm-table4", "tvm-table5", "asset-table2"):
        digests = {
            profile: {task.digest for task in printed(of_profile[profile][name])} for profile in ("full", "confirm")
        }
        assert digests["full"] == digests["confirm"]
        assert of_profile["confirm"][name] == printed(of_profile["confirm"][name])


def test_nothing_is_chosen_again(of_profile):
    assert all(task.needs is None for tasks in of_profile["confirm"].values() for task in tasks)


def test_repetitions_are_those_of_the_papers_at_least(of_profile):
    for name, tasks in of_profile["confirm"].items():
        assert len(tasks) >= len(printed(of_profile["full"][name])) or not tasks
    of_lasvm = {}
    for task in of_profile["confirm"]["lasvm-table3"]:
        if task.names["variant"] != "libsvm":
            of_lasvm.setdefault((task.names["data"], task.names["variant"]), set()).add(task.seed)
    assert {len(seeds) for seeds in of_lasvm.values()} == {10}


def test_what_the_papers_print_no_number_of_is_not_confirmed(of_profile):
    confirmed = {name for name, tasks in of_profile["confirm"].items() if tasks}
    assert confirmed == {name for name in all_experiments() if "-table" in name}
