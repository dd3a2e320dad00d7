"""Machines of cells in few bits: rows and coefficients as codes, each column of a cell on a grid of its own.

A value is ``low + step * code``. A column that is the same for all rows of a cell needs no code, and one of equally
spaced values (a category's indicator, a count, an integer) needs as many bits as it has values, and is exact. All
others are rounded to levels between their least and largest value in the cell. Coefficients are further columns: those
of an output that is constant in a cell cost nothing.

Rows are bit strings one after the other, those of a cell from a new word on.
"""

from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np

from frugalsvm._stored import stored, within
from frugalsvm.cells.phases import padded_size
from frugalsvm.cells.scores import load_rows
from frugalsvm.cells.solver import Cells
from frugalsvm.cells.tree import Tree
from frugalsvm.compiling.functions import compiled, entry, inlined
from frugalsvm.core.kernels import pairing_of
from frugalsvm.core.pairing import row_norm

WORD_BITS = 64
COEF_BITS = 8  # of a coefficient
_VALUE_BITS = 8  # of a value, at most
_MOST_BITS = 16  # that can be read
_OFF_GRID = 0.05  # of a step, that values may be beside a grid: rounding errors


@stored("coded-cells")
class CodedCells(NamedTuple):
    """A tree and the machines in its cells, of fewer rows than were learned, or less exact ones."""

    tree: Tree  # without members; ``starts`` counts rows that are kept
    size: Annotated[int, (1, 2**31)]  # most rows of a cell
    words: Annotated[np.ndarray, "u w"]  # (n_words,) uint64
    firsts: Annotated[np.ndarray, "i k"]  # (n_cells,) the words that cells begin with
    widths: Annotated[np.ndarray, "t kc"]  # (n_cells, n_features + n_outputs) int8, bits of each column
    lows: Annotated[np.ndarray, "d kc"]  # (n_cells, n_features + n_outputs)
    steps: Annotated[np.ndarray, "e kc"]  # (n_cells, n_features + n_outputs) float32
    intercepts: Annotated[np.ndarray, "e ko"]  # (n_cells, n_outputs) float32
    is_centered: Annotated[int, (0, 1)]  # whether the kernel sees rows relative to the middle of their columns' ranges

    def is_sound(self, sizes) -> bool:
        """Whether every row of every cell has its bits."""
        n_cells, n_columns = self.tree.n_cells, self.tree.directions.shape[1] + sizes["o"]
        if sizes["k"] != n_cells or sizes["c"] != n_columns or not within(self.widths, _MOST_BITS + 1):
            return False
        if (
            len(self.tree.members)
            or not within(self.tree.sizes, self.size + 1)
            or not within(self.firsts, sizes["w"] + 1)
        ):
            return False
        ends = self.firsts + words_for(self.tree.sizes, row_bits(self.widths))
        return within(ends, sizes["w"] + 1) and not (self.steps < 0).any()


def row_bits(widths: np.ndarray) -> np.ndarray:
    """Bits of a row in each cell."""
    return widths.sum(axis=1, dtype=np.int64)


