"""Keeping the model inside a ball: ``w <- w min(1, U / ||w||)`` (BSGD paper, section 4).

``||w||^2`` is kept up to date in raw units (without the lazy scale): adding ``b Phi(x)`` adds
``2 <b, f(x)> + ||b||^2 K(x, x)``, and maintenance, ``w <- w - Delta``, adds ``||Delta||^2 - 2 <w, Delta>``.
For projection ``Delta`` is orthogonal to what is left, so that is ``-||Delta||^2``; the others need the model's
values at the vectors involved. Now and then the norm is computed afresh, so that rounding cannot add up.

A learner without a ball has the part ``Unconstrained``, for which all of this compiles to nothing.
"""

from typing import Annotated, NamedTuple

import numpy as np

from frugalsvm._stored import stored
from frugalsvm.compiling.functions import compiled, generic
from frugalsvm.core.expansion import raw_squared_norm, row_kernel_row, slot_kernel_row
from frugalsvm.core.fastmath import row_weighted_sum, rows_dot
from frugalsvm.core.merge import between, merge_factors

REFRESH = 8  # updates per slot after which the norm is computed from scratch


@stored("everywhere", kind="ball")
class Unconstrained(NamedTuple):
    """No constraint."""


@stored("ball", kind="ball")
class Ball(NamedTuple):
    """``||w|| <= radius``"""

    radius: Annotated[float, (1e-300, 1e200)]


@generic
def note_addition(ball, expansion, overlap, size):
    """The last slot was added: ``overlap = <b, f(x)>`` with the raw scores before, ``size = ||b||^2 K(x, x)``."""


@generic
def note_removal(ball, kernel, expansion, work, dropped, lost):
    """A slot is about to be removed."""


@generic
def note_projection(ball, expansion, lost):
    """A slot was projected on the others."""


@generic
def note_merge(ball, kernel, expansion, work, m, n, h, log_kappa, lost):
    """Slots m and n are about to be merged at h."""


@generic
def stay_inside(ball, kernel, expansion):
    """Scale the model down to the ball if it has left it."""


@note_addition.implement(Unconstrained)
def _unconstrained_addition(ball, expansion, overlap, size):
    pass


@note_removal.implement(Unconstrained)
def _unconstrained_removal(ball, kernel, expansion, work, dropped, lost):
    pass


@note_projection.implement(Unconstrained)
def _unconstrained_projection(ball, expansion, lost):
    pass


@note_merge.implement(Unconstrained)
def _unconstrained_merge(ball, kernel, expansion, work, m, n, h, log_kappa, lost):
    pass


@stay_inside.implement(Unconstrained)
def _unconstrained_inside(ball, kernel, expansion):
    pass


@compiled
def _inner_product(weights, coef, slot, kernel_row, n):
    """``<w, sum_o coef[o, slot] Phi(x)>`` in raw units, from the kernel row of x."""
    total = 0.0
    for o in range(weights.shape[0]):
        total += coef[o, slot] * row_weighted_sum(weights, o, kernel_row, n)
    return total


@note_addition.implement(Ball)
def _ball_addition(ball, expansion, overlap, size):
    expansion.scalars[0]["raw_norm"] += 2.0 * overlap + size


@note_removal.implement(Ball)
def _ball_removal(ball, kernel, expansion, work, dropped, lost):
    slot_kernel_row(kernel, expansion, dropped, work.products, work.kernel_row)
    n = expansion.counts[0]["n_slots"]
    inner = _inner_product(expansion.weights, expansion.coef, dropped, work.kernel_row, n)
    expansion.scalars[0]["raw_norm"] += lost - 2.0 * inner


@note_projection.implement(Ball)
def _ball_projection(ball, expansion, lost):
    expansion.scalars[0]["raw_norm"] -= lost


@note_merge.implement(Ball)
def _ball_merge(ball, kernel, expansion, work, m, n, h, log_kappa, lost):
    coef, weights, row = expansion.coef, expansion.weights, work.kernel_row
    n_slots = expansion.counts[0]["n_slots"]
    slot_kernel_row(kernel, expansion, m, work.products, row)
    inner = _inner_product(weights, coef, m, row, n_slots)
    slot_kernel_row(kernel, expansion, n, work.products, row)
    inner += _inner_product(weights, coef, n, row, n_slots)
    between(expansion.rows, m, n, h, work.vector, 0)
    norm = rows_dot(work.vector, 0, work.vector, 0)
    row_kernel_row(kernel, work.vector, 0, norm, expansion.rows, expansion.norms, n_slots, work.products, row)
    expansion.counts[0]["n_kernel_evals"] += n_slots
    u, v = merge_factors(h, log_kappa)
    inner -= u * _inner_product(weights, coef, m, row, n_slots) + v * _inner_product(weights, coef, n, row, n_slots)
    expansion.scalars[0]["raw_norm"] += lost - 2.0 * inner


@stay_inside.implement(Ball)
def _ball_inside(ball, kernel, expansion):
    n = expansion.counts[0]["n_slots"]
    expansion.counts[0]["n_since_norm"] += 1
    if expansion.counts[0]["n_since_norm"] > REFRESH * n:
        fresh = raw_squared_norm(kernel, expansion.rows, expansion.weights, expansion.coef, n)
        expansion.scalars[0]["raw_norm"] = fresh
        expansion.counts[0]["n_since_norm"] = 0
    raw_norm = np.sqrt(max(expansion.scalars[0]["raw_norm"], 0.0))
    if expansion.scalars[0]["scale"] * raw_norm > ball.radius:
        expansion.scalars[0]["scale"] = ball.radius / raw_norm
