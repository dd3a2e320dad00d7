"""Inverses of Cholesky factors by the threads of a crew, which sweep over a matrix: see `frugalsvm.core.sweep`."""

from typing import NamedTuple

import numpy as np

from frugalsvm.compiling.crew import code_of, share, task
from frugalsvm.compiling.functions import entry, smaller
from frugalsvm.core.factor import Library
from frugalsvm.core.sweep import is_first_block_inverted, is_stage_part_done, n_blocks_of
from frugalsvm.lowrank.gram import STRIP

_ZERO = np.float32(0.0)


class Sweep(NamedTuple):
    """A symmetric matrix, of which only what is above the diagonal is looked at, and memory for its parts."""

    library: Library
    matrix: np.ndarray  # (n * n,) float64; becomes ``L^-T``
    n: int
    width: int  # of blocks
    panel: np.ndarray
    integers: np.ndarray  # (n_parts, LINE)
    is_too_coarse: np.ndarray  # (1,)


@entry
def copy_upper(crew, matrix, shift, out):
    """Copy what is above the diagonal of a matrix, and the diagonal with a number added; zeros are below."""
    arguments = matrix, shift, out
    share(crew, code_of(_copy_part, arguments), -(-len(matrix) // STRIP), arguments)


@task
def _copy_part(matrix, shift, out, part):
    first, last = part * STRIP, smaller((part + 1) * STRIP, len(matrix))
    for i in range(first, last):
        own, target = matrix[i], out[i]
        for j in range(i):
            target[j] = 0.0
        target[i] = own[i] + shift
        for j in range(i + 1, own.size):
            target[j] = own[j]


@entry
def sweep_together(crew, sweep, is_only_factored):
    """Sweep over a matrix ``L L'``; False if it is not positive definite.

    What is ``only factored`` has no inverse afterwards.
    """
    if not is_first_block_inverted(sweep.library, sweep.matrix, sweep.n, sweep.width, sweep.integers[0]):
        return False
    n_blocks = n_blocks_of(sweep.n, sweep.width)
    for stage in range(2 * n_blocks):
        k = stage // 2
        rest = n_blocks - k - 1
        first, count = 0, n_blocks - 1 if stage % 2 == 0 else rest * k + rest * (rest + 1) // 2
        if is_only_factored:  # what is left of the diagonal comes first in one stage, and last in the other
            first, count = (k, rest) if stage % 2 == 0 else (0, rest * (rest + 1) // 2)
        arguments = sweep, stage, first
        share(crew, code_of(_stage_part, arguments), count, arguments)
        if sweep.is_too_coarse[0] != 0:
            return False
    return True


@task
def _stage_part(sweep, stage, first, part):
    if not is_stage_part_done(
        sweep.library, sweep.matrix, sweep.n, sweep.width, sweep.panel, stage, first + part, sweep.integers[part]
    ):
        sweep.is_too_coarse[0] = 1


@entry
def write_single(crew, matrix, upper, lower):
    """An upper triangle in float32, and transposed."""
    arguments = matrix, upper, lower
    share(crew, code_of(_write_part, arguments), -(-len(matrix) // STRIP), arguments)


@task
def _write_part(matrix, upper, lower, part):
    first, last = part * STRIP, smaller((part + 1) * STRIP, len(matrix))
    for i in range(first, last):
        for j in range(len(matrix)):
            upper[i, j] = np.float32(matrix[i, j]) if j >= i else _ZERO
    for j in range(len(matrix)):
        for i in range(first, last):
            lower[j, i] = upper[i, j]
