"""Quantiles that hold: after training they are adjusted on some rows, and measured on others."""

from typing import Any

import numpy as np

from frugalsvm.metrics.collected import scores_for
from frugalsvm.streams.batch import Batch, labels_of, rows_of, rows_taken

QUANTILE_ROWS = 16_384  # that are enough: half of them to adjust quantiles, the others to measure them
_LEAST_ROWS = 40


def held_quantiles(model: Any, rows: Batch) -> dict[str, Any]:
    """Adjust the quantiles of a pipeline on half of some rows; returns which shares of the others are below each."""
    if rows.n_rows < _LEAST_ROWS:
        return {}
    # Not the numbers of --seed, which may have shuffled these rows: they would put a sorted file in order again.
    is_first = np.random.default_rng([0, 1]).permutation(rows.n_rows) < rows.n_rows // 2
    adjusting, others = rows_taken(rows, is_first), rows_taken(rows, ~is_first)
    X = model.estimator_rows(rows_of(adjusting))
    model.estimator_.adjust_quantiles(X, labels_of(adjusting), adjusting.weights)
    scores = scores_for(model)
    scores.add(labels_of(others), np.asarray(model.predict(rows_of(others))))
    found = scores.results()
    measured = {
        "quantiles": [each["quantile"] for each in found["quantiles"]],
        "below_quantiles": [each["below"] for each in found["quantiles"]],
        "quantile_rows": found["examples"],
    }
    return measured | ({"coverage": found["coverage"]} if "coverage" in found else {})
