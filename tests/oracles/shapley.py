"""Shapley values of kernel expansions: by their definition, and by the exact rule, in plain numpy."""

from itertools import combinations
from math import factorial

import numpy as np

__all__ = ["by_exact_rule", "by_subsets", "factors_of"]


def factors_of(kernel, gamma, rows, vectors, groups=None):
    """Factors (n_rows, n_vectors, n_players) of a product kernel; a player is a feature or a group of them."""
    x, v = rows[:, None, :], vectors[None, :, :]
    terms = {
        "rbf": lambda: (x - v) ** 2,
        "laplacian": lambda: np.abs(x - v),
        "chi2": lambda: (x - v) ** 2 / (x + v),
    }[kernel]()
    groups = [[f] for f in range(rows.shape[1])] if groups is None else groups
    return np.exp(-gamma * np.stack([terms[:, :, group].sum(axis=2) for group in groups], axis=2))


def by_subsets(coefficients, own, others):
    """Shapley's formula for one row: the gain of each player in all sets of others, weighted by orders.

    ``own`` (n_vectors, n_players) are the factors of the row, ``others`` (n_background, n_vectors, n_players) those of
    players that are not there. Values have the shape (n_players, n_outputs).
    """
    n_players = own.shape[1]

    def value(players):
        present = np.isin(np.arange(n_players), players)
        products = np.where(present, own, others).prod(axis=2)  # (n_background, n_vectors)
        return (products @ coefficients.T).mean(axis=0)

    values = np.zeros((n_players, len(coefficients)))
    for p in range(n_players):
        rest = [q for q in range(n_players) if q != p]
        for size in range(n_players):
            weight = factorial(size) * factorial(n_players - size - 1) / factorial(n_players)
            for players in combinations(rest, size):
                values[p] += weight * (value([*players, p]) - value(list(players)))
    return values


def by_exact_rule(coefficients, own, others):
    """The same by Gauss-Legendre quadrature with so many nodes that it is exact, products in logarithms."""
    n_players = own.shape[1]
    nodes, weights = np.polynomial.legendre.leggauss(-(-n_players // 2))
    values = np.zeros((n_players, len(coefficients)))
    for other in others:
        integrals = np.zeros_like(own)
        for t, weight in zip((1 + nodes) / 2, weights / 2, strict=True):
            logs = np.log((1 - t) * other + t * own)
            integrals += weight * np.exp(logs.sum(axis=1, keepdims=True) - logs)
        values += ((own - other) * integrals).T @ coefficients.T / len(others)
    return values
