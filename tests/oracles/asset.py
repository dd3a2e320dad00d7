"""Stochastic subgradient steps in plain numpy: ASSET and ASSET*.

Follows S. Lee and S. J. Wright, "ASSET: Approximate Stochastic Subgradient Estimation Training for Support Vector
Machines", ICPRAM 2012, section 3. Numbers in brackets are that paper's equations. The rows v of V are phi(x) without
labels, the score is f = w.v + b, and t are the targets. The objective, over the examples with a weight, is

    penalty / 2 ||w||^2 + mean of weight * loss(t, f).

Algorithm 1 (``asset``)
    Step j = 1, 2, ... on one example, with g the slope of its loss at f, by the iterate before (line 8: a hinge has
    slope where t f < 1, not where t f = 1):

        w <- (1 - eta_j penalty) w - eta_j weight g v,      b <- b - eta_j weight g,        eta_j = D_X / (D_G sqrt(j)),

    then w is projected on the ball of 1 / sqrt(penalty) and b on [-B, B]; D_X = sqrt(1 / penalty + B^2). Without an
    intercept B = 0. The output is the mean of the iterates j >= average_from, weighted by eta_j (27).

ASSET* (``asset_star``, section 3.3)
    eta_j = 1 / (penalty j), and no intercept. With one, which is not in the paper, it is the weight of a constant
    feature 1: penalised, and in the ball with the rest.

D_G (``estimated_scale``)
    The root of the mean of ||G||^2 over a sample at w = 0, b = 0. The paper divides by M^2: a misprint.

Examples of weight 0 are passed over, and are not counted.
"""

from typing import NamedTuple

import numpy as np

LOSSES = ("hinge", "squared_hinge", "epsilon_insensitive", "squared_epsilon_insensitive")


class Iterate(NamedTuple):
    """After step j."""

    j: int
    eta: float
    w: np.ndarray
    b: float


# ----------------------------------------------------------------------------------------------------
# Losses


def loss_value(loss, epsilon, t, f):
    if loss in ("hinge", "squared_hinge"):
        excess = np.maximum(0.0, 1.0 - t * f)
    else:
        excess = np.maximum(0.0, np.abs(f - t) - epsilon)
    return excess**2 if loss.startswith("squared") else excess


def slope(loss, epsilon, t, f):
    """A subgradient of the loss in the score f."""
    if loss == "hinge":
        return -t if t * f < 1.0 else 0.0
    if loss == "squared_hinge":
        return -2.0 * t * max(0.0, 1.0 - t * f)
    excess = max(0.0, abs(f - t) - epsilon)
    if loss == "epsilon_insensitive":
        return np.sign(f - t) if excess > 0.0 else 0.0
    return 2.0 * excess * np.sign(f - t)


def objective(V, targets, penalty, w, b=0.0, loss="hinge", epsilon=0.1, weights=None, penalise_intercept=False):
    """What the steps minimise."""
    weights = np.ones(len(V)) if weights is None else np.asarray(weights, dtype=np.float64)
    losses = weights * loss_value(loss, epsilon, targets, V @ w + b)
    squares = w @ w + (b * b if penalise_intercept else 0.0)
    return 0.5 * penalty * squares + losses.sum() / np.count_nonzero(weights)


# ----------------------------------------------------------------------------------------------------
# Algorithms


def estimated_scale(V, intercept, weights=None):
    """D_G, for slopes of -1 and 1."""
    weights = np.ones(len(V)) if weights is None else weights
    squares = [
        float(weight) ** 2 * (np.sum(np.square(v, dtype=np.float64)) + (1.0 if intercept else 0.0))
        for v, weight in zip(V, weights, strict=True)
        if weight > 0
    ]
    return np.sqrt(np.mean(squares))


def in_ball(x, radius):
    norm = np.linalg.norm(x)
    return x * (radius / norm) if norm > radius else x


def _examples(V, targets, order, weights):
    """j, v, t and weight of the examples with a weight, in order."""
    j = 0
    for i in order:
        weight = 1.0 if weights is None else float(weights[i])
        if weight != 0.0:
            j += 1
            yield j, V[i].astype(np.float64), float(targets[i]), weight


def asset_iterates(
    V, targets, order, penalty, intercept, intercept_bound, scale, weights=None, loss="hinge", epsilon=0.1, radius=None
):
    """Algorithm 1, lines 4 to 9: every iterate."""
    radius = 1.0 / np.sqrt(penalty) if radius is None else radius
    B = intercept_bound if intercept else 0.0
    D_X = np.sqrt(radius**2 + B**2)
    w, b = np.zeros(V.shape[1]), 0.0
    for j, v, t, weight in _examples(V, targets, order, weights):
        eta = D_X / (scale * np.sqrt(j))
        g = weight * slope(loss, epsilon, t, w @ v + b)
        w = in_ball((1.0 - eta * penalty) * w - eta * g * v, radius)
        b = float(np.clip(b - eta * g, -B, B))
        yield Iterate(j, eta, w, b)


def asset_star_iterates(V, targets, order, penalty, intercept, weights=None, loss="hinge", epsilon=0.1, radius=None):
    """Section 3.3: every iterate."""
    radius = 1.0 / np.sqrt(penalty) if radius is None else radius
    x = np.zeros(V.shape[1] + 1)  # w and b
    for j, v, t, weight in _examples(V, targets, order, weights):
        z = np.append(v, 1.0 if intercept else 0.0)
        eta = 1.0 / (penalty * j)
        g = weight * slope(loss, epsilon, t, x @ z)
        x = in_ball((1.0 - eta * penalty) * x - eta * g * z, radius)
        yield Iterate(j, eta, x[:-1], float(x[-1]))


def average(iterates, average_from):
    """Lines 10 to 12; the last iterate if ``average_from`` is None, or none of them is that late."""
    mean_w, mean_b, total = 0.0, 0.0, 0.0
    for j, eta, w, b in iterates:
        if average_from is not None and j >= average_from:
            mean_w = total / (total + eta) * mean_w + eta / (total + eta) * w
            mean_b = total / (total + eta) * mean_b + eta / (total + eta) * b
            total += eta
    return (mean_w, mean_b) if total > 0.0 else (w, b)


def asset(V, targets, order, penalty, intercept, intercept_bound, scale, average_from, **options):
    """Algorithm 1: w and b. Options: those of ``asset_iterates``."""
    return average(
        asset_iterates(V, targets, order, penalty, intercept, intercept_bound, scale, **options), average_from
    )


def asset_star(V, targets, order, penalty, intercept, average_from=None, **options):
    """ASSET*: w and b. Options: those of ``asset_star_iterates``."""
    return average(asset_star_iterates(V, targets, order, penalty, intercept, **options), average_from)
