"""Several expansions as one inside a budget, in plain numpy: the oracle of `frugalsvm.budgeted.model_averaging`.

The mean of functions ``f_k = sum_j a_kj K(x_kj, .)`` by the examples n_k that each was learned from has the vectors of
all of them with the coefficients ``(n_k / n) a_kj``; a vector that several have is one. If these are more than the
budget, then, as in section 6 of the BSGD paper,

* merging: the smallest vector and its best partner become one, until the budget is kept. Then what was lost on the way,
  ``mean - merged``, is projected on the vectors that are left, with ``DAMPING`` on the diagonal of their kernel matrix;
* projection: the largest ones stay, and the mean is projected on their span, with a ridge;
* removal: the largest ones stay.
"""

import numpy as np

from oracles.bsgd import best_merge, first_tied, kernel_matrix, merge_factors

DAMPING = 0.1
RIDGE = 1e-6


def mean_expansion(parts, n_seen):
    """Vectors and coefficients of the mean; ``parts`` are pairs of rows and coefficients (n, n_outputs)."""
    total, found = sum(n_seen), {}
    for (rows, coef), n in zip(parts, n_seen, strict=True):
        for row, values in zip(rows, coef, strict=True):
            key = tuple(row.tolist())
            found[key] = found.get(key, 0.0) + n / total * values
    kept = {key: values for key, values in found.items() if np.any(values)}
    return np.array(list(kept)), np.array(list(kept.values()))


def combined_oracle(parts, n_seen, budget, maintenance, **kernel):
    """Rows and coefficients of the model, in any order, and the norm of what the budget took from the mean."""
    rows, coef = mean_expansion(parts, n_seen)
    if len(rows) <= budget:
        return rows, coef, 0.0
    new_rows, new_coef = {"merge": _merged, "project": _projected, "remove": _removed}[maintenance](
        rows, coef, budget, kernel
    )
    all_rows, difference = np.concatenate([rows, new_rows]), np.concatenate([coef, -new_coef])
    squared = np.sum(difference * (kernel_matrix(all_rows, all_rows, **kernel) @ difference))
    return new_rows, new_coef, float(np.sqrt(max(squared, 0.0)))


def _sizes(rows, coef, kernel):
    own = np.array([kernel_matrix(row, row, **kernel)[0, 0] for row in rows])
    return np.sum(coef**2, axis=1) * own


def _largest(rows, coef, budget, kernel):
    return np.argsort(-_sizes(rows, coef, kernel), kind="stable")[:budget]


def _removed(rows, coef, budget, kernel):
    kept = _largest(rows, coef, budget, kernel)
    return rows[kept], coef[kept]


def _projected(rows, coef, budget, kernel):
    basis = rows[_largest(rows, coef, budget, kernel)]
    gram = kernel_matrix(basis, basis, **kernel)
    gram = gram + RIDGE * np.diag(np.diag(gram))
    return basis, np.linalg.solve(gram, kernel_matrix(basis, rows, **kernel) @ coef)


def _merged(rows, coef, budget, kernel):
    left, values = list(rows), list(coef)
    while len(left) > budget:
        m = int(np.argmin([value @ value for value in values]))
        n, h = _best_partner(left, values, m, kernel["gamma"])
        u, v = merge_factors(h, _log_kappa(left, m, n, kernel["gamma"]))
        values[n] = u * values[m] + v * values[n]
        left[n] = h * left[m] + (1.0 - h) * left[n]
        del left[m], values[m]
    left, values = np.array(left), np.array(values)
    gram = kernel_matrix(left, left, **kernel)
    lost = kernel_matrix(left, rows, **kernel) @ coef - gram @ values
    return left, values + np.linalg.solve(gram + DAMPING * np.eye(len(left)), lost)


def _best_partner(rows, values, m, gamma):
    """The partner of least degradation and the point between; with one output, of the same sign if there is any."""
    others = [n for n in range(len(rows)) if n != m]
    if len(values[m]) == 1:
        others = [n for n in others if np.sign(values[n][0]) == np.sign(values[m][0])] or others
    merges = [
        best_merge(values[m] @ values[m], values[n] @ values[n], values[m] @ values[n], _log_kappa(rows, m, n, gamma))
        for n in others
    ]
    chosen = first_tied([degradation for _, degradation in merges])
    return others[chosen], merges[chosen][0]


def _log_kappa(rows, m, n, gamma):
    return float(-gamma * np.sum((rows[m] - rows[n]) ** 2))
