"""Equal effort: every method is tuned on the same rows, with the same number of candidates."""

import time
import warnings
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed

from benchmarks.tables_data import balanced_sample, parts_of, prepared, rows_at
from frugalsvm.compiling.threads import thread_count

__all__ = ["FAILURES", "Choice", "Effort", "error_of", "tuned"]

# What settings that do not suit the data lead to: a singular matrix, no memory, values that are not finite.
FAILURES = (ArithmeticError, MemoryError, RuntimeError, ValueError, np.linalg.LinAlgError)

HELD_SHARE = 0.15  # of the rows for tuning: candidates are judged by them


class Effort(NamedTuple):
    """What a method may spend on its settings."""

    n_candidates: int
    n_rows: int
    seconds: float  # no further candidate is begun after them


class Choice(NamedTuple):
    """Settings, and what it took to find them."""

    settings: dict
    n_tried: int
    n_failed: int
    seconds: float


def tuned(method, task, split, effort, seed):
    """The candidate of a method that errs least on rows that it has not learned from."""
    rng = np.random.default_rng(seed)
    rows = balanced_sample(split.y, effort.n_rows, task.is_regression, rng)
    candidates = method.candidates(task, effort.n_candidates, rng)
    if len(candidates) == 1:
        return Choice(candidates[0], 1, 0, 0.0)
    start = time.perf_counter()
    X, y = rows_at(split.X, rows), split.y[rows]
    train, held = parts_of(y, HELD_SHARE, task.is_regression, seed)
    X_train, X_held = prepared(method.columns, split.has_one_unit, rows_at(X, train), y[train], rows_at(X, held))

    def held_error(settings):
        try:
            model = _fitted(method.new(task, settings, seed), X_train, y[train])
            return error_of(model, X_held, y[held], task.is_regression)
        except FAILURES:
            return np.inf

    if method.is_single_threaded:
        errors = Parallel(n_jobs=thread_count(-1), prefer="threads")(
            delayed(held_error)(settings) for settings in candidates
        )
    else:
        errors = _errors_in_time(held_error, candidates, start + effort.seconds)
    seconds = time.perf_counter() - start
    return Choice(candidates[int(np.argmin(errors))], len(errors), int(np.isinf(errors).sum()), seconds)


def _errors_in_time(held_error, candidates, end):
    """Errors of as many candidates as begin before the end, one at least."""
    errors = []
    for settings in candidates:
        errors.append(held_error(settings))
        if time.perf_counter() > end:
            break
    return errors


def _fitted(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some candidates are poor ones, and say so
        return model.fit(X, y)


def error_of(model, X, y, is_regression):
    """Root mean squared error, or percent of the rows that are wrong."""
    predicted = model.predict(X)
    if is_regression:
        return float(np.sqrt(np.mean((predicted - y) ** 2)))
    return float(100 * np.mean(predicted != y))
