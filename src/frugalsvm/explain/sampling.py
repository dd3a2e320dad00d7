"""Shapley values by sampling, for models whose kernels are neither products nor sums over features.

A permutation of the columns leads from a background row to the row that is explained: one column after the other takes
its value there, and what the value of the model gains is what the column adds. The mean over all permutations and
background rows is the Shapley value (Castro et al., 2009). Here each background row has some pairs of random
permutations, one of a pair being the other in reverse, which errs to the other side (Mitchell et al., 2022). Shares
and base value add up to the value of the row, whatever the permutations are.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from frugalsvm.compiling.threads import Threads, row_blocks
from frugalsvm.explain.columns import Columns
from frugalsvm.export.models import PlainModel

_ROWS_AT_A_TIME = 1 << 14  # that the model is asked for together


class SampledModel:
    """A fitted model as a function of the features of users' columns, of which nothing else is known."""

    def __init__(self, columns: Columns):
        self.columns, self._estimator = columns, columns.estimator
        self.members = columns.members()

    def values(self, rows: NDArray) -> NDArray:
        """Values of all outputs for rows of the estimator, shape (n_rows, n_outputs)."""
        if hasattr(self._estimator, "decision_function"):
            values = self._estimator.decision_function(rows)
        else:
            values = self._estimator.predict(rows)
        return np.asarray(values, np.float64).reshape(len(rows), -1)

    def output_names(self, n_outputs: int) -> list[str]:
        """What a value that is large speaks for."""
        classes = _classes(self._estimator)
        if classes is None or len(classes) < n_outputs:
            return ["value"] if n_outputs == 1 else [f"output {k + 1}" for k in range(n_outputs)]
        return list(map(str, classes[-n_outputs:]))

    def curves(self, rows: NDArray, along: NDArray, features: NDArray) -> NDArray:
        """Values (n_rows, n_points, n_outputs) of rows whose features of one column are those along a grid."""
        curves = []
        for point in along:
            changed = np.array(rows, np.float64)
            changed[:, features] = point[features]
            curves.append(self.values(changed))
        return np.stack(curves, axis=1)

    def shapley_values(
        self, rows: NDArray, background: NDArray, n_permutations: int, random_state: int, threads: Threads
    ) -> tuple[NDArray, NDArray, NDArray]:
        """Base values, shares (n_rows, n_columns, n_outputs), and their standard errors."""
        usual, own = self.values(background), self.values(rows)
        shape = (len(rows), len(self.members), own.shape[1])
        values, errors = np.empty(shape), np.empty(shape)
        # The same permutations for all rows: rows differ by what is in them, not by chance.
        orders = _orders(len(self.members), (n_permutations, len(background)), random_state)

        def explain(part: slice) -> None:
            for i in range(part.start, part.stop):
                values[i], errors[i] = self._of_row(rows[i], own[i], background, usual, orders)

        threads.run(explain, row_blocks(len(rows), threads.count, 1))
        return usual.mean(axis=0), values, errors

    def _of_row(self, row, own, background, usual, orders) -> tuple[NDArray, NDArray]:
        """Shares of one row, and standard errors: permutations are drawn, background rows are not."""
        n_pairs, n_background, n_columns = orders.shape
        gains = np.empty((n_pairs, n_background, n_columns, len(own)))
        step = max(1, _ROWS_AT_A_TIME // max(2 * n_pairs * (n_columns - 1), 1))
        for start in range(0, n_background, step):
            part = slice(start, start + step)
            both = np.stack([orders[:, part], orders[:, part, ::-1]])
            gains[:, part] = self._gains(row, own, background[part], usual[part], both).mean(axis=0)
        by_background = gains.mean(axis=0)
        if n_pairs < 2:
            return by_background.mean(axis=0), np.full(by_background.shape[1:], np.nan)
        variances = gains.var(axis=0, ddof=1) / n_pairs
        return by_background.mean(axis=0), np.sqrt(variances.sum(axis=0)) / n_background

    def _gains(self, row, own, background, usual, orders) -> NDArray:
        """What each column adds along each order, shape (2, n_pairs, n_background, n_columns, n_outputs)."""
        n_columns, n_outputs = orders.shape[-1], len(own)
        rank = np.argsort(orders, axis=-1)
        # Between the background row and the row itself: after k columns, for k from 1
        is_there = rank[..., None, :] < np.arange(1, n_columns)[:, None]
        mixed = np.broadcast_to(background[:, None], (*is_there.shape[:-1], background.shape[1])).copy()
        for p, features in enumerate(self.members):
            for f in features:
                np.copyto(mixed[..., f], row[f], where=is_there[..., p])
        between = self.values(mixed.reshape(-1, background.shape[1])) if n_columns > 1 else np.empty((0, n_outputs))
        path = np.empty((*orders.shape[:-1], n_columns + 1, n_outputs))
        path[..., 0, :], path[..., -1, :] = usual, own
        path[..., 1:-1, :] = between.reshape(*orders.shape[:-1], n_columns - 1, n_outputs)
        return np.take_along_axis(np.diff(path, axis=-2), rank[..., None], axis=-2)


def _orders(n_columns: int, shape: tuple[int, ...], random_state: int) -> NDArray:
    """Random permutations of the columns."""
    return np.random.default_rng(random_state).random((*shape, n_columns)).argsort(axis=-1)


def _classes(estimator: Any) -> Any:
    if isinstance(estimator, PlainModel):
        return None if estimator.decision == "value" else estimator.classes
    return getattr(estimator, "classes_", None)
