"""Gauss-Legendre rules on [0, 1], and for which products of linear factors each of them is exact enough.

Integrands are ``p(t) = prod_l ((1 - t) b_l + t k_l)`` with factors in (0, 1]. With m nodes, the rule is exact up to
degree ``2m - 1``. Long before that it is exact enough, and how long follows from Trefethen's bound (2008):
if ``|p| <= top`` on the ellipse around [0, 1] whose parameter is rho, the error is at most
``32/15 top rho^(-2m) / (1 - rho^-2)``. The ellipse reaches ``delta = (rho + 1/rho - 2) / 4`` beyond both ends, and no
factor is larger there than ``max(b_l, k_l) (1 + delta g_l)`` with the relative gap
``g_l = |k_l - b_l| / max(b_l, k_l)``. By the inequality of the means,
``top <= prod_l max(b_l, k_l) (1 + delta s / n)^n`` with ``s = sum_l g_l``: the sum of the gaps alone says how many
nodes there must be, about ``sqrt(s log(1/tolerance)) / 2`` of them.

For few nodes the classical bound is better: the error is ``(m!)^4 / ((2m + 1) (2m)!^3)`` times a derivative of order
2m. That of the product is at most ``(2m)! e_2m(g)``, relative to the product of all ``max(b_l, k_l)``, with the
elementary symmetric polynomial ``e_2m(g) <= C(n, 2m) (s / n)^2m`` (Maclaurin's inequality).
"""

from math import exp, lgamma, log
from typing import NamedTuple

import numpy as np

_STEPS = np.linspace(0.02, 6.0, 600)  # log(rho) of the ellipses that are tried
_GROWTH = 1.25


class Rules(NamedTuple):
    """Rules with more and more nodes, an even number each, one after another."""

    nodes: np.ndarray
    weights: np.ndarray
    first: np.ndarray  # (n_rules + 1,) where the nodes of each rule begin
    limits: np.ndarray  # (n_rules,) sums of relative gaps up to which each is exact enough; the last one always is


def new_rules(n_factors: int, tolerance: float) -> Rules:
    """Rules for products of up to a number of factors, with errors relative to the largest such product."""
    counts, exact = [], _even(-(-n_factors // 2))
    count = 2
    while count < exact and _largest_sum(count, n_factors, tolerance) < n_factors:  # no sum is larger than that
        counts.append(count)
        count = _even(max(count + 2, int(_GROWTH * count)))
    counts.append(min(count, exact))
    made = [np.polynomial.legendre.leggauss(each) for each in counts]
    limits = np.array([_largest_sum(each, n_factors, tolerance) for each in counts])
    limits[-1] = np.inf if n_factors == 0 else n_factors
    return Rules(
        np.concatenate([(1.0 + nodes) / 2.0 for nodes, _ in made]),
        np.concatenate([weights / 2.0 for _, weights in made]),
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        limits,
    )


def _even(count: int) -> int:
    return max(2, count + count % 2)


def _largest_sum(n_nodes: int, n_factors: int, tolerance: float) -> float:
    """The largest sum of relative gaps for which one of the bounds is within the tolerance."""
    by_ellipses = _largest_sum_by_ellipses(n_nodes, n_factors, tolerance)
    return max(by_ellipses, _largest_sum_by_derivatives(n_nodes, n_factors, tolerance))


def _largest_sum_by_derivatives(n_nodes: int, n_factors: int, tolerance: float) -> float:
    order = 2 * n_nodes
    if order >= n_factors:  # the rule is exact
        return float(n_factors)
    log_factorials = 4 * lgamma(n_nodes + 1) - 2 * lgamma(order + 1)
    log_choices = lgamma(n_factors + 1) - lgamma(order + 1) - lgamma(n_factors - order + 1)
    log_error = log_factorials - log(order + 1) + log_choices  # of s = n
    return n_factors * exp((log(tolerance) - log_error) / order)


def _largest_sum_by_ellipses(n_nodes: int, n_factors: int, tolerance: float) -> float:
    """With the best of all ellipses."""
    room = np.log(tolerance * (1.0 - np.exp(-2.0 * _STEPS)) * 15.0 / 32.0) + 2.0 * n_nodes * _STEPS
    delta = (np.cosh(_STEPS) - 1.0) / 2.0
    sums = n_factors * np.expm1(np.minimum(room / n_factors, 700.0)) / delta
    return float(max(0.0, sums.max()))
