"""Test, then train, row by row: each row is predicted by a model that has learned all rows before it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from frugalsvm.cli.data import labels_of, rows_of
from frugalsvm.core.lookahead import BLOCK_ROWS
from frugalsvm.streams.batch import Batch, rows_between

__all__ = ["learned_in_turn"]


def learned_in_turn(model: Any, batch: Batch) -> NDArray:
    """Predictions of rows, each made before its row is learned, by a model that has begun to learn.

    Sparse rows, rows with text and rows with weights have no fast way one by one: they are taken 64 at a time.
    """
    plain = isinstance(batch.X, np.ndarray) and batch.columns is None and batch.weights is None
    return _row_by_row(model, batch) if plain and hasattr(model, "learn_one_row") else _by_blocks(model, batch)


def _row_by_row(model: Any, batch: Batch) -> NDArray:
    predicted = []
    for x, label in zip(batch.X, labels_of(batch), strict=True):
        predicted.append(model.predict_one_row(x))
        model.learn_one_row(x, label)
    return np.array(predicted)


def _by_blocks(model: Any, batch: Batch) -> NDArray:
    predicted = []
    for start in range(0, batch.n_rows, BLOCK_ROWS):
        block = rows_between(batch, start, min(start + BLOCK_ROWS, batch.n_rows))
        predicted.append(model.predict(rows_of(block)))
        model.partial_fit(rows_of(block), labels_of(block), sample_weight=block.weights)
    return np.concatenate(predicted)
