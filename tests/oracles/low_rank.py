"""Low-rank kernel machines in plain numpy: Nystroem features, the objective over them, and its minimum.

The objective is ``penalty / 2 ||w||^2 + 1/n sum_i weight_i loss(target_i, w . v_i + b)``, b unpenalised. Losses are the
names of ``oracles.asset``; ``epsilon`` is for the two of regression.

Every loss is a sum of terms ``max(0, d - s f)`` or their squares: a hinge has d = 1 and s = t, the tube
``max(0, |t - f| - epsilon)`` has one term for each side, with s = +1 and -1 and d = s t - epsilon. In the dual,

    maximise  sum_j d_j a_j - ||sum_j a_j s_j v_j||^2 / (2 penalty)  [- sum_j a_j^2 / (4 c_j) for squares]

over ``0 <= a_j <= c_j``, ``c_j = weight_j / n`` (squares: no upper limit), with ``sum_j a_j s_j = 0`` for an intercept.
``optimum`` solves it by a primal-dual interior point method (Nocedal and Wright, "Numerical Optimization", 16.6) and
returns both values: whatever it does, the minimum lies between them.
"""

from typing import NamedTuple

import numpy as np

from oracles.asset import loss_value

__all__ = ["Optimum", "nystroem_features", "objective", "optimum"]


def nystroem_features(kernel, landmarks, X, threshold=1e-6):
    """``V = K(X, S) Q D^-1/2`` for ``K(S, S) = Q D Q'``, of the eigenvalues above ``threshold`` of the largest."""
    eigenvalues, Q = np.linalg.eigh(kernel(landmarks, landmarks))
    keep = eigenvalues > threshold * eigenvalues.max()
    return kernel(X, landmarks) @ Q[:, keep] / np.sqrt(eigenvalues[keep])


def objective(V, targets, weights, w, b, penalty, loss, epsilon=0.0):
    return penalty / 2 * (w @ w) + np.mean(weights * loss_value(loss, epsilon, targets, V @ w + b))


class Optimum(NamedTuple):
    value: float  # the objective at w and b
    bound: float  # that of the dual: the minimum is no less
    w: np.ndarray
    b: float


def optimum(V, targets, weights, penalty, loss, intercept, epsilon=0.0):
    """The minimum, to about eight digits."""
    V, targets = np.asarray(V, np.float64), np.asarray(targets, np.float64)
    kept, squared = np.asarray(weights) > 0, loss.startswith("squared")
    c, scale = np.asarray(weights, np.float64)[kept], np.sqrt(penalty * len(V))
    if "hinge" in loss:
        s, d, rows = targets[kept], np.ones(kept.sum()), V[kept]
    else:
        ones = np.ones(kept.sum())
        s, c, rows = np.concatenate([ones, -ones]), np.tile(c, 2), np.tile(V[kept], (2, 1))
        d = s * np.tile(targets[kept], 2) - epsilon
    A = s[:, None] * rows / scale
    best, bound = None, 0.0  # no objective is negative
    for w, b, a in _interior_points(A, s * float(intercept), d, c, squared):
        w, b = w / scale, b * float(intercept)
        value = objective(V, targets, weights, w, b, penalty, loss, epsilon)
        if best is None or value < best[0]:
            best = value, w, b
        dual = d @ a - np.sum((A.T @ a) ** 2) / 2 - (np.sum(a**2 / (4 * c)) if squared else 0.0)
        if abs(s @ a) * intercept <= 1e-10 * a.sum():
            bound = max(bound, dual / len(V))
        if best[0] - bound <= 1e-9 * best[0]:
            break
    value, w, b = best
    return Optimum(value, bound, w, b)


def _interior_points(A, s, d, c, squared, max_steps=60):
    """Iterates w, b, a towards the minimum of ``|A'a|^2 / 2 + h a^2 / 2 - d a``, ``0 <= a (<= c)``, ``s a = 0``.

    At the minimum, ``w = A'a`` and b is the multiplier of the equation.
    """
    h = 1 / (2 * c) if squared else np.zeros_like(c)
    a, w, b = c / 2, np.zeros(A.shape[1]), 0.0
    room = np.full_like(c, np.inf) if squared else c / 2  # c - a, kept apart: a difference would lose its digits
    z = np.full_like(c, np.abs(d).max())  # multipliers of a >= 0
    y = np.zeros_like(c) if squared else z.copy()  # and of a <= c
    n_limits = len(c) * (1 if squared else 2)

    def complementarity(a, z, room, y):
        return (a @ z + (0.0 if squared else room @ y)) / n_limits

    for _ in range(max_steps):
        residual, w_residual = A @ w + h * a - d - z + y + b * s, w - A.T @ a
        mu = complementarity(a, z, room, y)
        theta = h + z / a + y / room
        inner = np.eye(len(w)) + A.T @ (A / theta[:, None])
        try:
            of_s = np.linalg.solve(inner, A.T @ (s / theta))
        except np.linalg.LinAlgError:  # the last iterate has all the digits that there are
            return
        da = dz = dy = np.zeros_like(a)
        for centre in (0.0, None):  # predictor, then corrector
            if centre is None:
                step = _longest(a, z, y, room, da, dz, dy)
                after = complementarity(a + step * da, z + step * dz, room - step * da, y + step * dy)
                centre = (after / mu) ** 3
            low = centre * mu - a * z - da * dz
            high = np.zeros_like(a) if squared else centre * mu - room * y + da * dy
            # A dw + theta da + s db = right,   dw - A' da = -w_residual,   s da = -s a
            right = -residual + low / a - high / room
            dw = np.linalg.solve(inner, A.T @ (right / theta) - w_residual)
            db = 0.0
            if s.any():
                db = (s @ ((right - A @ dw) / theta) + s @ a) / (s @ ((s - A @ of_s) / theta))
                dw = dw - db * of_s
            da = (right - A @ dw - db * s) / theta
            dz = (low - z * da) / a
            dy = (high + y * da) / room
        step = 0.995 * _longest(a, z, y, room, da, dz, dy)
        w, b, a = w + step * dw, b + step * db, a + step * da
        z, y, room = z + step * dz, y + step * dy, room - step * da
        yield w, b, a


def _longest(a, z, y, room, da, dz, dy):
    """The longest step up to 1 after which nothing is negative."""
    values, changes = np.concatenate([a, z, y, room]), np.concatenate([da, dz, dy, -da])
    shrinking = changes < 0
    return min(1.0, float(np.min(-values[shrinking] / changes[shrinking], initial=np.inf)))
