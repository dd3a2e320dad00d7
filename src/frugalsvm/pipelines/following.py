"""Statistics of features that follow a stream: those of every block of rows are joined with those before.

Of n rows before, with center c and scale s, and a block of m rows with center d and scale r,

    c' = c + w (d - c),     s'^2 = (1 - w) s^2 + w r^2 + w (1 - w) (d - c)^2,      w = m / (n + m)

are the statistics of all of them together. Rows before count for no more than a number of rows that the half-life
gives, so that old ones are forgotten.

A feature that was constant until now takes the statistics of the block as they are. One that is constant in the block
keeps its own: it may come back, and what it is then must look as it did before.
"""

import numpy as np

from frugalsvm.core.schedules import clock_of
from frugalsvm.pipelines.statistics import Statistics
from frugalsvm.pipelines.watching import RangeWatch, watch_of_all

__all__ = ["followed"]


def followed(
    before: Statistics, watch: RangeWatch, block: Statistics, half_life: float
) -> tuple[Statistics, RangeWatch]:
    """The statistics after a block, and the watch for the next one."""
    n_rows = np.minimum(watch.n_blocks * watch.block_rows, clock_of(half_life))
    share = watch.block_rows / (n_rows + watch.block_rows)
    step = block.center - before.center
    with np.errstate(over="ignore"):
        square = (1 - share) * before.scale**2 + share * block.scale**2 + share * (1 - share) * step**2
    begins = before.constant & (~block.constant | (step != 0))
    stays = block.constant & ~before.constant
    scale = np.where(begins, block.scale, np.where(stays | before.constant, before.scale, np.sqrt(square)))
    center = np.where(begins, block.center, np.where(stays, before.center, before.center + share * step))
    limit: np.ndarray = np.where(begins, np.asarray(block.limit), np.asarray(before.limit) / before.scale * scale)
    n_blocks = np.where(begins, 1, watch.n_blocks + ~stays)
    return Statistics(center, scale, limit, before.constant & block.constant), watch_of_all(n_blocks, watch.block_rows)