def words_for(counts: np.ndarray, bits: np.ndarray) -> np.ndarray:
    """Words for ``n_rows`` rows of ``n_bits`` bits each."""
    return -(-counts * bits // WORD_BITS)


def column_grids(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Widths, lows and steps of the columns of a cell's rows."""
    values = np.sort(rows, axis=0).astype(np.float64)
    low, span = values[0], values[-1] - values[0]
    gaps = np.diff(values, axis=0)
    finest = np.min(gaps, axis=0, where=gaps > 0, initial=np.inf)
    most = 2**_VALUE_BITS - 1
    n_steps = np.round(np.minimum(span / finest, most))
    spacing = np.where(n_steps > 0, span / np.maximum(n_steps, 1), 1.0)
    places = (values - low) / spacing
    is_grid = (np.abs(places - np.round(places)) <= _OFF_GRID).all(axis=0)
    n_steps = np.where(is_grid, n_steps, most)
    widths = np.ceil(np.log2(n_steps + 1))
    return widths.astype(np.int8), low, (span / np.maximum(n_steps, 1)).astype(np.float32)


def expanded(trees: Sequence[CodedCells], dtype: Any) -> tuple[np.ndarray, list[Cells]]:
    """The rows that all trees keep, one tree after the other, and the same machines without codes."""
    rows, plain, n_before = [], [], 0
    for coded in trees:
        n_rows, n_outputs = int(coded.tree.starts[-1]), coded.intercepts.shape[1]
        values = np.empty((n_rows, coded.widths.shape[1]))
        _decode(coded, values)
        rows.append(values[:, :-n_outputs].astype(dtype))
        coef = np.ascontiguousarray(values[:, -n_outputs:].T, dtype)
        middles = coded.lows + 0.5 * coded.steps.astype(np.float64) * (2.0**coded.widths - 1.0)
        centers = coded.is_centered * np.ascontiguousarray(middles[:, :-n_outputs])
        tree = coded.tree._replace(members=n_before + np.arange(n_rows))
        plain.append(Cells(tree, coded.size, coef, coded.intercepts.astype(np.float64), centers))
        n_before += n_rows
    return np.concatenate(rows), plain


@entry
def _decode(cells, values):
    """All rows with their coefficients."""
    for cell in range(cells.tree.starts.size - 1):
        position = cells.firsts[cell] * WORD_BITS
        for i in range(cells.tree.starts[cell], cells.tree.starts[cell + 1]):
            for c in range(values.shape[1]):
                width = np.int64(cells.widths[cell, c])
                code = code_at(cells.words, position, width)
                values[i, c] = cells.lows[cell, c] + np.float64(cells.steps[cell, c]) * code
                position += width


@load_rows.implement(CodedCells)
def _load_codes(cells, kernel, rows, cell, first, n, storage, weights, center):
    """Decode rows and coefficients of a cell, see `load_rows`."""
    n_features, n_columns = center.size, cells.widths.shape[1]
    stride, position = padded_size(n), cells.firsts[cell] * WORD_BITS + first * bits_of_row(cells, cell)
    for f in range(n_features):
        center[f] = middle_of(cells, cell, f)
        for i in range(n, stride):
            storage.columns[f * stride + i] = 0.0
    for i in range(n):
        for c in range(n_columns):
            width = np.int64(cells.widths[cell, c])
            code = code_at(cells.words, position, width)
            value = cells.lows[cell, c] + np.float64(cells.steps[cell, c]) * code
            position += width
            if c < n_features:
                storage.rows[i, c] = value - center[c]
                storage.columns[c * stride + i] = value - center[c]
            else:
                weights[c - n_features, i] = value
        storage.norms[i] = row_norm(pairing_of(kernel), storage.rows, i)


@compiled
def bits_of_row(cells, cell):
    """Bits of a row of a cell and its coefficients."""
    bits = 0
    for c in range(cells.widths.shape[1]):
        bits += np.int64(cells.widths[cell, c])
    return bits


@inlined
def middle_of(cells, cell, f):
    """What is subtracted from a column before the kernel sees it."""
    levels = (1 << np.int64(cells.widths[cell, f])) - 1
    return cells.is_centered * (cells.lows[cell, f] + 0.5 * np.float64(cells.steps[cell, f]) * levels)


@inlined
def code_at(words, position, width):
    """The number that has ``n_bits`` bits (at most 16) at a position."""
    if width == 0:
        return np.int64(0)
    word, shift = position // WORD_BITS, position % WORD_BITS
    value = words[word] >> np.uint64(shift)
    if shift + width > WORD_BITS:
        value |= words[word + 1] << np.uint64(WORD_BITS - shift)
    return np.int64(value & ((np.uint64(1) << np.uint64(width)) - np.uint64(1)))


@compiled
def put_code(words, position, width, code):
    """Write a code where there are zeros."""
    if width > 0:
        word, shift = position // WORD_BITS, position % WORD_BITS
        words[word] |= np.uint64(code) << np.uint64(shift)
        if shift + width > WORD_BITS:
            words[word + 1] |= np.uint64(code) >> np.uint64(WORD_BITS - shift)


@inlined
def nearest_code(value, low, step, width):
    """The code whose value is nearest."""
    if step <= 0.0:
        return np.int64(0)
    return np.int64(min(max(np.floor((value - low) / np.float64(step) + 0.5), 0.0), np.float64((1 << width) - 1)))
