"""`LocalSVC` and `LocalSVR` that change: rows are forgotten, added and replaced without training again.

A row is in one cell of each tree, and only these cells are solved again (`frugalsvm.cells.changes`).
"""

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from frugalsvm._locks import shared
from frugalsvm.cells.changes.influence import losses_without
from frugalsvm.cells.changes.left_out import left_out_after
from frugalsvm.cells.changes.mending import (
    Settings,
    Staged,
    closed,
    gaps_of,
    largest_residual,
    mended,
    solved_from_scratch,
    without_gaps,
)
from frugalsvm.cells.changes.structure import NO_LEVEL, levels_of
from frugalsvm.cells.codes import CodedCells
from frugalsvm.cells.tree import cells_of
from frugalsvm.estimators._learned_rows import (
    ids_of,
    keep_sorted_ids,
    places_of_ids,
    places_of_rows,
    sorted_ids,
    taken_sorted_ids,
    with_room,
)
from frugalsvm.estimators._public_trees import public_trees_after
from frugalsvm.estimators.constraints import parsed_bytes
from frugalsvm.estimators.forget_reports import ReportsForgetting, certificate, digest_of_cells
from frugalsvm.estimators.unchanged import prepare_to_learn, unchanged_on_error

_NOTHING: Any = np.empty(0, np.int64)


class _Added(NamedTuple):
    """Rows that come, as the kernel sees them."""

    ids: np.ndarray
    rows: np.ndarray
    targets: np.ndarray  # as the model keeps them
    weights: np.ndarray | None


