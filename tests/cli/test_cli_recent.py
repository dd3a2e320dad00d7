"""Means over the last rows: what they are of, and that they do not depend on how rows came."""

import json

import numpy as np
import pytest

from frugalsvm.cli.catalogue import CLASSES, NOVELTIES, NUMBERS
from frugalsvm.metrics.windows import RECENT_ROWS, RecentMean, added
from frugalsvm.pipelines.prequential import Progress


def filled(values, *cuts):
    mean = RecentMean()
    for part in np.split(values, cuts):
        mean.add(part)
    return mean


def test_the_last_rows_count():
    values = np.random.default_rng(0).random(12_345)
    found = filled(values, 4096, 8192)
    assert found.n_rows == RECENT_ROWS - 500 + 345
    np.testing.assert_allclose(found.mean, values[-found.n_rows :].mean())


def test_few_rows_count_all():
    assert np.isnan(RecentMean().mean)
    found = filled(np.array([True, False, True, True]))
    assert (found.n_rows, found.mean) == (4, 0.75)


def test_parts_and_checkpoints_change_nothing():
    values = np.random.default_rng(0).random(9_000)
    saved = json.loads(json.dumps(filled(values[:3_333], 64, 1_000).saved()))
    went_on = RecentMean(saved)
    went_on.add(values[3_333:])
    assert went_on.saved() == filled(values).saved()
    assert added(added(0.0, values[:17]), values[17:]) == added(0.0, values)


@pytest.mark.parametrize(
    ("task", "predicted", "figures", "words"),
    [
        (CLASSES, 1, {"recent_accuracy": 1.0, "recent_rows": 5000}, "accuracy so far 50.00 % (last 5,000: 100.00 %)"),
        (NUMBERS, 3, {"recent_rmse": 2.0, "recent_rows": 5000}, "error (RMSE) so far 1.414 (last 5,000: 2)"),
        (NOVELTIES, -1, {"recent_alarms": 1.0, "recent_rows": 5000}, "alarms so far 50.00 % (last 5,000: 100.00 %)"),
    ],
)
def test_figures_of_tasks(task, predicted, figures, words):
    progress = Progress(task=task)
    first = {CLASSES: 0, NUMBERS: 1, NOVELTIES: 1}[task]
    for each in (first, predicted):
        progress.take(np.full(5000, each), np.ones(5000))
    progress = Progress(json.loads(json.dumps(progress.counts())), task)
    assert figures.items() <= progress.figures().items()
    assert progress.words == words


def test_nothing_is_said_of_what_was_not_tested():
    assert Progress().figures() == {"accuracy_before_learning": None}
