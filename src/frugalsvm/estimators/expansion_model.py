"""The base class of estimators whose model is a kernel expansion: scores, support vectors, coefficients, counters."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from frugalsvm.arrays.expansion import expansion_values
from frugalsvm.arrays.maps import kernel_map
from frugalsvm.compiling.threads import blas_threads
from frugalsvm.core.expansion import Expansion, coefficients
from frugalsvm.core.lookahead import BLOCK_ROWS
from frugalsvm.estimators._predictor import Predictor
from frugalsvm.estimators._scoring import Scorer, scores_by_blocks
from frugalsvm.estimators.constraints import budget, bytes_per_slot, constraints, count
from frugalsvm.estimators.kernel_model import KernelEstimator
from frugalsvm.estimators.parameters import learned, parameter, parameters
from frugalsvm.estimators.progress import following
from frugalsvm.estimators.seen_rows import absolute_rows
from frugalsvm.estimators.validation import AS_IT_IS


@parameters
class PassParameters:
    """Parameters of estimators that learn one example after the other, and have support vectors.

    Parameters
    ----------
    budget : int, str or None
        Maximum number of support vectors; or bytes of the model, such as ``"64KB"``; or None for no limit.
    max_iter : int
        Number of passes over the data in `fit`.
    shuffle : bool
        Whether `fit` visits the examples in random order, a new one in every pass.
    warm_start : bool
        Whether `fit` continues from the present model.
    """

    _constraints = constraints(budget=budget)
    max_iter: Any = parameter(default=1, check=count())
    shuffle: Any = True
    warm_start: Any = False


class ExpansionModel(KernelEstimator):
    """Base of estimators whose model is a kernel expansion.

    Subclasses have an ``_expansion`` and a ``_kernel``.

    Attributes
    ----------
    support_vectors_ : ndarray of shape (n_support_vectors, n_features)
    dual_coef_ : ndarray of shape (1, n_support_vectors) or (n_classes, n_support_vectors)
    intercept_ : ndarray
    budget_ : int or None
        The budget as a number of support vectors.
    n_updates_, n_maintenance_, n_kernel_evals_ : int
        Examples that changed the model; maintenance steps; kernel values computed.
    n_kernel_evals_ : int
    n_iter_ : int
        Passes made by the last `fit`.
    """

    _expansion: Expansion
    _predictor: Predictor | None = None  # of a model that was saved for prediction, and has no other state

    def _products_with(self, n_slots, n_rows=BLOCK_ROWS):
        """Context in which products of blocks of rows with ``n_slots`` vectors use the threads that pay."""
        return blas_threads(self.n_jobs, min(n_rows, BLOCK_ROWS) * self._width * n_slots)

    def _order(self, n_rows, random_state):
        if not self.shuffle:
            return np.arange(n_rows)
        # A generator permutes twice as fast as the RandomState that seeds it.
        return np.random.default_rng(random_state.randint(np.iinfo(np.int32).max)).permutation(n_rows)

    _learns_in_order = True  # whether ``_learn`` may be called for one part of an order after the other

    @property
    def _n_passes(self):
        """One where there is no such parameter, since the result does not depend on the order."""
        return getattr(self, "max_iter", 1)

    def _passes(self, X, targets, weights, random_state):
        """Learn all rows, several times."""
        with following(self, X.shape[0] * self._n_passes, "rows", has_model=True) as progress:
            for _ in range(self._n_passes):
                order = self._order(X.shape[0], random_state)
                for part in progress.parts(order) if self._learns_in_order else [order]:
                    self._learn(X, targets, weights, part)
                    if progress.advance(len(part)):
                        return

    _dtype = property(lambda self: self._expansion.rows.dtype, doc="Type of the stored rows.")

    @property
    def row_dtype_(self):
        """Type of the stored rows, in which kernel values are computed."""
        return np.dtype(self._dtype)

    def _coefficients(self) -> np.ndarray:
        """The true coefficients, a column for each output."""
        return coefficients(self._expansion)

    def scoring_expansion(self, again: Expansion | None = None) -> Expansion:
        """The expansion with the true coefficients as weights; training's counters stay as they are.

        ``again`` is an earlier one of the same rows, which is brought up to date instead.
        """
        expansion = self._expansion
        if again is None:
            again = expansion._replace(weights=np.zeros_like(expansion.weights), counts=expansion.counts.copy())
        n = expansion.counts[0]["n_slots"]
        again.weights[:, :n] = self._coefficients().T
        again.weights[:, n:] = 0.0
        again.counts[:] = expansion.counts
        return again

    def _scores(self, X) -> np.ndarray:
        check_is_fitted(self)
        return scores_by_blocks(self, X, self._scorer())

    def _seen_scores(self, X) -> np.ndarray:
        scorer = self._scorer()
        with self._products_with(int(scorer.expansion.counts[0]["n_slots"]), X.shape[0]):
            return scorer.scores(X)

    def _scorer(self) -> Scorer:
        """The model, ready to score rows: what does not depend on them is done once."""
        expansion = self.scoring_expansion()
        return Scorer(self._kernel, expansion, self.intercept_)

    def _device_scores(self, X, arrays) -> np.ndarray:
        check_is_fitted(self)
        if arrays.device == "cpu" and not arrays.is_torch:
            return self._scores(X)
        X = self._known_rows(X, AS_IT_IS)
        device_map = kernel_map(arrays, self._kernel, arrays.asarray(self.support_rows(), "float32"))
        return self._class_scores(expansion_values(arrays, device_map, self.dual_coef_, X) + self.intercept_)

    def _class_scores(self, values) -> np.ndarray:
        """Scores of classes, from the values of all outputs."""
        return values

    def support_rows(self):
        """The support vectors as the kernel sees them, relative to the origin: a view."""
        expansion = self._expansion
        return expansion.rows[: expansion.counts[0]["n_slots"]]

    @learned
    def support_vectors_(self):
        """The support vectors, as users know rows."""
        return absolute_rows(self.support_rows(), self._origin, self._metric)

    @learned
    def support_ages_(self):
        """Their ages in examples, shape (n_support_vectors,): since each was learned, or merged for the last time."""
        counts = self._expansion.counts[0]
        return int(counts["n_seen"]) - self._expansion.births[: counts["n_slots"]]

    @learned
    def dual_coef_(self):
        """Coefficients of the support vectors, a row for each output."""
        return np.ascontiguousarray(self._coefficients().T)

    intercept_ = learned(lambda self: np.zeros(self._expansion.n_outputs), doc="Zeros, for models without a bias term.")
    model_bytes_ = learned(lambda self: expansion_bytes(self._expansion), doc="Bytes that prediction needs.")

    def _counted(self, name):
        check_is_fitted(self)
        return int(self._expansion.counts[0][name])

    t_ = property(lambda self: self._counted("n_seen"), doc="Number of examples learned from, over all passes.")
    n_kernel_evals_ = property(lambda self: self._counted("n_kernel_evals"), doc="Kernel values computed in training.")
    n_updates_ = property(lambda self: self._counted("n_updates"), doc="Number of examples that changed the model.")
    n_maintenance_ = property(lambda self: self._counted("n_maintenance"), doc="Vectors removed, projected or merged.")


def expansion_bytes(expansion: Expansion) -> int:
    """Bytes that prediction needs for a model."""
    rows, n_slots = expansion.rows, int(expansion.counts[0]["n_slots"])
    return n_slots * bytes_per_slot(rows.shape[1], expansion.n_outputs, rows.dtype)
