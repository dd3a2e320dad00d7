"""The problem (13) of the paper: a regularised risk over rows of features, for one or several outputs.

``penalty / 2 ||w||^2 + 1/n sum_i weight_i loss(target_i, w . v_i + b)``, minimised over w and the unpenalised b of each
output. Where features are whitened kernel values, ``v_i = W' k_i``, nobody needs them as such: scores are
``k_i . (W w)``, and a gradient is W' times a sum of rows ``k_i``. Rows stay raw, and W is applied to vectors.

Unknowns and gradients of an output are one array of ``d + 1`` numbers, the intercept last; without an intercept that
number stays zero.
"""

from typing import Any, NamedTuple

import numpy as np

from frugalsvm.asset.losses import conjugates, differentiate, feasible, total_loss

__all__ = [
    "Point",
    "Slopes",
    "Task",
    "best_bounds",
    "features_of",
    "gradient",
    "lower_bounds",
    "objectives",
    "parts_of",
    "point_at",
    "raw_coefficients",
    "scores_of",
    "slopes_at",
    "total_losses",
]


_PART = 2**16  # rows at a time, where that saves memory


def parts_of(n_rows):
    """Slices that cover all rows: several arrays of the length of a part take less memory than one of all rows."""
    return [slice(start, start + _PART) for start in range(0, n_rows, _PART)]


class Task(NamedTuple):
    rows: Any  # StoredRows or ComputedRows
    targets: np.ndarray  # (n_outputs, n_rows) float32
    weights: np.ndarray  # (n_rows,) float32
    loss: Any
    penalty: float
    whitening: np.ndarray | None  # (width, d) float64, None for rows that are features already
    intercept: bool

    @property
    def n_features(self):
        return self.rows.width if self.whitening is None else self.whitening.shape[1]


class Point(NamedTuple):
    unknowns: np.ndarray  # (n_outputs, d + 1) float64, changed in place
    scores: np.ndarray  # (n_outputs, n_rows) float32, changed in place


class Slopes(NamedTuple):
    first: np.ndarray  # (n_outputs, n_rows) weighted slopes of the losses
    second: np.ndarray  # and their curvatures


def raw_coefficients(task, vectors):
    """Coefficients of the raw rows for vectors in feature space."""
    return vectors if task.whitening is None else vectors @ task.whitening.T


def features_of(task, raw):
    """Sums of raw rows, in feature space."""
    return raw if task.whitening is None else raw @ task.whitening


def scores_of(task, unknowns, out):
    """Scores of all rows."""
    task.rows.scores(raw_coefficients(task, unknowns[:, :-1]), out)
    if task.intercept:
        out += unknowns[:, -1:].astype(np.float32)
    return out


def point_at(task, unknowns):
    return Point(unknowns.copy(), scores_of(task, unknowns, np.empty(task.targets.shape, np.float32)))


def slopes_at(task, scores, width, cut):
    """Slopes and curvatures of all losses, smoothed to ``width``."""
    slopes = Slopes(np.empty_like(scores), np.empty_like(scores))
    for o in range(len(scores)):
        differentiate(
            task.loss, width, cut, task.targets[o], scores[o], task.weights, slopes.first[o], slopes.second[o]
        )
    return slopes


def gradient(task, unknowns, first):
    """Gradient of the smoothed objective, ``(n_outputs, d + 1)``."""
    result = np.zeros(unknowns.shape)
    result[:, :-1] = features_of(task, task.rows.gradient(first)) / task.rows.n_rows
    result[:, :-1] += task.penalty * unknowns[:, :-1]
    if task.intercept:
        result[:, -1] = first.sum(axis=1, dtype=np.float64) / task.rows.n_rows
    return result


def objectives(task, point):
    """The objective of each output, with the loss as it is."""
    penalties = 0.5 * task.penalty * np.square(point.unknowns[:, :-1]).sum(axis=1)
    return penalties + total_losses(task, point.scores) / task.rows.n_rows


def total_losses(task, scores):
    """Weighted sum of the losses of each output, as they are."""
    each = zip(task.targets, scores, strict=True)
    return np.array([total_loss(task.loss, targets, own, task.weights) for targets, own in each])


def lower_bounds(task, pulls):
    """What the objective of each output cannot be below, by duality; changes the pulls.

    For any feasible pulls p (those of an intercept sum to zero), the objective is at least
    ``1/n sum_i conjugate(p_i) - ||u||^2 / (2 penalty)``, ``u = 1/n sum_i p_i v_i``.
    """
    n_rows = task.rows.n_rows
    linear = np.array([_make_feasible(task, *each) for each in zip(task.targets, pulls, strict=True)]) / n_rows
    sums = features_of(task, task.rows.gradient(pulls)) / n_rows
    return best_bounds(linear, np.square(sums).sum(axis=1) / (2.0 * task.penalty))


def best_bounds(linear, quadratic):
    """The larger of two bounds: that of the pulls, and that of the best multiple of them.

    ``linear`` and ``quadratic`` are the two parts of the dual objective, ``linear - quadratic``. Shrunken pulls are
    feasible too; for losses without a square, the multiple is the best one.
    """
    factor = np.clip(linear / np.maximum(2.0 * quadratic, 1e-300), 0.0, 1.0)
    return np.maximum(np.maximum(factor * linear - factor**2 * quadratic, linear - quadratic), 0.0)


def _make_feasible(task, targets, pulls):
    """Change the pulls of one output into feasible ones; returns the sum of their conjugates."""
    parts = parts_of(len(pulls))
    for part in parts:
        pulls[part] = feasible(task.loss, targets[part], pulls[part], task.weights[part])
    if task.intercept:
        _balance(pulls, parts)
    return sum(
        float(conjugates(task.loss, targets[part], pulls[part], task.weights[part]).sum(dtype=np.float64))
        for part in parts
    )


def _balance(pulls, parts):
    """Make pulls sum to zero: the side with the larger sum is scaled down."""
    up = sum(float(np.maximum(pulls[part], 0.0).sum(dtype=np.float64)) for part in parts)
    down = up - float(pulls.sum(dtype=np.float64))
    least = min(up, down)
    raised, lowered = np.float32(least / max(up, 1e-300)), np.float32(least / max(down, 1e-300))
    for part in parts:
        pulls[part] *= np.where(pulls[part] > 0, raised, lowered)