class ChangesRows(ReportsForgetting):
    """`unlearn` and `update`, and `partial_fit` of subclasses; the rest of the estimator is in `local_machine.py`.

    Subclasses define ``_kept_targets`` (what is kept of targets (n_outputs, n)), ``_targets_kept`` (the other way
    round), ``_as_given`` (labels or values of what is kept), ``_own_targets`` (what is kept of those),
    ``_more_examples`` (rows, targets (n_outputs, n) and weights or None of rows that users add) and
    ``_retake_left_out`` (a `LeftOut`, when rows, ids, targets and weights are those after the change).

    Attributes
    ----------
    row_ids_ : ndarray of int
        Ids of the rows that the model has, in the order of ``loo_scores_`` once the model has changed: numbers among
        the rows of `fit`, and those after that for rows that were added.
    structure_rows_ : ndarray of int
    """

    _row_ids: np.ndarray
    _row_targets: np.ndarray
    _row_weights: np.ndarray | None
    _row_levels: np.ndarray
    _n_ids: int
    _first_batch_decides = True  # about gamma, C and trees, which depend on how rows come in batches
    _is_of_sample = False  # whether the trees were made of a sample that is not known any more
    _cells: Any

    # --- changes ----------------------------------------------------------------------------------------------

    def unlearn(self: Any, X, y=None, *, certify=False):
        """Forget rows: the model becomes that of a training on the other rows with the same trees, gamma and C.

        Only the cells that have these rows are solved again. Parts of trees that were made of them are grown again from
        the other rows, cells that become too small are joined with their neighbors, and leave-one-out scores,
        calibration and intervals are those of the rows that are left. See :ref:`forgetting` for what is promised.

        Parameters
        ----------
        X : array-like of int, or array-like of shape (n_samples, n_features)
            The ids of the rows (see ``row_ids_``), or the rows themselves. Of equal rows the one that was learned last
            goes first; a row that is given twice goes twice.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Targets of the rows: only rows with the same target are meant.
        certify : bool, default=False
            Whether the certificate has digests of the model before and after, and the largest difference of
            coefficients to those of a fresh factorization in float64. That reads the whole model twice.

        Returns
        -------
        self

        Notes
        -----
        If there is no such row (any more), that is a ValueError, and nothing is forgotten.
        """
        with unchanged_on_error(self):
            self._check_changes()
            places = self._places(X, y)
            if len(places):
                digest = digest_of_cells(self) if certify else None
                self._change(places, None, is_forgotten=True, digest=digest)
        return self

    @shared
    def row_influence(self: Any, X, y):
        """How much the error on some rows changes without each row that was learned: exact, and without training.

        A row with a negative value does harm: without it, the error would be smaller. Trees, gamma and C stay as they
        are.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows that were not learned, on which the model is to be good.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)

        Returns
        -------
        ndarray of shape (n_rows,)
            In the order of ``row_ids_``: the mean squared error of the given rows without the row, minus that with it.
            For a classifier, it is that of decision values, whose targets are -1 and 1.
        """
        self._check_changeable()
        rows = self._known_rows(X, self._dtype)
        targets = self._targets_kept(self._own_targets(y, rows)).T
        sums = losses_without(
            self._kernel, self._as_staged(), self._cells, 1.0 / self.C_, rows, targets.astype(np.float64)
        )
        units = self._units_of_outputs()
        return (sums * np.square(units)[:, None]).mean(axis=0)[np.argsort(self._row_ids, kind="stable")] / len(rows)

    def difference_to_training(self: Any) -> float:
        """The largest difference of coefficients to those of a training again, in the same cells.

        It is relative to the largest coefficient, and 0 where the model is that of a training to the last bit. All
        cells are solved again for it.
        """
        self._check_changeable()
        staged = self._as_staged()
        found = 0.0
        for cells in self._cells:
            again = solved_from_scratch(staged, cells, self._settings(staged, 0))
            largest = float(np.abs(again).max(initial=0.0))
            found = max(found, float(np.abs(again - cells.coef).max(initial=0.0)) / (largest or 1.0))
        return found

    def learned_examples(self: Any, n_most: int) -> tuple[np.ndarray, np.ndarray]:
        """Rows that the model has, as users know them, and their labels or values: evenly from first to last."""
        self._check_changeable()
        rows = self.learned_rows(n_most)
        kept = self._row_targets[np.arange(len(rows)) * len(self._rows) // len(rows)]
        return rows, self._as_given(kept)

    def _as_staged(self: Any, gone=_NOTHING) -> Staged:
        """The rows as they are, of which some may go."""
        return self._with_targets(self._rows, self._row_ids, self._row_targets, self._row_weights, gone, _NOTHING)

    def _units_of_outputs(self: Any) -> np.ndarray:
        """What an error of 1 of each output is, in units of the targets."""
        return np.ones(len(self._cells[0].coef))

    def _facts(self: Any) -> dict[str, Any]:
        self._check_row_ids()
        return {"rows": len(self._rows), "structure": self._structure_kind(), "digest": digest_of_cells(self)}

    def _structure_kind(self: Any) -> str:
        if self.tree == "public":
            return "made without rows"
        if self._is_of_sample:
            return "made of a sample of the rows, and kept"
        return "grown again where it was made of rows that are forgotten"

    def _add(self: Any, X, y, sample_weight) -> None:
        """What `partial_fit` does after the first call."""
        with unchanged_on_error(self):
            self._check_changes()
            if self.budget is not None:
                raise ValueError(f"A {type(self).__name__} with a budget cannot take more rows: set budget=None.")
            X, targets, weights = self._more_examples(X, y, sample_weight)
            ids = self._n_ids + np.arange(len(X))
            self._n_ids += len(X)
            self._change(_NOTHING, self._added(ids, X, targets, weights))

    def update(self: Any, ids, X, y, sample_weight=None):
        """Replace rows: what was known of these ids is forgotten, and the new rows have the same ids.

        Parameters
        ----------
        ids : array-like of int
            See ``row_ids_``.
        X, y, sample_weight
            As in `partial_fit`, a row for each id.

        Returns
        -------
        self
        """
        with unchanged_on_error(self):
            self._check_changes()
            ids = ids_of(ids)
            X, targets, weights = self._more_examples(X, y, sample_weight)
            if len(X) != len(ids):
                raise ValueError(f"X has {len(X)} rows, but there are {len(ids)} ids: pass a row for each id.")
            self._change(places_of_ids(self, ids), self._added(ids, X, targets, weights))
        return self

    def _added(self: Any, ids, X, targets, weights) -> _Added:
        known = slice(None) if weights is None else np.flatnonzero(weights)
        kept = self._kept_targets(np.ascontiguousarray(targets, self._dtype))
        return _Added(ids[known], X[known], kept[known], None if weights is None else weights[known])

    def _check_changes(self: Any) -> None:
        """Refuse models that cannot change, and say why; get ready to change."""
        check_is_fitted(self)
        prepare_to_learn(self)
        self._check_changeable()

    def _check_changeable(self: Any) -> None:
        check_is_fitted(self)
        name = type(self).__name__
        if isinstance(self._cells[0], CodedCells):
            raise ValueError(f"This {name} has a budget, and keeps too little of its rows to change: set budget=None.")
        if not hasattr(self, "_row_targets"):
            raise ValueError(f"This {name} is of an earlier version, which kept no targets: fit it again to change it.")

    def _places(self: Any, X, y) -> np.ndarray:
        if np.ndim(X) < 2:
            if y is not None:
                raise ValueError("Ids say which rows are meant: y is for rows only.")
            return places_of_ids(self, ids_of(X))
        rows = self._known_rows(X, self._dtype)
        targets = None if y is None else self._own_targets(y, rows)
        return places_of_rows(self, rows, targets, cells_of(self._cells[0].tree, rows))

    # --- one change -------------------------------------------------------------------------------------------

    def _change(
        self: Any, gone: np.ndarray, added: _Added | None, *, is_forgotten: bool = False, digest: str | None = None
    ) -> None:
        """Make a model without some rows and with others; nothing is overwritten until it is known."""
        n_new = 0 if added is None else len(added.ids)
        if len(self._rows) + n_new == len(gone):
            raise ValueError("A model needs at least one row: to forget all of them, delete the model and its files.")
        if not len(gone) and not n_new:
            return
        staged, kept_targets, levels = self._staged(gone, added, self._known_levels())
        trees = self._mended(staged, levels)
        scores = self._left_out_scores()
        left_out = left_out_after(staged, kept_targets, (taken_sorted_ids(self), scores), trees, self._targets_kept)
        residual = None if digest is None else largest_residual(staged, trees, self._settings(staged, 0))
        gaps, gone_ids = gaps_of(len(staged.ids), gone), staged.ids[gone]
        self._cells = [without_gaps(each.cells, staged.rows, gaps) for each in trees]
        per_row = {"_rows": staged.rows, "_row_ids": staged.ids, "_row_targets": kept_targets}
        if staged.weights is not None:
            per_row["_row_weights"] = staged.weights
        if levels is not None:
            per_row["_row_levels"] = levels.T
        with closed(list(per_row.values()), gaps) as left:
            vars(self).update(zip(per_row, left, strict=True))
            if levels is not None:
                self._row_levels = np.ascontiguousarray(self._row_levels.T)
            keep_sorted_ids(self, left_out.ids)
            self._retake_left_out(left_out)
            self._look_back_again()
            if is_forgotten:
                self.forgotten_ = [*self.forgotten_, self._certificate(gone_ids, trees, digest, residual)]

    def _staged(self: Any, gone, added, levels):
        """All rows, ids, targets and weights while a change is made."""
        if added is None:
            return self._as_staged(gone), self._row_targets, levels
        n_rows, n_new = len(self._rows), len(added.ids)
        rows = with_room(self, n_new)
        rows[n_rows:] = added.rows
        targets = np.concatenate([self._row_targets, added.targets.astype(self._row_targets.dtype, copy=False)])
        weights = self._row_weights
        if weights is not None or added.weights is not None:
            own = np.ones(n_rows) if weights is None else weights
            weights = np.concatenate([own, np.ones(n_new) if added.weights is None else added.weights])
        if levels is not None:
            levels = np.hstack([levels, np.full((len(levels), n_new), NO_LEVEL, np.int8)])
        ids, new = np.concatenate([self._row_ids, added.ids]), n_rows + np.arange(n_new)
        return self._with_targets(rows, ids, targets, weights, gone, new), targets, levels

    def _with_targets(self: Any, rows, ids, targets, *others) -> Staged:
        return Staged(rows, ids, lambda places: self._targets_kept(targets[places]), *others)

    def _mended(self: Any, staged: Staged, levels):
        """All trees after the change."""
        n_trees, is_public, found = len(self._cells), self.tree == "public", []
        trees = public_trees_after(self, staged) if is_public else [None] * n_trees
        for number, (cells, tree) in enumerate(zip(self._cells, trees, strict=True)):
            settings = self._settings(staged, number)
            own = None if levels is None else levels[number]
            found.append(
                mended(
                    staged, cells, settings, levels=own, tree=tree, may_grow=not is_public,
                    with_errors_before=n_trees > 1,
                )
            )  # fmt: skip
        return found

    def _settings(self: Any, staged: Staged, tree: int) -> Settings:
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        return Settings(
            self._kernel, 1.0 / self.C_, self._threads(), parsed_bytes("memory", self.memory),
            [seed, tree, len(staged.gone), len(staged.rows)],
        )  # fmt: skip

    def _left_out_scores(self: Any) -> np.ndarray:
        """Leave-one-out scores of the rows that the model has, in the order of their ids, in units of the machines."""
        scores = self.standardized_left_out()
        # Rows without a weight have scores as well, as long as the model is that of `fit`.
        return scores if len(scores) == len(self._row_ids) else scores[sorted_ids(self)]

    def standardized_left_out(self: Any) -> np.ndarray:
        """``loo_scores_`` in units of the machines."""
        return self.loo_scores_

    def _look_back_again(self: Any) -> None:
        """Learn again what comes after leave-one-out scores."""

    def _order_of_ids(self: Any) -> np.ndarray:
        """Where the rows are stored, in the order of their ids."""
        return np.argsort(self._row_ids, kind="stable")

    def _certificate(self: Any, ids, trees, digest, residual) -> dict[str, Any]:
        """What is said of rows that were forgotten, when the model is what it is without them."""
        facts: dict[str, Any] = {
            "cells": [len(each.numbers) for each in trees],
            "parts grown again": [each.n_grown for each in trees],
            "structure": self._structure_kind(),
        }
        if digest is not None:
            facts.update({"digest before": digest, "digest after": digest_of_cells(self), "residual": residual})
        return certificate(ids, **facts)

    # --- structure --------------------------------------------------------------------------------------------

    def _known_levels(self: Any) -> np.ndarray | None:
        """Where rows have made the trees; None if that is not known."""
        if self._is_of_sample or self.tree == "public":
            return None
        if not hasattr(self, "_row_levels"):
            found = np.empty((len(self._cells), len(self._rows)), np.int8)
            for own, cells in zip(found, self._cells, strict=True):
                own[cells.tree.members] = levels_of(cells.tree, self._rows, self._row_ids)
            return found
        return self._row_levels.copy()

    @property
    @shared
    def row_ids_(self: Any) -> np.ndarray:
        """Ids of the rows that the model has, ascending."""
        self._check_row_ids()
        return sorted_ids(self).copy()

    def _check_row_ids(self: Any) -> None:
        check_is_fitted(self)
        if not hasattr(self, "_row_ids"):
            raise AttributeError(
                f"This {type(self).__name__} has no ids of rows: it has a budget, was saved for prediction, or is of "
                "an earlier version."
            )

    @property
    @shared
    def structure_rows_(self: Any) -> np.ndarray:
        """Ids of the rows that the trees were made of: to forget one of them grows a part of a tree again."""
        self._check_row_ids()
        levels = self._known_levels()
        if self.tree == "public":
            return np.empty(0, np.int64)
        if levels is None:
            raise AttributeError("The trees were made of a sample of the rows, and which these were is not known.")
        return np.sort(self._row_ids[(levels != NO_LEVEL).any(axis=0)])
