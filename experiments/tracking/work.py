"""Tracking algorithms watched while they learn: their duality gap, and their test error."""

from typing import Any

import numpy as np

from experiments.lasvm.data import sparse_if_worth_it, split_of
from experiments.watched import WatchedBatch, WatchedLASVM, WatchedTracking, checkpoints

__all__ = ["error_curve", "gap_trace"]

LEARNERS = {"tracking": WatchedTracking, "batch": WatchedBatch, "lasvm": WatchedLASVM}


def gap_trace(settings: dict[str, Any], seed: int) -> dict[str, Any]:
    """The normalised duality gap on the course of one pass.

    Settings
    --------
    data, rows : see `experiments.lasvm.data.split_of`; so many examples are learned
    parameters : of `frugalsvm.TrackingSVC`
    looks : at how many examples the gap is read

    Returns
    -------
    dict
        ``trace`` with the number of examples ``n`` and the ``gap``, and ``mean_gap`` over all examples.
    """
    # Selection chooses among all rows that there are; otherwise only those that are learned matter.
    n_examples, parameters = settings["rows"], settings["parameters"]
    selected = parameters.get("selection", "random") != "random"
    X, y, _, _ = split_of(settings["data"], seed, None if selected else n_examples, 1)
    n_examples = min(n_examples, len(y))
    if selected:
        parameters = {**parameters, "n_selected": n_examples}
    model = WatchedTracking(**parameters, random_state=seed).watch(
        trace=(checkpoints(n_examples, settings["looks"]), lambda model: {"gap": _normalised_gap(model)})
    )
    model.fit(X if selected else sparse_if_worth_it(X), y)  # pools are small: they stay dense
    return {**model.records, "mean_gap": model.mean_normalized_gap_}


def _normalised_gap(model):
    return model.member_gap_ / (model.C * model._n_learned)


def error_curve(settings: dict[str, Any], seed: int) -> dict[str, Any]:
    """Test error against examples and kernel values.

    Settings
    --------
    data, test_rows : see `experiments.lasvm.data.split_of`
    learner : ``tracking``, its ``batch`` counterpart, or ``lasvm``
    rows : how many examples are there for ``batch`` from the start
    parameters : of `frugalsvm.TrackingSVC` or `frugalsvm.LASVMClassifier`
    first, last, tests : test so often from the first number of examples on (of rounds of steps, for ``batch``), equally
        far from each other in the logarithm

    Returns
    -------
    dict
        ``curve`` with the number of examples ``n``, ``error`` in percent, ``kernel_values``, those of them that were
        computed for pools (``pool_values``) and ``n_support``.
    """
    n_examples, parameters = settings["last"], settings["parameters"]
    selected = parameters.get("selection", "random") != "random"
    rows = settings.get("rows") if selected or settings["learner"] == "batch" else n_examples
    X, y, X_test, y_test = split_of(settings["data"], seed, rows, settings.get("test_rows"))
    if selected:
        parameters = {**parameters, "n_selected": n_examples}
    model = LEARNERS[settings["learner"]](**parameters, random_state=seed).watch(
        curve=(
            checkpoints(n_examples, settings["tests"], settings["first"]),
            lambda model: _tested(model, X_test, y_test),
        )
    )
    model.fit(X if selected else sparse_if_worth_it(X), y)  # pools are small: they stay dense
    return model.records


def _tested(model, X_test, y_test):
    return {
        "error": 100 * float(np.mean(model.predict(X_test) != y_test)),
        "kernel_values": model.n_kernel_values,
        "pool_values": model.n_pool_values,
        "n_support": int(model.n_support_[0]),
    }
