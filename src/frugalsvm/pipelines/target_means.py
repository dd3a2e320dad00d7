"""Means of targets in categories, shrunk towards the mean of all: what text of many values tells about a target.

A category of few rows says little. With the variance ``s2`` of targets within categories and ``t2`` of true means
between them, the best estimate of a category's mean from ``n`` rows is the overall mean plus ``n / (n + s2 / t2)`` of
its difference from that (empirical Bayes; both variances are those of a one-way analysis of variance). Rows that a
machine learns from get the means of other rows, of all folds but their own: no row sees its own target.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

N_FOLDS = 5
_MOST_CLASSES = 8  # of which means are taken: those of most rows
_LEAST_CORRELATION = 3.0  # in standard errors of one that is 0: less tells nothing about the target


class CategoryMeans(NamedTuple):
    """Means by category, for new rows; and for each of the rows that they are from, those of other rows."""

    by_category: NDArray  # (n_categories, n_targets)
    out_of_fold: NDArray  # (n_rows, n_targets)
    overall: NDArray  # (n_targets,) means of all rows


class _Sums(NamedTuple):
    """Sums over rows, the last axis over targets."""

    weights: NDArray  # (..., n_categories)
    targets: NDArray  # (..., n_categories, n_targets)
    squares: NDArray  # (..., n_targets)


def numbers_of(y: Any) -> NDArray:
    """Numbers whose means are taken, with columns: floats themselves, or for each of the classes who belongs to it."""
    y = np.asarray(y)
    if y.dtype.kind != "f":
        return class_indicators(y)
    return y.astype(np.float64, copy=False).reshape(len(y), -1)


def class_indicators(labels: NDArray) -> NDArray:
    """1.0 for members of a class, in a column for each; the second of two is enough, and the largest of many."""
    classes, places, counts = np.unique(labels, return_inverse=True, return_counts=True)
    if len(classes) <= 2:
        return (places == len(classes) - 1).astype(np.float64)[:, None]
    leading = np.sort(np.argsort(-counts, kind="stable")[:_MOST_CLASSES])
    return (places[:, None] == leading).astype(np.float64)


def encoded_means(codes: NDArray, targets: NDArray, weights: NDArray, n_categories: int) -> tuple[NDArray, NDArray]:
    """Standardized features by category, and those for the rows themselves: means, and the logarithm of the count.

    Features that tell nothing about the targets of rows that they are not from are left out, or 0 if all are.
    """
    weights = normalized(weights)
    found = means_of_categories(codes, targets, weights, n_categories)
    sizes = np.log(np.maximum(np.bincount(codes, weights, n_categories), 1.0))  # unknown ones are like single ones
    own = np.column_stack([found.out_of_fold, sizes[codes]])
    center = np.append(found.overall, np.average(sizes[codes], weights=weights))
    spread = np.sqrt(np.average((own - center) ** 2, axis=0, weights=weights))
    scale = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0)
    own, table = (own - center) * scale, (np.column_stack([found.by_category, sizes]) - center) * scale
    tells = _tells(own, targets - found.overall, weights)
    if not tells.any():
        own, table, tells[0] = 0.0 * own, 0.0 * table, True
    return table[:, tells].astype(np.float32), own[:, tells].astype(np.float32)


def normalized(weights: NDArray) -> NDArray:
    """Weights with a mean of 1 where they are positive, in whatever unit they come."""
    return weights / weights[weights > 0].mean() if weights.any() else weights + 1.0


def _tells(features: NDArray, targets: NDArray, weights: NDArray) -> NDArray:
    """Which standardized features are correlated with a target, means with their own: more than by chance."""
    n_rows = weights.sum() ** 2 / (weights**2).sum()  # as many as count
    spread = np.sqrt(np.average(targets**2, axis=0, weights=weights))
    found = (features * weights[:, None]).T @ targets / weights.sum() * np.sqrt(n_rows)
    agrees = found > _LEAST_CORRELATION * np.maximum(spread, 1e-300)
    opposite = found < -_LEAST_CORRELATION * np.maximum(spread, 1e-300)
    return np.append(np.diag(agrees), (agrees[-1] | opposite[-1]).any())


def means_of_categories(codes: NDArray, targets: NDArray, weights: NDArray, n_categories: int) -> CategoryMeans:
    """Shrunk means of the columns of ``targets``, by categories from 0 on; rows of weight 0 do not count."""
    folds, overall = _folds(weights), np.average(targets, axis=0, weights=weights)
    each = _sums(codes, targets - overall, weights, n_categories, folds)  # squares of large numbers would lose digits
    whole = _Sums(*(part.sum(axis=0) for part in each))
    others = [_differences(_without(whole, each, fold)) for fold in range(N_FOLDS)]
    out_of_fold = overall + np.stack(others)[folds, codes]
    return CategoryMeans(overall + _differences(whole), out_of_fold, overall)


def _folds(weights: NDArray) -> NDArray:
    """The fold of each row, at random and always the same; rows without weight change nothing."""
    folds, counted = np.zeros(len(weights), np.int64), np.flatnonzero(weights)
    folds[counted] = np.random.default_rng(0).permutation(len(counted)) % N_FOLDS
    return folds


def _sums(codes: NDArray, targets: NDArray, weights: NDArray, n_categories: int, folds: NDArray) -> _Sums:
    """For each fold."""
    places, n_places = folds * n_categories + codes, N_FOLDS * n_categories
    sums = [np.bincount(places, weights * target, n_places) for target in targets.T]
    squares = [np.bincount(folds, weights * target**2, N_FOLDS) for target in targets.T]
    return _Sums(
        np.bincount(places, weights, n_places).reshape(N_FOLDS, n_categories),
        np.stack(sums, axis=-1).reshape(N_FOLDS, n_categories, -1),
        np.stack(squares, axis=-1),
    )


def _without(whole: _Sums, each: _Sums, fold: int) -> _Sums:
    """The sums over all folds but one."""
    return _Sums(*(total - part[fold] for total, part in zip(whole, each, strict=True)))


def _differences(sums: _Sums) -> NDArray:
    """By how much means of categories differ from that of all rows, shrunk; nothing where there are no rows."""
    n_rows, counts = max(sums.weights.sum(), 1e-300), sums.weights[:, None]  # a fold may have all rows
    overall = sums.targets.sum(axis=0) / n_rows
    means = np.divide(sums.targets, counts, out=np.zeros_like(sums.targets), where=counts > 0)
    between = (counts * (means - overall) ** 2).sum(axis=0)
    within = sums.squares - n_rows * overall**2 - between
    n_seen = np.count_nonzero(counts)
    noise = np.maximum(within, 0.0) / max(n_rows - n_seen, 1)
    spread = (between - (n_seen - 1) * noise) / max(n_rows - (counts**2).sum() / n_rows, 1e-300)
    trust = np.maximum(spread, 0.0) * counts
    share = np.divide(trust, trust + noise, out=np.zeros_like(trust), where=trust > 0)
    return np.where(counts > 0, share * (means - overall), 0.0)
