"""What a loss of the low-rank solver is: a NamedTuple with methods for whole arrays, and compiled bodies.

Newton steps need a slope and a curvature everywhere. A loss with a kink, ``max(0, u)``, is replaced by
``h log(1 + exp(u / h))``, which is above it by ``h log 2`` at most. The solver lowers the smoothing ``h`` from stage to
stage: with a large one Newton steps go far, with a small one it is as good as the loss itself. A loss that
``is_smooth`` needs none of that, and ignores ``smoothing``.

A file of this folder defines one loss or a few that are alike, and ``__init__`` has a line for each:

* class attributes ``is_smooth``, ``for_classes`` (targets are -1 and +1) and ``radius_share`` (see
  `frugalsvm.lowrank.subgradient.enclosing_radius`); for regression ``degree``, where a loss depends on ``t - f`` only:
  errors, and a field ``epsilon``, k times as large make it k^degree times as large. Targets are standardized then;
* methods on arrays of NumPy or PyTorch, whose namespace is ``xp``: ``values``, ``derivatives``, ``smoothing_excess``,
  and for the bound by duality ``feasible`` and ``conjugates``. Shapes are (n_outputs, n_rows); weights broadcast;
* compiled bodies for one example, see ``compiled``: `slope_and_curvature`, `loss_of`, and `slope_of` for subgradient
  steps; where outputs differ, `tilt_of`.

Dual variables are negated slopes of weighted losses.
"""

_STEEP = 40.0  # exp of this times minus one is nothing beside one, and far from what becomes subnormal in products


def smooth_step(xp, excess, smoothing):
    """Derivatives of ``smoothing * log(1 + exp(excess / smoothing))``."""
    first = 1 / (1 + xp.exp(xp.clip(excess * (-1 / smoothing), -_STEEP, _STEEP)))
    return first, first * (1 - first) / smoothing


def square_step(xp, excess):
    """Derivatives of ``max(0, excess)^2``."""
    nothing = xp.zeros_like(excess)
    return xp.where(excess > 0, 2 * excess, nothing), xp.where(excess > 0, nothing + 2, nothing)


def log_excess(xp, distance, smoothing):
    """By how much a smoothed kink is larger than the kink itself, so far from it."""
    return smoothing * xp.log1p(xp.exp(xp.clip(-xp.abs(distance) / smoothing, -_STEEP, None)))


def squares_by_weight(xp, duals, weights):
    """What a square takes from the dual objective; an example without weight has no dual variable either."""
    return duals * duals / (4.0 * xp.where(weights > 0, weights, xp.ones_like(weights)))
