"""Budgeted stochastic gradient descent (BSGD), and every online learner of the same form.

Paper: Z. Wang, K. Crammer, S. Vucetic, "Breaking the curse of kernelization: budgeted stochastic gradient
descent for large-scale SVM training", JMLR 13 (2012). Algorithm 1 with the step sizes of Table 2
(``core/schedules.py``), the binary hinge loss (3.3) or the multiclass one (5.2) (``core/losses.py``), and the
maintenance strategies of section 6 (``budgeted/maintenance.py``)::

    w <- (1 - eta_t lambda) w                               (3.4), by the lazy scale
    if margin < 1:  w <- w + eta_t weight_t direction Phi(x_t)   (3.5), section 5
    if there are more than B support vectors:  w <- w - Delta_t  Algorithm 2
    w <- w min(1, U / ||w||)                                section 4 (``budgeted/norm_constraint.py``)

The budgeted perceptrons and passive-aggressive learners of the paper's section 2.4 are the same loop with other
steps (``core/schedules.py``) and policies (``perceptrons.py``, ``budget_perceptrons.py``, ``projectron.py`` and
``bpa.py``).
"""

from typing import NamedTuple

import numpy as np

from frugalsvm._stored import stored
from frugalsvm.budgeted.norm_constraint import note_addition, stay_inside
from frugalsvm.budgeted.policy import admit, pass_by, with_room
from frugalsvm.compiling.functions import entry, inlined, smaller
from frugalsvm.core.expansion import (
    fold_scale,
    refresh_slot,
    resized,
)
from frugalsvm.core.experts import combine, settle
from frugalsvm.core.lookahead import example_norm, load, rescale, touch, write_example
from frugalsvm.core.predict import score_example
from frugalsvm.core.schedules import advance, may_fold
from frugalsvm.core.sources import new_source, rows_at_a_time
from frugalsvm.core.updates import update_of
from frugalsvm.core.workspace import new_workspace

SMALLEST_SCALE = 1e-9  # raw coefficients are copied to float32, which ends at 1e38


@stored("parts")
class Parts(NamedTuple):
    """What a learner is made of."""

    loss: NamedTuple
    kernel: NamedTuple
    schedule: NamedTuple
    policy: NamedTuple
    ball: NamedTuple


@inlined
def _append(parts, source, i, expansion, work, factor):
    """Write example i to a new last slot with raw coefficients ``factor * direction``."""
    n = expansion.counts[0]["n_slots"]
    write_example(source, i, expansion.rows, n)
    expansion.norms[n] = example_norm(source, i)
    n_outputs = work.scores.size
    averaged = expansion.coef.shape[0] > n_outputs
    overlap = 0.0
    for o in range(n_outputs):
        a = factor * work.direction[o]
        expansion.coef[o, n] = a
        overlap += a * work.scores[o]
        if averaged:
            expansion.coef[n_outputs + o, n] = a * expansion.scalars[0]["scale_sum"]
    expansion.births[n] = expansion.counts[0]["n_seen"]
    refresh_slot(expansion, parts.kernel, n)
    note_addition(parts.ball, expansion, overlap, expansion.sizes[n])
    expansion.counts[0]["n_slots"] = n + 1


@inlined
def _learn(parts, source, i, expansion, work, factor, eta):
    """Add example i, maintain the budget, stay in the ball (lines 4 to 7 of Algorithm 1, section 4)."""
    n = expansion.counts[0]["n_slots"]
    if settle(parts.loss, parts.kernel, expansion):
        work.least_size[0] = 0.0
    _append(parts, source, i, expansion, work, factor)
    lost = admit(parts.policy, parts.loss, parts.kernel, parts.ball, source, expansion, work)
    if expansion.counts[0]["n_slots"] > n:
        touch(source, n, expansion)
    if lost >= 0.0:  # not TURNED_AWAY
        expansion.counts[0]["n_updates"] += 1
        expansion.scalars[0]["error_sum"] += expansion.scalars[0]["scale"] * np.sqrt(lost) / eta
    stay_inside(parts.ball, parts.kernel, expansion)


@inlined
def _step(parts, source, i, label, weight, expansion, work):
    """One example of Algorithm 1."""
    score_example(parts.kernel, source, i, expansion, work)
    scalars, counts = expansion.scalars, expansion.counts
    counts[0]["n_seen"] += 1
    before = scalars[0]["scale"]
    eta, scale, raw_step = advance(parts.schedule, counts[0]["n_seen"], before)
    scalars[0]["scale"] = scale
    norm = example_norm(source, i)
    factor = update_of(parts.loss, parts.schedule, parts.kernel, label, norm, weight, before, scale, raw_step, work)
    if factor > 0.0:
        _learn(parts, source, i, expansion, work, factor, eta)
    else:
        pass_by(parts.policy, parts.kernel, label, expansion, work)
    if counts[0]["n_seen"] > scalars[0]["averaged_from"]:
        scalars[0]["scale_sum"] += scalars[0]["scale"]
    if scalars[0]["scale"] < SMALLEST_SCALE and may_fold(parts.schedule):
        rescale(source, scalars[0]["scale"])
        fold_scale(expansion.coef, expansion.weights, expansion.sizes, counts[0]["n_slots"], scalars)
        work.least_size[0] = 0.0


@entry
def run(parts, source, labels, weights, start, block_rows, expansion, work):
    """Learn the examples from position ``start``, with labels and weights in order; returns the position reached.

    Labels are indices of classes, or targets: a row of them for each example. The position reached is the end, unless
    the store has no free slot left (without a budget): then give it more and go on.
    """
    capacity = expansion.rows.shape[0]
    weighted = weights.size > 0
    n_rows = labels.shape[0]
    work.least_size[0] = 0.0  # the store may have been changed since
    while start < n_rows and expansion.counts[0]["n_slots"] < capacity:
        # Blocks end at multiples of their length, also after one that ended early: see BLOCK_ROWS.
        stop = start + load(source, start, smaller(block_rows - start % block_rows, n_rows - start), expansion)
        first = start
        while start < stop and expansion.counts[0]["n_slots"] < source.state[0]["room"]:
            weight = weights[start] if weighted else 1.0
            if weight > 0.0:
                _step(parts, source, start - first, labels[start], weight, expansion, work)
            start += 1
    return start


@entry
def ask(experts, kernel, source, expansion, work):
    """Leave the decision values of the first example in ``experts.values``: for rows that come one by one."""
    load(source, 0, 1, expansion)
    score_example(kernel, source, 0, expansion, work)
    combine(experts, work.scores)


def learn(parts, expansion, X, labels, weights=None, order=None, block_rows=None):
    """Learn the rows of ``X`` (dense or CSR, of the store's type) in ``order``; returns the parts and the expansion.

    They are the same objects, changed, unless there is no budget and they had to grow.
    """
    if order is None:
        order = np.arange(X.shape[0])
    else:
        labels = labels[order]
        weights = None if weights is None else weights[order]
    weights = np.empty(0) if weights is None else weights
    position = 0
    while True:
        source = new_source(parts.kernel, X, order, expansion)
        rows = min(block_rows or rows_at_a_time(source), rows_at_a_time(source))
        work = new_workspace(expansion)
        position = run(parts, source, labels, weights, position, rows, expansion, work)
        if position == order.size:
            return parts, expansion
        expansion = resized(expansion, 2 * expansion.rows.shape[0])
        parts = parts._replace(policy=with_room(parts.policy, expansion.rows.shape[0]))
