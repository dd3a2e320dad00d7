"""The one-class SVM as quantile regression, which the batch solver has.

B. Schoelkopf et al., "Estimating the support of a high-dimensional distribution", Neural Computation 13, 2001, minimize

    1/2 ||w||^2 - rho + 1 / (nu n) sum_i max(0, rho - w . v_i).

With f_i = w . v_i - rho, and m the mean of all v_i, ``-rho`` is ``mean(f) - w . m``. The kinks and ``mean(f)`` are a
pinball loss, ``max(0, -f) + nu f``, of which 1 - nu is the quantile and 0 the target; ``1/2 ||w||^2 - w . m`` is
``1/2 ||w - m||^2`` less a constant. So, with u = w - m and b = -rho, it is

    1 / nu (nu / 2 ||u||^2 + mean of pinball(t_i, u . v_i + b)) - 1/2 ||m||^2,        t_i = -m . v_i:

a problem of the solver, with targets that the rows make themselves. Weights of rows are such that their mean is 1.

The exact solution is a combination of rows with scores up to rho, the support vectors: nu n of them and a few.
Landmarks that are spread over all rows have few of these where nu is small. So a first solution tells which rows have
low scores, and the landmarks of a second are spread over those, too.
"""

import numpy as np

from frugalsvm.arrays.sources import dense_rows
from frugalsvm.lowrank.backends.compiled import BLOCK_ROWS
from frugalsvm.lowrank.landmarks import SAMPLE_PER_LANDMARK, place_landmarks
from frugalsvm.lowrank.maps import linear_values, raw_rows, raw_weights, whitening_of, width_of

_BEYOND = 1.5  # times as many rows as shall be outliers: a first solution does not know the border well


def mean_of_features(feature_map, X, weights):
    """m: the weighted mean of the features of rows, in float64."""
    total, raw = np.zeros(width_of(feature_map)), np.empty((BLOCK_ROWS, width_of(feature_map)), np.float32)
    for start in range(0, X.shape[0], BLOCK_ROWS):
        part = X[start : start + BLOCK_ROWS]
        total += weights[start : start + BLOCK_ROWS] @ raw_rows(feature_map, part, raw[: part.shape[0]])
    return mean_of_sums(feature_map, total, weights.sum(dtype=np.float64))


def mean_of_sums(feature_map, total, weight):
    """m, from the weighted sum of raw features, and of the weights."""
    mean, whitening = total / weight, whitening_of(feature_map)
    return mean if whitening is None else whitening.T @ mean


def targets_of_rows(feature_map, X, mean, threads):
    """t, shape (1, n_rows)."""
    values = linear_values(feature_map, X, raw_weights(feature_map, mean[None]).T, threads)
    return np.ascontiguousarray(-values.T, np.float32)


def share_at_border(nu, n_landmarks, n_rows):
    """The share of all rows, with the lowest scores, that landmarks at the border are chosen from."""
    return min(1.0, max(_BEYOND * nu, 2.0 * n_landmarks / n_rows))


def rows_at_border(X, scores, nu, n_rows, rng):
    """Rows with low scores, spread out among all that may be support vectors."""
    n_low = min(len(scores), max(n_rows, int(_BEYOND * nu * len(scores))))
    low = rng.permutation(np.argpartition(scores, n_low - 1)[:n_low])[: SAMPLE_PER_LANDMARK * n_rows]
    return place_landmarks("kmeans++", dense_rows(X[low]), n_rows, rng)
