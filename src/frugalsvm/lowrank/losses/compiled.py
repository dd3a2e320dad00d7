"""Losses in compiled code: what one of them has to say of one example, and loops over blocks of rows."""

import numpy as np

from frugalsvm.compiling.crew import code_of, share, task
from frugalsvm.compiling.functions import entry, generic, separate
from frugalsvm.core.fastmath import LOG2E, exp2_nonpositive

_LOG2E, _ONE, _ZERO = (np.float32(x) for x in (LOG2E, 1.0, 0.0))
# Binary logarithm of what is nothing beside one. Left as they are, curvatures far from the margin become subnormal
# numbers in products, and most processors take a hundred times as long for each of these.
_NOTHING = np.float32(-40.0)


@generic
def smooth_excess(excess, smoothing):
    """Slope and curvature of ``smoothing * log(1 + exp(excess / smoothing))``."""


@smooth_excess.implement(np.float32)
def _smooth_excess(excess, smoothing):
    u = excess / smoothing
    # exp(-|u|) cannot overflow; both halves of the sigmoid come from it
    t = -abs(u) * _LOG2E
    e = exp2_nonpositive(t) if t > _NOTHING else _ZERO
    inverse = _ONE / (_ONE + e)
    upper = inverse if u >= _ZERO else e * inverse
    return upper, e * inverse * inverse / smoothing


@generic
def slope_and_curvature(loss, smoothing, target, score):
    """First and second derivative of the smoothed loss with respect to the score, all in float32."""


@generic
def loss_of(loss, target, score):
    """The loss itself, without smoothing, in float32."""


@generic
def slope_of(loss, target, score):
    """A subgradient of the loss in the score, in float64; 0 at kinks."""


@generic
def tilt_of(loss, output):
    """What is added to the loss of one output, for each unit by which the score is below the target.

    The three above are the same for all outputs; this is how those of one loss may differ. Most have none.
    """


@tilt_of.implement()
def _no_tilt(loss, output):
    return 0.0


# Loops over rows are divided where ``edges`` say: part k of them are ``edges[k] <= i < edges[k + 1]``.


@entry
def total_losses(crew, loss, targets, scores, weights, edges, totals):
    """Weighted sums of the losses of each part of the rows, one for each output, ``(n_parts, n_outputs)``."""
    arguments = loss, targets, scores, weights, edges, totals
    share(crew, code_of(_total_part, arguments), edges.size - 1, arguments)


@task
def _total_part(loss, targets, scores, weights, edges, totals, part):
    first, last = edges[part], edges[part + 1]
    for o in range(scores.shape[0]):
        own_targets, own_scores, own_weights = targets[o, first:last], scores[o, first:last], weights[first:last]
        tilt, total = np.float32(tilt_of(loss, o)), 0.0
        for i in range(own_scores.size):
            value = loss_of(loss, own_targets[i], own_scores[i]) + tilt * (own_targets[i] - own_scores[i])
            total += np.float64(own_weights[i] * value)
        totals[part, o] = total


@entry
def differentiate(crew, loss, smoothing, cut, targets, scores, weights, edges, slopes, curvatures):
    """Weighted slopes and curvatures of the smoothed losses; slopes up to ``cut`` count as zero."""
    arguments = loss, smoothing, cut, targets, scores, weights, edges, slopes, curvatures
    share(crew, code_of(_derive_part, arguments), edges.size - 1, arguments)


@task
def _derive_part(loss, smoothing, cut, targets, scores, weights, edges, slopes, curvatures, part):
    derive(loss, smoothing, cut, targets, scores, weights, edges[part], edges[part + 1], slopes, curvatures)


@separate
def derive(loss, smoothing, cut, targets, scores, weights, first, last, slopes, curvatures):
    """`differentiate`, for compiled functions: of rows ``first <= i < last``."""
    smoothing, cut = np.float32(smoothing), np.float32(cut)
    for o in range(scores.shape[0]):
        own_targets, own_scores = targets[o, first:last], scores[o, first:last]
        own_slopes, own_curvatures, own_weights = slopes[o, first:last], curvatures[o, first:last], weights[first:last]
        tilt = np.float32(tilt_of(loss, o))
        for i in range(own_scores.size):
            slope, curvature = slope_and_curvature(loss, smoothing, own_targets[i], own_scores[i])
            slope -= tilt
            own_slopes[i] = own_weights[i] * (slope if abs(slope) > cut else _ZERO)
            own_curvatures[i] = own_weights[i] * curvature


@entry
def along_lines(crew, loss, smoothing, targets, scores, changes, weights, steps, active, edges, sums):
    """Sums of slopes and curvatures of the smoothed losses of ``scores + steps * changes``, for each part of the rows.

    ``sums`` (n_parts, 2, n_outputs) are those of the outputs that are active, and zero for others.
    """
    arguments = loss, smoothing, targets, scores, changes, weights, steps, active, edges, sums
    share(crew, code_of(_along_part, arguments), edges.size - 1, arguments)


@task
def _along_part(loss, smoothing, targets, scores, changes, weights, steps, active, edges, sums, part):
    smoothing, first, last = np.float32(smoothing), edges[part], edges[part + 1]
    for o in range(scores.shape[0]):
        own_targets, own_scores = targets[o, first:last], scores[o, first:last]
        own_changes, own_weights = changes[o, first:last], weights[first:last]
        step, total_slope, total_curvature = np.float32(steps[o]), 0.0, 0.0
        tilt = np.float32(tilt_of(loss, o))
        for i in range(own_scores.size if active[o] else 0):
            slope, curvature = slope_and_curvature(
                loss, smoothing, own_targets[i], own_scores[i] + step * own_changes[i]
            )
            total_slope += np.float64(own_weights[i] * (slope - tilt) * own_changes[i])
            total_curvature += np.float64(own_weights[i] * curvature * own_changes[i] * own_changes[i])
        sums[part, 0, o], sums[part, 1, o] = total_slope, total_curvature


@entry
def add_lines(crew, scores, lengths, changes, edges):
    """``scores += lengths * changes``, an output in each row."""
    arguments = scores, lengths, changes, edges
    share(crew, code_of(_add_part, arguments), edges.size - 1, arguments)


@task
def _add_part(scores, lengths, changes, edges, part):
    for o in range(scores.shape[0]):
        own_scores, own_changes = scores[o, edges[part] : edges[part + 1]], changes[o, edges[part] : edges[part + 1]]
        length = lengths[o]
        for i in range(own_scores.size):
            own_scores[i] += length * own_changes[i]


@entry
def add_constants(crew, scores, constants, edges):
    """Add a constant to each row."""
    arguments = scores, constants, edges
    share(crew, code_of(_add_constants_part, arguments), edges.size - 1, arguments)


@task
def _add_constants_part(scores, constants, edges, part):
    for o in range(scores.shape[0]):
        own = scores[o, edges[part] : edges[part + 1]]
        for i in range(own.size):
            own[i] += constants[o]


@entry
def total_rows(crew, values, edges, totals):
    """Sums of parts of each row in float64, ``(n_parts, n_rows)``."""
    arguments = values, edges, totals
    share(crew, code_of(_total_rows_part, arguments), edges.size - 1, arguments)


@task
def _total_rows_part(values, edges, totals, part):
    for o in range(values.shape[0]):
        own, total = values[o, edges[part] : edges[part + 1]], 0.0
        for i in range(own.size):
            total += np.float64(own[i])
        totals[part, o] = total
