"""Quantiles of every feature of a stream of dense rows, from a few thousand values of each.

Rows are kept until there is a block of 4096 of them. Of its values in order, feature by feature, every 16th stays, from
a random one of the first 16 on: a summary of 256 values. Two summaries of equally many rows become one: of their values
in order, every second stays, from a random one of the first two. So there is a summary for each binary digit 1 of the
number of blocks, and its length grows with the logarithm of the stream's. Ranks are wrong by some 0.15 % of all rows
(root mean square), where a random sample of 10 000 rows is wrong by 0.5 %. What is random depends on the number of the
block alone: the sketch does not depend on the batches that rows come in, and is exact for less than a block.

P. K. Agarwal et al. Mergeable summaries. ACM Transactions on Database Systems 38(4), 2013, section 3.2.
"""

from typing import Annotated, NamedTuple

import numpy as np

from frugalsvm._stored import is_finite, stored
from frugalsvm.pipelines.sampling import random_bits

BLOCK_ROWS = 4096
KEPT = 256  # values in a summary
STRIDE = BLOCK_ROWS // KEPT  # rows that a value of the summary of one block stands for
MOST_LEVELS = 48  # summaries of more rows than any stream has


@stored("quantile-sketch", checked_within=("recent", "summaries"))
class QuantileSketch(NamedTuple):
    n_blocks: Annotated[int, (0, 2**MOST_LEVELS)]
    recent: np.ndarray  # (n_features, n_recent) values of the rows that are no block yet
    summaries: np.ndarray  # (n_features, n_summaries * KEPT), those of more rows first

    def is_sound(self, sizes) -> bool:
        """Whether there are as many values as the number of blocks says."""
        arrays = (self.recent, self.summaries)
        if not all(type(each) is np.ndarray and each.ndim == 2 and each.dtype.kind == "f" for each in arrays):
            return False
        sizes["f"] = len(self.recent)
        n_summarized = KEPT * int(self.n_blocks).bit_count()
        right = self.recent.shape[1] < BLOCK_ROWS and self.summaries.shape == (len(self.recent), n_summarized)
        return right and all(map(is_finite, arrays))


def new_sketch(n_features: int, dtype) -> QuantileSketch:
    """A sketch that has seen nothing."""
    nothing = np.empty((n_features, 0), dtype)
    return QuantileSketch(0, nothing, nothing)


def sketch_after(sketch: QuantileSketch, X: np.ndarray) -> QuantileSketch:
    """The sketch after the rows of ``X``; the one before stays as it is."""
    n_blocks, recent, summaries = sketch
    start = 0
    while recent.shape[1] + len(X) - start >= BLOCK_ROWS:
        stop = start + BLOCK_ROWS - recent.shape[1]
        block = np.concatenate([recent, X[start:stop].T], axis=1)
        summaries = _with_block(n_blocks, summaries, block)
        n_blocks, recent, start = n_blocks + 1, recent[:, :0], stop
    return QuantileSketch(n_blocks, np.concatenate([recent, X[start:].T], axis=1), summaries)


def _with_block(n_blocks, summaries, block):
    """The summaries after one more block: as a binary number is counted up, summaries of equally many rows are joined.

    Types are those of the block, in which rows of all blocks so far have a place.
    """
    random = int(random_bits(np.array([n_blocks]))[0])
    made = np.sort(block, axis=1)[:, random % STRIDE :: STRIDE]
    random //= STRIDE
    while n_blocks & 1:
        pair = np.concatenate([summaries[:, -KEPT:], made], axis=1)
        pair.sort(axis=1)
        made, summaries = pair[:, random & 1 :: 2], summaries[:, :-KEPT]
        n_blocks, random = n_blocks >> 1, random >> 1
    return np.concatenate([summaries, made], axis=1)


def weighted_values(sketch: QuantileSketch) -> tuple[np.ndarray, np.ndarray]:
    """Values of every feature, shape (n_features, n_values), and how many rows each stands for, shape (n_values,)."""
    n_blocks = int(sketch.n_blocks)
    levels = [level for level in reversed(range(n_blocks.bit_length())) if n_blocks >> level & 1]
    weights = np.repeat(
        [1.0, *(STRIDE * 2.0**level for level in levels)], [sketch.recent.shape[1]] + [KEPT] * len(levels)
    )
    return np.concatenate([sketch.recent, sketch.summaries], axis=1), weights
