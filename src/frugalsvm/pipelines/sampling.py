"""A random sample of the rows of a stream, which does not depend on the batches they come in."""

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse, vstack

from frugalsvm._stored import Count, is_matrix, stored

SAMPLE_ROWS = 10_000


@stored("row-sample", checked_within=("rows",))
class RowSample(NamedTuple):
    rows: Any  # array or CSR matrix
    n_seen: Count

    def is_sound(self, sizes) -> bool:
        """Whether there are not more rows than were seen."""
        sizes["f"] = self.rows.shape[1]
        return is_matrix(self.rows) and self.rows.shape[0] <= self.n_seen


def sampled(sample: RowSample | None, X: Any) -> RowSample:
    """The sample after the rows of ``X``: every row so far is in it with the same probability (reservoir sampling)."""
    if sample is None:
        sample = RowSample(X[:0], 0)
    n_before, n_new = sample.n_seen, X.shape[0]
    whole = vstack([sample.rows, X], format="csr") if issparse(X) else np.concatenate([sample.rows, X])
    n_kept = min(n_before, SAMPLE_ROWS)
    n_filling = min(SAMPLE_ROWS - n_kept, n_new)
    indices = np.arange(n_kept + n_filling)
    later = np.arange(n_filling, n_new)
    slots = random_bits(n_before + later) % (n_before + later + 1).astype(np.uint64)
    chosen = slots < SAMPLE_ROWS
    indices[slots[chosen].astype(np.int64)] = n_kept + later[chosen]  # the last one that wants a slot has it
    return RowSample(whole[indices], n_before + n_new)


def random_bits(indices) -> np.ndarray:
    """64 random bits for each row (or block of rows) of a stream, by its index (splitmix64)."""
    z = (indices.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
