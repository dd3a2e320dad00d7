"""Stochastic subgradient steps on rows of features: ASSET and ASSET* of Lee and Wright (2012, section 3).

Rows ``v = phi(x)`` carry no labels, scores are ``f = w.v + b``, and the objective is

    penalty / 2 ||w||^2 + mean of weight * loss(target, f).

The step on example j, with ``g`` the slope of its loss in f, then the projection on the feasible set (line 9):

    w <- P( (1 - eta_j penalty) w - eta_j weight g v ),        b <- P( b - eta_j weight g ).

``RobustStep`` (Algorithm 1): ``eta_j = D_X / (D_G sqrt(j))``, w in the ball of ``1 / sqrt(penalty)``, b in ``[-B, B]``,
    ``D_X = sqrt(1 / penalty + B^2)``, and ``D_G`` the size of a subgradient at zero (``estimated_scale``).
``StrongStep`` (ASSET*, section 3.3): ``eta_j = 1 / (penalty j)``, the same ball.

The output is the average of late iterates, weighted by ``eta_j`` (27), for both.

Where this is not the paper
    * Any loss, weights of examples, and several outputs, each of which takes its own step on every example.
    * An example of weight 0 is no example: the count j stays.
    * ASSET* has no intercept. Here it may have one, as the weight of a constant feature 1: strong convexity needs it
      penalized like the others, and it is part of the ball.
    * The paper's ball holds the optimum of the hinge with weights of mean 1. ``enclosing_radius`` is the one for all
      losses, targets and weights.
    * ``D_G^2`` is a mean: the printed ``1 / M^2`` is a misprint.
    * The length of a stream is not known, so averages can also restart in windows (``Averaging``).

How it is fast
    ``w = scale * u``: shrinking and projecting touch one number, and u changes only where the loss has a slope. Sums of
    iterates wait as well: as long as u stays, ``sum eta_j w_j = (sum eta_j scale_j) u``. So a step without slope is one
    dot product; a step with slope is one more pass, which adds what waits, changes u and measures its norm. Memory is
    what limits it: a second u in float32 for the dot products would save a sixth of a step at 512 features.
"""

from typing import Annotated, NamedTuple

import numpy as np

from frugalsvm._stored import Positive, stored
from frugalsvm.compiling.functions import entry, generic, inlined
from frugalsvm.lowrank.losses.compiled import slope_of, tilt_of

# Beyond these, a scale is moved into its vector: long before anything under- or overflows, and rarely.
_SMALL, _LARGE = 1e-12, 1e12
_VANISHED = 1e-200  # numbers of a vector that are nothing beside any others


# ----------------------------------------------------------------------------------------------------
# Step rules: how far, and which set is feasible


@stored("robust-step", kind="rule")
class RobustStep(NamedTuple):
    """``eta_j = numerator / sqrt(j)``; the intercept is free within its bound."""

    penalty: Positive
    radius: Annotated[float, (1e-300, 1e200)]  # of the ball of w
    intercept: bool
    intercept_bound: Annotated[float, (0, 1e200)]
    numerator: Annotated[float, (0, 1e200)]  # D_X / D_G


@stored("strong-step", kind="rule")
class StrongStep(NamedTuple):
    """``eta_j = 1 / (penalty j)``; the intercept is one more weight."""

    penalty: Positive
    radius: Annotated[float, (1e-300, 1e200)]  # of the ball of w, or of w and the intercept together
    intercept: bool


def robust_step(penalty, scale, intercept, intercept_bound=None, radius=None):
    """Algorithm 1, for subgradients of size ``scale`` (D_G).

    By default the ball is the paper's, ``1 / sqrt(penalty)``, and the bound of the intercept is the radius plus 1: an
    intercept beyond that leaves all rows of length 1 on the same side of both margins.
    """
    if not (penalty > 0 and scale > 0):
        raise ValueError(f"penalty and scale must be positive, got {penalty!r} and {scale!r}")
    radius = penalty**-0.5 if radius is None else radius
    bound = 0.0 if not intercept else radius + 1.0 if intercept_bound is None else intercept_bound
    numerator = np.hypot(radius, bound) / scale
    return RobustStep(float(penalty), float(radius), bool(intercept), float(bound), float(numerator))


def strong_step(penalty, intercept, radius=None):
    """ASSET*; by default in the paper's ball, ``1 / sqrt(penalty)``."""
    if not penalty > 0:
        raise ValueError(f"penalty must be positive, got {penalty!r}")
    return StrongStep(float(penalty), float(penalty**-0.5 if radius is None else radius), bool(intercept))


def estimated_scale(V, intercept, weights=None):
    """D_G: root mean square, over the rows of a sample, of subgradients of slope 1 at ``w = 0``."""
    squares = np.einsum("ij,ij->i", V, V, dtype=np.float64) + bool(intercept)
    if weights is not None:
        # rows without weight are never visited
        squares = (squares * np.square(weights, dtype=np.float64))[np.asarray(weights) > 0]
    return float(np.sqrt(squares.mean()))


