"""How estimators learn: `fit` and `partial_fit`, written once for classes, labels in columns, numbers, and no targets.

What an estimator is given becomes rows, targets of its kind and weights (``_examples_of``). The first rows decide about
the metric, whatever is "auto", the kernel, an empty model and the origin (``_begin``). Then the model learns.
"""

from typing import Any

from sklearn.utils import check_random_state

from frugalsvm.estimators.kernel_model import KernelEstimator
from frugalsvm.estimators.progress import begin_callbacks, end_callbacks, with_callbacks
from frugalsvm.estimators.unchanged import Attempt, forget_learned, prepare_to_learn, unchanged_on_error
from frugalsvm.estimators.validation import rows_that_count

__all__ = ["Fits", "FitsAndFollows"]


class Fits(KernelEstimator):
    """Base of estimators with `fit`; subclasses define

    ``_examples_of(X, y, sample_weight, *, first)``       rows, targets, and weights or None, of what users pass: the
                                                          first ones, or more for the same model
    ``_outputs(targets, weights, *, whole)``              signs of classes or values (n_outputs, n), for all that is
                                                          chosen or learned from the first rows
    ``_start(X, targets, random_state, *, whole)``        takes the kernel from rows in the metric, those that have a
                                                          weight, and makes a model that has learned nothing
    ``_learn_all(X, targets, weights, random_state)``     what `fit` learns, from rows as the kernel sees them
    """

    @with_callbacks
    def fit(self, X, y, sample_weight=None):
        """Learn from all rows, in ``max_iter`` passes where there is such a parameter.

        Ctrl-C leaves the model that was there before.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or, for estimators with several outputs, (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the examples; rows of weight 0 are ignored.

        Returns
        -------
        self
        """
        begin_callbacks(self, X, y)
        with unchanged_on_error(self) as attempt:
            self._check_params()
            self._fit(attempt, X, y, sample_weight)
        end_callbacks(self, X, y)
        return self

    def _fit(self, attempt: Attempt, X, y, sample_weight) -> None:
        random_state = check_random_state(self.random_state)
        goes_on = getattr(self, "warm_start", False) and self._has_begun
        X, targets, weights = self._examples_of(X, y, sample_weight, first=not goes_on)
        if goes_on:
            self._resume(attempt, targets)
        else:
            forget_learned(self)
            X = self._begin(X, targets, weights, random_state, whole=True)
        self._learn_all(X, targets, weights, random_state)

    @property
    def _has_begun(self) -> bool:
        """Whether there is a model, even if it has learned nothing yet."""
        return hasattr(self, "_kernel")

    def _begin(self, X, targets, weights, random_state, *, whole: bool):
        """Take from the first rows all that they decide (``whole`` if no more will come).

        Returns them as the kernel sees them.
        """

        def outputs():
            return self._outputs(targets, weights, whole=whole)

        X = self._with_metric(X, outputs, weights, random_state, whole=whole)
        known = rows_that_count(X, weights)
        self._start(known, targets, random_state, whole=whole)
        return self._with_origin(X, known, whole=whole)

    def _resume(self, attempt: Attempt, targets, n_rows: int | None = None) -> None:
        """Get ready to learn a batch of ``n_rows`` more rows, or to fit all rows (None)."""
        prepare_to_learn(self)
        attempt.begin(n_rows)


class FitsAndFollows(Fits):
    """Base of estimators that learn streams as well.

    Subclasses define ``_learn_next(X, targets, weights, *, first)``, which learns a batch in its order from rows as the
    kernel sees them, and a ``partial_fit`` that calls ``_partial_fit``.
    """

    def _next_examples(self, X, y, sample_weight, *, first: bool) -> tuple[Any, Any, Any]:
        """The examples of a batch of a stream."""
        return self._examples_of(X, y, sample_weight, first=first)

    def _partial_fit(self, X, y, sample_weight, **announced: Any):
        with unchanged_on_error(self) as attempt:
            self._check_params()
            first = not self._has_begun
            X, targets, weights = self._next_examples(X, y, sample_weight, first=first, **announced)
            if first:
                X = self._begin(X, targets, weights, check_random_state(self.random_state), whole=False)
            else:
                self._resume(attempt, targets, X.shape[0])
            self._learn_next(self._follow(X), targets, weights, first=first)
        return self
