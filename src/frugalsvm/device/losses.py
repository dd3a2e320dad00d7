"""The losses of `frugalsvm.asset.losses` on whole arrays: smoothed slopes and curvatures, sums, duals.

Arrays are (n_outputs, n_rows); targets and weights broadcast against scores.
"""

from frugalsvm.asset.losses import HINGES, SQUARED

__all__ = [
    "balanced",
    "class_targets",
    "conjugate_sums",
    "feasible",
    "slopes_and_curvatures",
    "smoothing_excess",
    "total_losses",
]

_STEEP = 60.0  # exp of this times minus one is nothing beside one, and exp of it is no infinity


def class_targets(arrays, labels, n_classes: int):
    """+1 for the rows of an output's class, -1 for others, made on the device; labels are numbers of classes."""
    xp = arrays.xp
    numbers = arrays.asarray([1] if n_classes == 2 else range(n_classes), "int64")[:, None]
    same = xp.astype(arrays.asarray(labels, "int64")[None] == numbers, xp.float32)
    return 2 * same - 1


def slopes_and_curvatures(xp, loss, width, targets, scores):
    """First and second derivatives of the smoothed loss with respect to scores."""
    if isinstance(loss, HINGES):
        first, second = _excess(xp, loss, width, 1 - targets * scores)
        return -targets * first, second
    above, curved_above = _excess(xp, loss, width, scores - targets - loss.epsilon)
    below, curved_below = _excess(xp, loss, width, targets - scores - loss.epsilon)
    return above - below, curved_above + curved_below


def _excess(xp, loss, width, excess):
    """Derivatives of ``max(0, excess)``, smoothed, or of its square."""
    if isinstance(loss, SQUARED):
        inside = xp.astype(excess > 0, excess.dtype)
        return 2 * excess * inside, 2 * inside
    first = 1 / (1 + xp.exp(xp.clip(excess * (-1 / width), -_STEEP, _STEEP)))
    return first, first * (1 - first) / width


def total_losses(xp, loss, targets, scores, weights):
    """Weighted sums of the losses themselves, one for each output, in float64."""
    excess = 1 - targets * scores if isinstance(loss, HINGES) else xp.abs(targets - scores) - loss.epsilon
    excess = xp.clip(excess, 0.0, None)
    values = excess * excess if isinstance(loss, SQUARED) else excess
    return xp.sum(values * weights, axis=1, dtype=xp.float64)


def smoothing_excess(xp, loss, targets, scores, weights, width):
    """By how much the smoothed losses are larger, summed."""
    distances: tuple = (1 - targets * scores,)
    if not isinstance(loss, HINGES):
        errors = xp.abs(targets - scores)
        distances = (errors - loss.epsilon, errors + loss.epsilon)
    each = sum(width * xp.log1p(xp.exp(xp.clip(-xp.abs(distance) / width, -_STEEP, 0.0))) for distance in distances)
    return xp.sum(each * weights, axis=1, dtype=xp.float64)


def feasible(xp, loss, targets, pulls, weights):
    """The pulls nearest to given ones that slopes of the loss can have."""
    if not isinstance(loss, HINGES):
        return pulls if isinstance(loss, SQUARED) else xp.minimum(xp.maximum(pulls, -weights), weights)
    along = xp.clip(targets * pulls, 0.0, None)
    return targets * (along if isinstance(loss, SQUARED) else xp.minimum(along, weights))


def balanced(xp, pulls):
    """Pulls that sum to zero: the side with the larger sum is scaled down."""
    up = xp.sum(xp.clip(pulls, 0.0, None), axis=1, dtype=xp.float64, keepdims=True)
    down = up - xp.sum(pulls, axis=1, dtype=xp.float64, keepdims=True)
    least = xp.minimum(up, down)
    raised = xp.astype(least / xp.clip(up, 1e-300, None), pulls.dtype)
    lowered = xp.astype(least / xp.clip(down, 1e-300, None), pulls.dtype)
    return pulls * xp.where(pulls > 0, raised, lowered)


def conjugate_sums(xp, loss, targets, pulls, weights):
    """What pulls add to the lower bound besides the penalty, summed over rows."""
    linear = targets * pulls
    if not isinstance(loss, HINGES):
        linear = linear - loss.epsilon * xp.abs(pulls)
    if isinstance(loss, SQUARED):
        linear = linear - pulls * pulls / (4 * xp.where(weights > 0, weights, xp.ones_like(weights)))
    return xp.sum(linear, axis=1, dtype=xp.float64)
