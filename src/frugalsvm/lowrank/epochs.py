"""Stochastic subgradient steps (`subgradient`) on rows of X: their features, step rules, and epochs over a set."""

from typing import Any, NamedTuple

import numpy as np

from frugalsvm._stored import stored
from frugalsvm.compiling.threads import ONE_THREAD, row_blocks
from frugalsvm.lowrank.backends.compiled import BLOCK_ROWS, StoredRows
from frugalsvm.lowrank.maps import raw_rows, whitening_of, width_of
from frugalsvm.lowrank.products import steady_product
from frugalsvm.lowrank.subgradient import (
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

_LEAST_ROWS = 256  # whose features are worth a thread
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


def started_at(state, parameters, n_steps, rule):
    """A state that continues from known weights as if ``n_steps`` steps had led to them, and to nothing else."""
    state.directions[:] = parameters[:, :-1]
    state.intercepts[:] = parameters[:, -1]
    state.squared_norms[:] = np.square(state.directions).sum(axis=1)
    if state.averaging[0] <= n_steps:  # they count in the average as the last half of these steps
        state.clock[:] = n_steps, n_steps + 1
        total = float(step_length(rule, np.arange(n_steps // 2 + 1, n_steps + 1)).sum())
        state.sums[OPEN], state.intercept_sums[OPEN], state.etas[OPEN] = (
            total * parameters[:, :-1],
            total * parameters[:, -1],
            total,
        )
    else:
        state.clock[STEP] = n_steps
    return state


def features_of(feature_map, X, threads=ONE_THREAD):
    """Features of rows with the kernel as inner product; those of a row are the same in every batch."""
    whitening, width = whitening_of(feature_map), width_of(feature_map)
    whitening = None if whitening is None else whitening.astype(np.float32)
    out = np.empty((X.shape[0], width if whitening is None else whitening.shape[1]), np.float32)

    def fill(rows):
        if whitening is None:
            raw_rows(feature_map, X[rows], out[rows], steady=True)
        else:
            raw = np.empty((rows.stop - rows.start, width), np.float32)
            steady_product(raw_rows(feature_map, X[rows], raw, steady=True), whitening, out[rows])

    threads.run(fill, row_blocks(X.shape[0], threads.count, least=_LEAST_ROWS))
    return out


def take_steps(steps, feature_map, X, targets, weights, threads=ONE_THREAD):
    """Learn rows in their order."""
    for start in range(0, X.shape[0], BLOCK_ROWS):
        part = slice(start, start + BLOCK_ROWS)
        features = features_of(feature_map, X[part], threads)
        order = np.arange(len(features))
        learn(
            steps.loss, steps.rule, features, np.ascontiguousarray(targets[:, part]), weights[part], order, steps.state
        )


def run_epochs(solver, average, problem, feature_map, n_epochs, watch, rng):
    """Parameters after epochs of subgradient steps, and how many there were.

    Rows in memory are drawn at random, as the paper has it; others are taken block by block, in random order within a
    block.
    """
    loss, weights = problem.loss, problem.weights
    in_memory = isinstance(problem.rows, StoredRows)
    if in_memory:
        first = problem.rows.block[:SCALE_ROWS]
    else:
        first = features_of(feature_map, next(problem.rows.parts())[1][:SCALE_ROWS])
    rule = new_rule(solver, loss, problem.penalty, problem.intercept, first, problem.targets, weights)
    n_steps = n_epochs * np.count_nonzero(weights)
    averaging = averaging_of_run(average, n_steps) if watch is None else averaging_of_stream(average)
    state = new_state(len(problem.targets), first.shape[1], averaging)
    steps = Steps(loss, rule, state)
    n_taken, done = 0, False
    while n_taken < n_epochs and not done:
        if in_memory:
            order = rng.integers(len(weights), size=len(weights))
            learn(loss, rule, problem.rows.block, problem.targets, weights, order, state)
        else:
            _epoch_by_parts(steps, problem, feature_map, rng)
        n_taken += 1
        done = watch is not None and watch(parameters_of(steps))
    return parameters_of(steps), n_taken


def _epoch_by_parts(steps, problem, feature_map, rng):
    for start, part in problem.rows.parts():
        own = slice(start, start + part.shape[0])
        order = rng.permutation(part.shape[0])
        targets = np.ascontiguousarray(problem.targets[:, own])
        features = features_of(feature_map, part, problem.backend.passes.threads)
        learn(steps.loss, steps.rule, features, targets, problem.weights[own], order, steps.state)


def parameters_of(steps):
    """Weights and intercepts of the outputs, averaged."""
    weights, intercepts = solution(steps.state)
    return np.column_stack([weights, intercepts])