def enclosing_radius(loss, penalty, targets, weights=None):
    """Radius of a ball that holds the optima of all outputs (n_outputs, n_rows), whatever the features are.

    At an optimum ``penalty ||w||^2 = -mean(weight g f)``, and ``-g f`` is at most the loss at ``f = 0``; of a squared
    loss it is at most half of that. For the hinge without weights it is the paper's ball.
    """
    at_zero = loss.values(np, targets, 0.0) * loss.radius_share
    means = np.average(at_zero.astype(np.float64), axis=1) if weights is None else _weighted_mean(at_zero, weights)
    return float(np.sqrt(means.max() / penalty))


def _weighted_mean(values, weights):
    """Mean over the rows that are visited, those with a weight."""
    return (values @ weights.astype(np.float64)) / np.count_nonzero(weights)


@generic
def step_length(rule, t):
    """eta of step t, counted from 1."""


@step_length.implement(RobustStep)
def _robust_length(rule, t):
    return rule.numerator / np.sqrt(t)


@step_length.implement(StrongStep)
def _strong_length(rule, t):
    return 1.0 / (rule.penalty * t)


@generic
def moved_intercept(rule, intercept, eta, change):
    """The intercept after a step, before the projection; ``change`` is what the slope adds."""


@moved_intercept.implement(RobustStep)
def _robust_intercept(rule, intercept, eta, change):
    return intercept + change if rule.intercept else 0.0


@moved_intercept.implement(StrongStep)
def _strong_intercept(rule, intercept, eta, change):
    return (1.0 - eta * rule.penalty) * intercept + change if rule.intercept else 0.0


@generic
def projection(rule, squared_norm, intercept):
    """What to multiply w with, and the intercept, to be feasible; ``squared_norm`` is that of w."""


@projection.implement(RobustStep)
def _robust_projection(rule, squared_norm, intercept):
    bound = rule.intercept_bound
    return _shrinking(rule.radius, squared_norm), min(max(intercept, -bound), bound)


@projection.implement(StrongStep)
def _strong_projection(rule, squared_norm, intercept):
    factor = _shrinking(rule.radius, squared_norm + intercept * intercept)
    return factor, factor * intercept


@inlined
def _shrinking(radius, squared_norm):
    """The factor that brings a vector into a ball."""
    return radius / np.sqrt(squared_norm) if squared_norm > radius * radius else 1.0


# ----------------------------------------------------------------------------------------------------
# Averages

_NEVER = 2**62


class Averaging(NamedTuple):
    """Windows of iterates; the output averages the window that is open and the one before.

    The first window begins at step ``first``. If a window begins at step t, the next does at ``factor * t + length``.
    """

    first: int
    factor: int
    length: int


def no_average():
    """The output is the last iterate."""
    return Averaging(_NEVER, 0, _NEVER)


def average_from(first):
    """All iterates from step ``first`` on: the paper's, for runs of known length."""
    return Averaging(int(first), 0, _NEVER)


def average_suffix():
    """Windows begin at powers of two: always the last half to three quarters of all iterates."""
    return Averaging(1, 2, 0)


def average_last(n):
    """Windows of n iterates: always the last n to 2n."""
    return Averaging(1, 1, int(n))


# ----------------------------------------------------------------------------------------------------
# State

STEP, NEXT_WINDOW = 0, 1  # in the clock
BEFORE, OPEN = 0, 1  # windows


@stored("subgradient-state")
class SubgradientState(NamedTuple):
    """All that a run consists of; arrays only, so that a pickled one continues bit for bit."""

    directions: Annotated[np.ndarray, "d od"]  # (n_outputs, d): u
    scales: Annotated[np.ndarray, "d o"]  # (n_outputs,): w = scale * u
    squared_norms: Annotated[np.ndarray, "d o"]  # (n_outputs,), of u
    intercepts: Annotated[np.ndarray, "d o"]  # (n_outputs,)
    sums: Annotated[np.ndarray, "d 2od"]  # (2, n_outputs, d): eta * w over each window, without what waits
    intercept_sums: Annotated[np.ndarray, "d 2o"]  # (2, n_outputs)
    waiting: Annotated[np.ndarray, "d o"]  # (n_outputs,): sum of eta * scale since u changed, in the open window
    etas: Annotated[np.ndarray, "d 2"]  # (2,): sum of eta over each window
    clock: Annotated[np.ndarray, "i 2", (0, _NEVER + 1)]  # steps taken, first step of the next window
    averaging: Annotated[np.ndarray, "i 3", (0, _NEVER + 1)]  # the fields of Averaging


def new_state(n_outputs, d, averaging):
    """Before the first step: zero."""
    return SubgradientState(
        directions=np.zeros((n_outputs, d)),
        scales=np.ones(n_outputs),
        squared_norms=np.zeros(n_outputs),
        intercepts=np.zeros(n_outputs),
        # pages of zeros take no memory until they are written: without averages, never
        sums=np.zeros((2, n_outputs, d)),
        intercept_sums=np.zeros((2, n_outputs)),
        waiting=np.zeros(n_outputs),
        etas=np.zeros(2),
        clock=np.array([0, averaging.first], np.int64),
        averaging=np.array(averaging, np.int64),
    )


