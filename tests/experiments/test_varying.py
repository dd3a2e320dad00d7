"""One cell with other settings."""

import pytest

from experiments.protocol import CONFIRMATION_SEEDS
from experiments.tasks import Task
from experiments.varying import SEEDS, measured, parsed_changes, variations

TASK = Task("core_support:square", {"value": 2, "tuned": {"gamma": 0.5}}, seed=3, names={"data": "banana"})


def test_changes_are_read_as_numbers_words_and_factors():
    changes = parsed_changes(["tuned.gamma=x0.5,2", "scaling=range", "rows=null"])
    assert changes == {"tuned.gamma": ["x0.5", 2], "scaling": ["range"], "rows": [None]}


@pytest.mark.parametrize("text", ["gamma", "=2", "gamma="])
def test_what_is_no_change_is_refused(text):
    with pytest.raises(ValueError, match="is no change"):
        parsed_changes([text])


def test_every_combination_is_run_with_fresh_seeds():
    found = variations(TASK, parsed_changes(["tuned.gamma=x0.5,x2", "scaling=range,standard"]), n_seeds=2)
    assert list(found) == [
        "tuned.gamma=0.25 scaling=range",
        "tuned.gamma=0.25 scaling=standard",
        "tuned.gamma=1.0 scaling=range",
        "tuned.gamma=1.0 scaling=standard",
    ]
    last = found["tuned.gamma=1.0 scaling=standard"]
    assert [task.settings for task in last] == [{"value": 2, "tuned": {"gamma": 1.0}, "scaling": "standard"}] * 2
    assert [task.seed for task in last] == [SEEDS, SEEDS + 1]
    assert TASK.settings == {"value": 2, "tuned": {"gamma": 0.5}}
    assert SEEDS >= CONFIRMATION_SEEDS + 1000


def test_a_factor_needs_something_to_multiply():
    with pytest.raises(ValueError, match=r"tuned.C has no value that x2 could multiply"):
        variations(TASK, parsed_changes(["tuned.C=x2"]), 1)


def test_without_a_change_the_cell_is_repeated():
    assert list(variations(TASK, {}, 3)) == ["as it is"]


def test_what_was_measured_in_words():
    results = [{"accuracy": 90.0, "seconds": 1.0}, {"accuracy": 92.0, "seconds": 3.0}, None]
    assert measured(results) == "accuracy 91.00 ± 1.00 of 2 (2.0 s each)"
    assert measured([{"error": 5.0, "seconds": 1.0}]) == "error 5.00 ± 0.00 of 1 (1.0 s each)"
    assert measured([None]) == "nothing"
