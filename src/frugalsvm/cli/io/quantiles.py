"""Quantiles that hold: after training they are adjusted on some rows, and measured on others."""

from typing import Any

import numpy as np

from frugalsvm.cli.options import TrainOptions
from frugalsvm.metrics.collected import scores_for
from frugalsvm.streams.batch import labels_of, rows_of, rows_taken
from frugalsvm.streams.in_memory import RowSampler

__all__ = ["held_quantiles", "sampler_for"]

_ROWS = 16_384  # half of them to adjust quantiles, the others to measure them
_LEAST_ROWS = 40


def sampler_for(options: TrainOptions) -> RowSampler | None:
    """What keeps rows of a stream of which quantiles are learned, until its end."""
    learns_quantiles = options.quantile is not None or options.loss == "pinball"
    return RowSampler(_ROWS, options.seed) if learns_quantiles else None


def held_quantiles(model: Any, sampler: RowSampler) -> dict[str, Any]:
    """Adjust the quantiles of a pipeline, and tell which shares of other rows are below each of them."""
    rows = sampler.sample().rows
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