def last_iterate(state):
    """Weights (n_outputs, d) and intercepts after the last step."""
    return state.scales[:, None] * state.directions, state.intercepts.copy()


def solution(state):
    """Averaged weights (n_outputs, d) and intercepts; the last iterate where nothing has been averaged."""
    total = state.etas.sum()
    if total == 0.0:
        return last_iterate(state)
    weights = state.sums[BEFORE] + state.sums[OPEN]
    weights += state.waiting[:, None] * state.directions
    weights /= total
    return weights, state.intercept_sums.sum(axis=0) / total


# ----------------------------------------------------------------------------------------------------
# Steps


@inlined
def _dot(u, row):
    total = 0.0
    for j in range(u.size):
        total += u[j] * row[j]
    return total


@inlined
def _add_waiting(state, k):
    """Bring the sum of the open window up to date."""
    waiting = state.waiting[k]
    if waiting != 0.0:
        u, open_sum = state.directions[k], state.sums[OPEN, k]
        for j in range(u.size):
            open_sum[j] += waiting * u[j]
        state.waiting[k] = 0.0


@inlined
def _absorb_scale(state, k):
    """Multiply the scale into u; a scale of zero makes a vector of zeros."""
    _add_waiting(state, k)
    u, scale = state.directions[k], state.scales[k]
    for j in range(u.size):
        # Rows that came long ago: zero before they are subnormal numbers, which are slow
        u[j] = u[j] * scale if abs(u[j]) > _VANISHED else 0.0
    state.squared_norms[k] *= scale * scale
    state.scales[k] = 1.0


@inlined
def _add_row(state, k, row, change):
    """``u += change * row``. The norm is measured on the way: that costs no more than keeping track of it."""
    u, waiting = state.directions[k], state.waiting[k]
    squared_norm = 0.0
    if waiting != 0.0:
        open_sum = state.sums[OPEN, k]
        for j in range(u.size):
            before = u[j]
            open_sum[j] += waiting * before
            after = before + change * row[j]
            u[j] = after
            squared_norm += after * after
        state.waiting[k] = 0.0
    else:
        for j in range(u.size):
            after = u[j] + change * row[j]
            u[j] = after
            squared_norm += after * after
    state.squared_norms[k] = squared_norm


@inlined
def _step(loss, rule, row, target, weight, eta, k, state):
    """One output's step on one example."""
    score = state.scales[k] * _dot(state.directions[k], row) + state.intercepts[k]
    change = -eta * weight * (slope_of(loss, target, score) - tilt_of(loss, k))
    state.scales[k] *= 1.0 - eta * rule.penalty
    if abs(state.scales[k]) < _SMALL or abs(state.scales[k]) > _LARGE:
        _absorb_scale(state, k)
    if change != 0.0:
        _add_row(state, k, row, change / state.scales[k])
    intercept = moved_intercept(rule, state.intercepts[k], eta, change)
    factor, intercept = projection(rule, state.scales[k] * state.scales[k] * state.squared_norms[k], intercept)
    state.scales[k] *= factor
    state.intercepts[k] = intercept


@inlined
def _average(state, k, eta):
    """The iterate of output k counts in the open window."""
    state.waiting[k] += eta * state.scales[k]
    state.intercept_sums[OPEN, k] += eta * state.intercepts[k]


@inlined
def _begin_window(state, t):
    """The open window becomes the one before, and a new one opens at step t."""
    for k in range(state.scales.size):
        _add_waiting(state, k)
        before, open_sum = state.sums[BEFORE, k], state.sums[OPEN, k]
        for j in range(before.size):
            before[j] = open_sum[j]
            open_sum[j] = 0.0
        state.intercept_sums[BEFORE, k] = state.intercept_sums[OPEN, k]
        state.intercept_sums[OPEN, k] = 0.0
    state.etas[BEFORE] = state.etas[OPEN]
    state.etas[OPEN] = 0.0
    state.clock[NEXT_WINDOW] = state.averaging[1] * t + state.averaging[2]


@entry
def learn(loss, rule, V, targets, weights, order, state):
    """Take steps on the rows ``order`` (int64) of ``V``, in that order.

    ``V`` (n_rows, d), ``targets`` (n_outputs, n_rows) and ``weights`` (n_rows,) are C-contiguous, in float32. Batches
    are the same as one call, bit for bit. Targets may also be in Fortran order, compiled on its own: the targets of an
    example lie together then, which saves a quarter of the time with ten outputs and 512 features.
    """
    for i in order:
        weight = np.float64(weights[i])
        if weight == 0.0:
            continue
        t = state.clock[STEP] + 1
        state.clock[STEP] = t
        if t == state.clock[NEXT_WINDOW]:
            _begin_window(state, t)
        averages = t >= state.averaging[0]
        eta = step_length(rule, t)
        row = V[i]
        for k in range(state.scales.size):
            _step(loss, rule, row, np.float64(targets[k, i]), weight, eta, k, state)
            if averages:
                _average(state, k, eta)
        if averages:
            state.etas[OPEN] += eta
