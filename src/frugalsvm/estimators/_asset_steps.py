"""ASSET's stochastic subgradient steps, for epochs over a set and for streams."""

from typing import Any, NamedTuple

import numpy as np

from frugalsvm._stored import stored
from frugalsvm.asset.maps import raw_rows, whitening_of, width_of
from frugalsvm.asset.products import steady_product
from frugalsvm.asset.rows import BLOCK_ROWS, StoredRows
from frugalsvm.asset.subgradient import (
    OPEN,
    STEP,
    SubgradientState,
    average_from,
    average_last,
    average_suffix,
    enclosing_radius,
    estimated_scale,
    learn,
    new_state,
    no_average,
    robust_step,
    solution,
    step_length,
    strong_step,
)

__all__ = [
    "SCALE_ROWS",
    "Steps",
    "averaging_of_stream",
    "features_of",
    "new_rule",
    "run_epochs",
    "started_at",
    "take_steps",
    "unknowns_of",
]

SCALE_ROWS = 1000  # rows from which the size of subgradients is estimated


@stored("subgradient-steps")
class Steps(NamedTuple):
    """A run of subgradient steps: how long they are, and where they have led."""

    loss: Any
    rule: Any  # RobustStep or StrongStep
    state: SubgradientState


def averaging_of_run(average, n_steps):
    """Which iterates of a run of known length are averaged."""
    if average is False:
        return no_average()
    return average_from(n_steps // 2 + 1 if average == "suffix" else max(1, n_steps - average + 1))


def averaging_of_stream(average):
    """Which iterates of an endless run are averaged."""
    if average is False:
        return no_average()
    return average_suffix() if average == "suffix" else average_last(average)


def new_rule(solver, loss, penalty, intercept, features, targets, weights, least_radius=0.0):
    """The step rule for a penalty, and for features and targets like the first ones."""
    radius = max(enclosing_radius(loss, penalty, targets, weights), least_radius)
    if not radius > 0:  # all losses are zero at zero
        radius = penalty**-0.5
    if solver == "asset*":
        return strong_step(penalty, intercept, radius)
    scale = estimated_scale(features, intercept, weights[: len(features)]) or 1.0
    return robust_step(penalty, scale, intercept, radius=radius)


def started_at(state, unknowns, n_steps, rule):
    """A state that goes on from known weights as if so many steps had led to them, and to nothing else."""
    state.directions[:] = unknowns[:, :-1]
    state.intercepts[:] = unknowns[:, -1]
    state.squared_norms[:] = np.square(state.directions).sum(axis=1)
    if state.averaging[0] <= n_steps:  # they count in the average as the last half of these steps
        state.clock[:] = n_steps, n_steps + 1
        total = float(step_length(rule, np.arange(n_steps // 2 + 1, n_steps + 1)).sum())
        state.sums[OPEN], state.intercept_sums[OPEN], state.etas[OPEN] = (
            total * unknowns[:, :-1],
            total * unknowns[:, -1],
            total,
        )
    else:
        state.clock[STEP] = n_steps
    return state


def features_of(feature_map, X):
    """Features of rows with the kernel as inner product; those of a row are the same in every batch."""
    raw = raw_rows(feature_map, X, np.empty((X.shape[0], width_of(feature_map)), np.float32), steady=True)
    whitening = whitening_of(feature_map)
    return raw if whitening is None else steady_product(raw, whitening.astype(np.float32))


def take_steps(steps, feature_map, X, targets, weights):
    """Learn rows in their order."""
    for start in range(0, X.shape[0], BLOCK_ROWS):
        part = slice(start, start + BLOCK_ROWS)
        features = features_of(feature_map, X[part])
        order = np.arange(len(features))
        learn(
            steps.loss, steps.rule, features, np.ascontiguousarray(targets[:, part]), weights[part], order, steps.state
        )


def run_epochs(solver, average, task, feature_map, n_epochs, watcher, rng):
    """Unknowns after epochs of subgradient steps, and how many there were.

    Rows in memory are drawn at random, as the paper has it; others are taken block by block, in random order within a
    block.
    """
    loss, weights = task.loss, task.weights
    in_memory = isinstance(task.rows, StoredRows)
    if in_memory:
        first = task.rows.block[:SCALE_ROWS]
    else:
        first = features_of(feature_map, next(task.rows.parts())[1][:SCALE_ROWS])
    rule = new_rule(solver, loss, task.penalty, task.intercept, first, task.targets, weights)
    n_steps = n_epochs * np.count_nonzero(weights)
    averaging = averaging_of_run(average, n_steps) if watcher is None else averaging_of_stream(average)
    state = new_state(len(task.targets), first.shape[1], averaging)
    steps = Steps(loss, rule, state)
    n_taken, done = 0, False
    while n_taken < n_epochs and not done:
        if in_memory:
            order = rng.integers(len(weights), size=len(weights))
            learn(loss, rule, task.rows.block, task.targets, weights, order, state)
        else:
            _epoch_by_parts(steps, task, feature_map, rng)
        n_taken += 1
        done = watcher is not None and watcher(unknowns_of(steps))
    return unknowns_of(steps), n_taken


def _epoch_by_parts(steps, task, feature_map, rng):
    for start, part in task.rows.parts():
        own = slice(start, start + part.shape[0])
        order = rng.permutation(part.shape[0])
        targets = np.ascontiguousarray(task.targets[:, own])
        learn(steps.loss, steps.rule, features_of(feature_map, part), targets, task.weights[own], order, steps.state)


def unknowns_of(steps):
    """Weights and intercepts of the outputs, averaged."""
    weights, intercepts = solution(steps.state)
    return np.column_stack([weights, intercepts])
