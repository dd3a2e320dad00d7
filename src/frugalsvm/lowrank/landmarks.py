"""Which rows become landmarks of the Nystroem map.

``uniform`` rows cost nothing. ``kmeans++`` draws each one with a probability proportional to its squared distance from
those drawn before, which covers the data better. ``kmeans`` moves random rows to the means of the rows around them,
three times. Both look at a sample of 20 rows for each landmark.
"""

import numpy as np

SAMPLE_PER_LANDMARK = 20
_LLOYD_ITERATIONS = 3
_ASSIGNED = 4096  # rows whose distances are in memory at a time


def place_landmarks(how, rows, n_landmarks, rng):
    """Landmarks from a random sample of dense rows, as many as there are rows at most."""
    if how == "uniform" or n_landmarks >= len(rows):
        return rows[:n_landmarks]
    if how == "kmeans++":
        return rows[_spread_out(rows, n_landmarks, rng)]
    centers = rows[:n_landmarks]
    for _ in range(_LLOYD_ITERATIONS):
        centers = _means(rows, centers)
    return centers


def _spread_out(rows, n_landmarks, rng):
    """Places of rows drawn one after the other, with probabilities proportional to the squared distance (k-means++)."""
    norms = np.einsum("ij,ij->i", rows, rows)
    chosen = [int(rng.integers(len(rows)))]
    distances = np.full(len(rows), np.inf)
    for _ in range(n_landmarks - 1):
        last = chosen[-1]
        distances = np.minimum(distances, np.maximum(norms + norms[last] - 2.0 * (rows @ rows[last]), 0.0))
        distances[last] = 0.0
        totals = np.cumsum(distances, dtype=np.float64)
        if totals[-1] <= 0.0:  # there are no more distinct rows
            break
        chosen.append(int(np.searchsorted(totals, rng.random() * totals[-1], side="right")))
    return chosen


def _means(rows, centers):
    """The mean of the rows that are nearest to each center; a center without rows stays."""
    half_norms = 0.5 * np.einsum("ij,ij->i", centers, centers)
    sums = np.zeros(centers.shape)
    counts = np.zeros(len(centers))
    for start in range(0, len(rows), _ASSIGNED):
        part = rows[start : start + _ASSIGNED]
        nearest = (part @ centers.T - half_norms).argmax(axis=1)
        order = np.argsort(nearest, kind="stable")
        present, firsts = np.unique(nearest[order], return_index=True)
        sums[present] += np.add.reduceat(part[order], firsts, axis=0, dtype=np.float64)
        counts += np.bincount(nearest, minlength=len(centers))
    filled = counts > 0
    means = centers.copy()
    means[filled] = sums[filled] / counts[filled, None]
    return means
