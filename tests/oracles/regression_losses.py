"""Losses of regression beside those of ``oracles.asset``, in plain numpy, and the minima of their objectives.

The objective is that of ``oracles.low_rank``: ``penalty / 2 ||w||^2 + 1/n sum_i weight_i loss(target_i, w . v_i + b)``.

``squared``   ``(t - f)^2``: ridge regression, solved as the linear system that it is.
``huber``     ``r^2 / (2 epsilon)`` for ``|r| <= epsilon``, ``|r| - epsilon / 2`` beyond (Huber 1964, over epsilon):
              smooth and convex, left to L-BFGS of scipy.
``pinball``   ``max(q r, (q - 1) r)`` with ``r = t - f`` (Koenker and Bassett 1978): two kinks ``max(0, d - s f)`` for
              each row, of weights q and 1 - q, which is what ``oracles.low_rank`` solves by interior points.
"""

import numpy as np
from scipy.optimize import minimize

from oracles.low_rank import _interior_points

__all__ = ["NAMES", "loss_value", "objective", "optimum", "slope"]

NAMES = ("huber", "squared", "pinball")


def loss_value(loss, parameter, t, f):
    """``parameter`` is epsilon of Huber's loss, or the quantile."""
    r = t - f
    if loss == "squared":
        return r**2
    if loss == "huber":
        return np.where(np.abs(r) <= parameter, r**2 / (2 * parameter), np.abs(r) - parameter / 2)
    return np.maximum(parameter * r, (parameter - 1) * r)


def slope(loss, parameter, t, f):
    """The derivative in f; at a kink, that of lower scores."""
    r = t - f
    if loss == "squared":
        return -2 * r
    if loss == "huber":
        return -np.clip(r / parameter, -1, 1)
    return np.where(r >= 0, -parameter, 1 - parameter)


def objective(V, targets, weights, w, b, penalty, loss, parameter):
    return penalty / 2 * (w @ w) + np.mean(weights * loss_value(loss, parameter, targets, V @ w + b))


def optimum(V, targets, weights, penalty, loss, parameter):
    """The least objective with an intercept, to six digits at least."""
    V, targets, weights = (np.asarray(each, np.float64) for each in (V, targets, weights))
    ones = np.column_stack([V, np.ones(len(V))])

    def value(x):
        return objective(V, targets, weights, x[:-1], x[-1], penalty, loss, parameter)

    def gradient(x):
        slopes = weights * slope(loss, parameter, targets, ones @ x)
        return penalty * np.append(x[:-1], 0.0) + ones.T @ slopes / len(V)

    if loss == "squared":
        ridge = np.diag(np.append(np.full(V.shape[1], penalty * len(V) / 2), 0.0))
        return value(np.linalg.solve(ones.T @ (weights[:, None] * ones) + ridge, ones.T @ (weights * targets)))
    if loss == "huber":
        options = {"maxiter": 20_000, "maxfun": 10**6, "ftol": 1e-15, "gtol": 1e-10}
        return minimize(value, np.zeros(ones.shape[1]), jac=gradient, method="L-BFGS-B", options=options).fun
    kept, scale = weights > 0, np.sqrt(penalty * len(V))
    sides = np.repeat([1.0, -1.0], kept.sum())
    shares = np.concatenate([parameter * weights[kept], (1 - parameter) * weights[kept]])
    A = sides[:, None] * np.tile(V[kept], (2, 1)) / scale
    points = _interior_points(A, sides, sides * np.tile(targets[kept], 2), shares, squared=False)
    return min(value(np.append(w / scale, b)) for w, b, _ in points)
