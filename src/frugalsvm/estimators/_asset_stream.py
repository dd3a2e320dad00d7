"""Low-rank machines that learn from a stream: Fourier features, or landmarks that are the first examples."""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from frugalsvm.asset.maps import moved_map
from frugalsvm.asset.nystroem import Nystroem
from frugalsvm.asset.subgradient import STEP, new_state
from frugalsvm.core.capabilities import offers
from frugalsvm.core.origin import origin_of_moments
from frugalsvm.device.arrays import on_host
from frugalsvm.estimators._asset import LowRankMachine, dense_rows, with_weight
from frugalsvm.estimators._asset_device import restored_whitening
from frugalsvm.estimators._asset_steps import (
    SCALE_ROWS,
    Steps,
    averaging_of_stream,
    features_of,
    new_rule,
    started_at,
    take_steps,
    unknowns_of,
)
from frugalsvm.estimators._base import blas_threads, new_kernel
from frugalsvm.estimators._batches import rows_numbered
from frugalsvm.estimators._low_rank import Data
from frugalsvm.estimators._writable import forget_learned

__all__ = ["STREAM_LENGTH", "StreamingMachine"]

# What the last `fit` left behind
_RESULTS = ("C_", "path_", "best_validation_score_", "objective_", "suboptimality_bound_", "_n_fitted", "_n_iter")

STREAM_LENGTH = 10_000  # without alpha, C counts as it does for so many examples


class StreamingMachine(LowRankMachine):
    """The part of a low-rank machine that learns batch after batch.

    ``_steps`` is the run of subgradient steps, None before the first, and ``_first`` the examples from which landmarks
    will be made, None when there are enough. Until then landmarks are all examples so far, made anew whenever their
    number is a power of two: the model is the same whatever the batches are.
    """

    _steps: Steps | None
    _first: Any  # rows, targets and weights

    def _begin(self, n_outputs, kernel, sparse, rng):
        """A machine that has learned nothing."""
        forget_learned(self)
        for name in _RESULTS:
            if hasattr(self, name):
                delattr(self, name)
        self._kernel, self._rng, self._steps, self._map = kernel, rng, None, None
        self._unknowns = np.zeros((n_outputs, 1))
        waits = self.feature_map == "nystroem"
        nothing = np.zeros((0, self.n_features_in_), np.float32)
        self._first = (nothing, np.zeros((n_outputs, 0), np.float32), np.zeros(0, np.float32)) if waits else None
        self._is_sparse = sparse

    def _move_rows(self, shift):
        if self._map is not None:
            self._map = moved_map(self._map, shift)
        if self._first is not None:
            self._first = (self._first[0] - np.float32(shift), *self._first[1:])

    def _learn_rows(self, X, targets, weights, loss):
        """Learn a batch in its order."""
        # One step after the other: that is for the CPU, whatever `fit` is for.
        X, targets, weights = with_weight(on_host(X), targets, weights)
        with blas_threads(self.n_jobs):
            if hasattr(self, "_n_fitted"):
                self._first = None  # the map is that of `fit`
                if isinstance(self._map, Nystroem) and self._map.whitening is None:  # which was on a device
                    threshold = self.eigenvalue_threshold
                    self._map, self._unknowns = restored_whitening(self._map, self._unknowns, threshold, self.rank)
            elif self._map is None and self._first is None:
                self._map = self._new_map(self._kernel, None, self._is_sparse, self._rng)
            if self._first is not None:
                X, targets, weights = self._learn_first(X, targets, weights, loss)
            if X.shape[0]:
                self._take((X, targets, weights), loss)
        if self._steps is not None:
            self._unknowns = unknowns_of(self._steps)

    def _learn_first(self, X, targets, weights, loss):
        """Learn rows that may become landmarks; returns those that come after."""
        rows, old_targets, old_weights = self._first
        n_before, n_after = len(rows), min(self.n_components, len(rows) + X.shape[0])
        n_new = n_after - n_before
        self._first = (
            np.concatenate([rows, dense_rows(X[:n_new])]),
            np.concatenate([old_targets, targets[:, :n_new]], axis=1),
            np.concatenate([old_weights, weights[:n_new]]),
        )
        # All examples begin anew on new landmarks, and those after them follow.
        n_landmarks = self.n_components if n_after == self.n_components else 1 << (n_after.bit_length() - 1)
        if n_landmarks > n_before:
            self._steps = None
            first, others = (self._part_of_first(slice(*ends)) for ends in ((0, n_landmarks), (n_landmarks, n_after)))
            self._map = self._new_map(self._kernel, first[0], False, self._rng)
            self._take(first, loss)
        else:
            others = self._part_of_first(slice(n_before, n_after))
        if len(others[0]):
            self._take(others, loss)
        if n_after == self.n_components:
            self._first = None
        return X[n_new:], targets[:, n_new:], weights[n_new:]

    def _part_of_first(self, part):
        rows, targets, weights = self._first
        return rows[part], np.ascontiguousarray(targets[:, part]), weights[part]

    def _take(self, examples, loss):
        if self._steps is None:
            self._steps = self._new_steps(examples, loss)
        take_steps(self._steps, self._map, *examples)

    def _new_steps(self, examples, loss):
        """A run from nothing, or from what `fit` found."""
        X, targets, weights = examples
        solver = "asset" if self.solver == "newton" else self.solver
        n_learned = getattr(self, "_n_fitted", 0)
        penalty = self._penalty(getattr(self, "C_", self._all_C()[-1]), n_learned or STREAM_LENGTH)
        features = features_of(self._map, X[:SCALE_ROWS])
        # The first examples of a stream may be few: no smaller ball than the paper's, or than the model needs.
        least = max(penalty**-0.5, 2 * float(np.linalg.norm(self._unknowns, axis=1).max()) if n_learned else 0.0)
        rule = new_rule(solver, loss, penalty, self.fit_intercept, features, targets, weights, least)
        state = new_state(len(targets), features.shape[1], averaging_of_stream(self.average))
        if n_learned:
            started_at(state, self._unknowns, n_learned, rule)
        return Steps(loss, rule, state)

    def _begin_survey(self, survey, n_outputs):
        """A machine for the rows of batches."""
        kernel = new_kernel(self.kernel, self.gamma, self.degree, self.coef0, survey.moments)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        self._begin(n_outputs, kernel, False, rng)
        self._origin = origin_of_moments(survey.moments, np.float32) if offers(kernel, "shift_invariant") else None

    def _fit_batches(self, batches, targets, weights, loss, unit):
        """Learn rows that are read again in every pass."""
        batches = batches.relative_to(self._origin)
        n_rows = targets.shape[1]
        weights = np.ones(n_rows, np.float32) if weights is None else weights.astype(np.float32)
        index = np.sort(self._rng.choice(n_rows, self._n_candidates(n_rows), replace=False))
        candidates = self._rng.permutation(rows_numbered(batches, index))
        self._fit_data(Data(batches.rows, None, targets, weights), candidates, loss, unit)
        self.n_iter_ = self._n_iter

    @property
    def t_(self):
        """Number of examples learned from; those of `fit` count once."""
        check_is_fitted(self)
        return int(self._steps.state.clock[STEP]) if self._steps is not None else getattr(self, "_n_fitted", 0)
