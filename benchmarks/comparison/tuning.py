"""Equal effort: every peer searches at random, on the same rows, for the same time."""

import time
import warnings
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed

from benchmarks.comparison.columns import Columns
from benchmarks.comparison.scores import error_of
from benchmarks.comparison.splits import parts_of, rows_at, sample_of

__all__ = ["FAILURES", "Choice", "chosen"]

# What settings that do not suit the data lead to: a singular matrix, no memory, values that are not finite.
FAILURES = (ArithmeticError, MemoryError, RuntimeError, ValueError, np.linalg.LinAlgError)
JUDGED = 0.2  # of the rows for tuning: settings are judged by them


class Choice(NamedTuple):
    settings: dict
    n_tried: int = 0
    n_failed: int = 0


def chosen(peer, task, split, effort):
    """Defaults or, of these and random settings, those that err least on training rows that they have not seen."""
    seconds = effort.seconds_of(task.n_threads)
    if not seconds or not (peer.tunes_itself or peer.has_draws):
        return Choice({})
    if peer.tunes_itself:
        return Choice({"seconds": seconds})
    end = time.perf_counter() + seconds
    held_error = _judge(peer, task, split, effort)
    rng = np.random.default_rng(task.seed)
    tried, errors = [{}], [held_error({})]
    side_by_side = task.n_threads if peer.is_single_threaded else 1
    while time.perf_counter() < end:
        drawn = [peer.draw(task, rng) for _ in range(side_by_side)]
        errors += Parallel(side_by_side, prefer="threads")(delayed(held_error)(settings) for settings in drawn)
        tried += drawn
    return Choice(tried[int(np.argmin(errors))], len(tried), int(np.isinf(errors).sum()))


def _judge(peer, task, split, effort):
    """A function from settings to their error."""
    rows = sample_of(split.y, effort.n_rows, split.is_regression, np.random.default_rng([task.seed, 1]))
    X, y = rows_at(split.X, rows), split.y[rows]
    learned, judged = parts_of(y, JUDGED, split.is_regression, task.seed)
    columns = Columns(peer.columns, has_one_unit=split.has_one_unit, is_regression=split.is_regression)
    X_learned, X_judged = columns.fit_transform(rows_at(X, learned), y[learned]), columns.transform(rows_at(X, judged))

    def held_error(settings):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # some settings are poor ones, and say so
                predicted = peer.new(task, settings).fit(X_learned, y[learned]).predict(X_judged)
            return error_of(predicted, y[judged], split.is_regression)
        except FAILURES:
            return np.inf

    return held_error
