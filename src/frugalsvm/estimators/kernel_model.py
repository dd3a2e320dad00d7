"""The base classes of all estimators, classifiers or not: a kernel, rows in a metric, and how they learn.

`KernelEstimator`  a kernel, and rows in a metric, relative to an origin
`Fits`             and ``fit``, written once for classes, labels in columns, numbers, and no targets
`FitsAndFollows`   and ``partial_fit``

What an estimator is given becomes rows, targets of its kind and weights (``_examples_of``). The first rows decide about
the metric, whatever is "auto", the kernel, an empty model and the origin (``_begin``). Then the model learns.
"""

from contextlib import nullcontext
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from frugalsvm._locks import ThreadSafe
from frugalsvm.arrays.namespace import is_torch
from frugalsvm.compiling.threads import ONE_THREAD, Threads, blas_threads, thread_count
from frugalsvm.core.kernels import KERNELS
from frugalsvm.core.seen_rows import Metric, Origin, followed, origin_at, relative, seen_rows
from frugalsvm.estimators.automatic import choice_of, chooses
from frugalsvm.estimators.constraints import (
    check_constraints,
    check_metric,
    is_auto,
    new_kernel,
    one_of,
    threads,
    verbosity,
)
from frugalsvm.estimators.parameters import learned, parameter, parameters
from frugalsvm.estimators.progress import CallbackSupport, begin_callbacks, end_callbacks, with_callbacks
from frugalsvm.estimators.seen_rows import (
    check_powers,
    check_size,
    check_values,
    first_origin,
    importances,
    metric_for,
    relative_rows,
    rows_in_metric,
)
from frugalsvm.estimators.unchanged import (
    Attempt,
    forget_learned,
    learn_on_copies,
    prepare_to_learn,
    unchanged_on_error,
)
from frugalsvm.estimators.validation import AS_IT_IS, rows_that_count, validated_rows
from frugalsvm.exceptions import warn_caller

_LONG = 2**20  # values that threads look at side by side


@parameters
class KernelParameters:
    """What all estimators have parameters for.

    Parameters
    ----------
    kernel : str
        Kernel, see :ref:`kernels`.
    gamma : {"scale", "auto"} or float
        Kernel coefficient; "scale" is ``1 / X.var(axis=0).sum()``, with the standard deviations in place of the
        variances for "laplacian", from the rows given to `fit`, or from the first batch of `partial_fit`. "auto" is
        chosen on some thousands of these, in a fraction of a second, see :ref:`first-rows`.
    metric : {"diag", "full", "auto"}, array or None
        How the kernel measures distances. None: all features count alike. "diag" learns a factor for each feature, so
        that those that do not matter do not count; "full" a matrix, for directions across features (not with
        "laplacian", nor for sparse rows). "auto" learns both, and takes what does best on rows that none of them was
        learned from, the plain metric included. `partial_fit` learns it from the first batch; then it stays. Unless
        gamma is a number, it is learned along with it. An array of factors, or a matrix with a column for each
        feature, is taken as it is: such as ``metric_`` of another model. See :ref:`metric`.
    degree : int
        Degree of the polynomial kernel.
    coef0 : float
        Constant of the polynomial kernel.
    n_jobs : int
        Threads; None is one, -1 all cores.
    verbose : int
        With 1, `fit` shows its progress in a line on standard error: rows, rows per second, time left, and how
        good the model is.
    random_state : int, RandomState instance or None
        For shuffling.
    """

    kernel: Any = parameter(default="rbf", check=one_of(KERNELS))
    gamma: float | str = "scale"
    degree: Any = 3
    coef0: Any = 1.0
    n_jobs: Any = parameter(default=None, check=threads)
    verbose: Any = parameter(default=0, check=verbosity)
    random_state: Any = None


class KernelEstimator(KernelParameters, CallbackSupport, ThreadSafe, BaseEstimator):
    """Base of all estimators: a kernel, and rows in a metric, and relative to an origin, if it is one of differences.

    Subclasses define ``_constraints``, what single parameters may be; ``_check_params``, where some do not go together;
    and, where the origin may move, ``_move_rows(shift)``, which subtracts a vector from all rows of the model, in new
    arrays.

    Attributes
    ----------
    gamma_ : float
    metric_, feature_importances_ : ndarray
        With a metric: what rows are multiplied by, shape (n_features,) or (n_directions, n_features), and the share
        that each feature has in distances then.
    model_bytes_ : int
    t_ : int
    n_features_in_ : int
    """

    _kernel: Any
    _origin: Origin | None = None
    _metric: Metric | None = None
    _first_dtype: Any = None  # the type of the first rows; None is that which they have
    _in_float32 = False  # whether kernels are computed in float32 whatever type the rows have
    _narrowing = 2.0  # times the gamma of ridge machines is the one for this, where it is to be chosen
    _widest = 2.0**-5  # factor of the usual gamma with which ridge machines are tried
    _least_gamma = 0.0  # of those that may be chosen, in multiples of what is usual
    _stays = False  # whether the origin is that of the first rows for ever
    _changed_in_place: ClassVar[tuple[str, ...]] = ()  # attributes with arrays that learning writes to

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def check_parameters(self) -> None:
        """Raise ValueError, with a sentence that says what to do, if parameters are wrong or do not go together."""
        self._check_params()

    def _check_params(self):
        check_constraints(self)
        if isinstance(self.kernel, str):
            check_metric(getattr(self, "metric", None), self.kernel)

    @property
    def kernel_(self):
        """The kernel, a part with its parameters as numbers (`frugalsvm.core.kernels`)."""
        return self._kernel

    @learned
    def gamma_(self):
        """The kernel's gamma as a number; None for a kernel without one."""
        return getattr(self._kernel, "gamma", None)

    @property
    def origin_(self) -> Origin | None:
        """What rows are relative to before the kernel sees them (`frugalsvm.core.seen_rows`); None stays zero."""
        return self._origin

    def keep_origin(self, origin: Origin) -> None:
        """Take an origin at the same point, which has counted rows far from it: see `followed`."""
        self._origin = origin

    @property
    def metric_(self) -> np.ndarray | None:
        """What rows are multiplied by before the kernel sees them; None without a metric.

        A factor for each feature, shape (n_features,), or directions, shape (n_directions, n_features). Rows are as far
        apart with it, on average, as they are without it.
        """
        return None if self._metric is None else self._metric.map.copy()

    @property
    def metric_part_(self) -> Metric | None:
        """The metric as a part, which rows go through before the origin is subtracted (`frugalsvm.core.seen_rows`)."""
        return self._metric

    @property
    def feature_importances_(self) -> np.ndarray:
        """The share of each feature in the squared distances that the kernel sees, on average: they sum up to 1."""
        if self._metric is None:
            raise AttributeError(f"This {type(self).__name__} has no metric that tells features apart: set metric.")
        return importances(self._metric)

    @property
    def _width(self) -> int:
        """Number of features that the kernel sees."""
        return self.n_features_in_ if self._metric is None else self._metric.width

    @property
    def _sees_rows_as_they_are(self) -> bool:
        return self._metric is None and (self._origin is None or self._origin.is_zero)

    def check_size(self, X) -> None:
        """Refuse rows whose squared norms are too large for the type in which kernels are computed."""
        check_size(X, self._type_of(X))

    def _check_values(self, X):
        is_long = isinstance(X, np.ndarray) and X.size > _LONG
        threads = self._threads() if is_long else ONE_THREAD
        with blas_threads(None) if threads.count > 1 else nullcontext():
            check_values(X, self._type_of(X), getattr(self, "feature_names_in_", None), threads)

    def _type_of(self, X):
        """The type in which kernels of rows are computed."""
        return np.dtype(np.float32) if self._in_float32 or is_torch(X) or X.dtype.kind != "f" else X.dtype

    def _new_rows(self, X, dtype):
        """Validated rows of an estimator that is to be fitted; their origin is not known yet."""
        X = validated_rows(self, X, reset=True, dtype=dtype, check_finite=False)
        self._check_values(X)
        return X

    def _known_rows(self, X, dtype):
        """Validated rows of a fitted estimator, in its metric, relative to its origin and of its type."""
        if self._sees_rows_as_they_are:
            X = validated_rows(self, X, reset=False, dtype=dtype, check_finite=False)
        else:
            # Rounding comes after the subtraction.
            X = validated_rows(self, X, reset=False, dtype=AS_IT_IS if dtype == AS_IT_IS else None)
            row_dtype = self._type_of(X) if dtype in (None, AS_IT_IS) else dtype
            X = self._as_seen(X, row_dtype)
        self._check_values(X)
        return X

    def _as_seen(self, X, dtype):
        """Rows or a tensor as the kernel sees them: in the metric, relative to the origin."""
        if is_torch(X):
            return relative_rows(rows_in_metric(X, self._metric, dtype), self._origin, dtype)
        return seen_rows(X, self._metric, self._origin, dtype, self._threads())

    def _threads(self) -> Threads:
        return Threads(thread_count(getattr(self, "n_jobs", None)))

    def _with_metric(self, X, targets, weights, random_state, *, whole, out=None):
        """Take or learn the metric for the first rows (``whole`` if no more will come); returns them in it.

        ``targets()`` has signs of classes or values, shape (n_outputs, n); ``out`` is as in `in_metric`.
        """
        self.__dict__.pop("_metric", None)
        if getattr(self, "metric", None) is not None:
            self._metric = metric_for(self, X, targets(), weights, random_state, whole=whole)
            X = rows_in_metric(X, self._metric, self._type_of(X), out=out, threads=self._threads())
        self._choose(X, targets, weights, whole=whole)
        return X

    def _choose(self, X, targets, weights, *, whole):
        """Find values for parameters that are "auto"."""
        self._chosen = None
        if chooses(self):
            self._chosen = choice_of(self, X, targets, weights, whole=whole)
        self._take_strength(self._chosen, X.shape[0] if whole else None)

    def _take_strength(self, choice, n_rows):
        """Keep what was chosen, or take what is usual (None); of a stream, the number of rows is not known (None)."""

    def _new_kernel(self, X):
        """The kernel for rows as it will see them, or for their moments."""
        learned = 0.0 if self._metric is None else self._metric.gamma
        gamma, chosen = self.gamma, self.__dict__.pop("_chosen", None)
        if isinstance(gamma, str) and learned > 0:
            gamma = learned
        elif is_auto(gamma) and chosen is not None:
            gamma = chosen.gamma
        return new_kernel(self.kernel, gamma, self.degree, self.coef0, X)

    def _with_origin(self, X, known=None, *, whole):
        """Take the origin from the first rows (``whole`` if no more will come); returns them relative to it.

        ``known`` are those of them that tell the origin; None is all.
        """
        self.__dict__.pop("_origin", None)
        names = getattr(self, "feature_names_in_", None)
        known = X if known is None else known
        origin = first_origin(known, self._kernel, self._type_of(X), whole=whole, names=names)
        if origin is not None:
            self._origin = origin
        return relative_rows(X, origin, self._type_of(X))

    def _follow(self, X):
        """Move the origin if the rows of a stream, relative to it, have moved away; returns the rows."""
        check_powers(X, self._kernel, self._type_of(X))
        if self._origin is None or is_torch(X):
            return X
        before = self._origin
        self._origin, shift = followed(before, X, self._kernel, self._type_of(X))
        if shift is None:
            return X
        if self._stays:
            self._origin = origin_at(before.point)
            warn_caller(
                "The rows have moved so far away from the first ones that kernel values lose digits: call fit again.",
                UserWarning,
            )
            return X
        learn_on_copies(self)  # what is moved may share arrays with what was there before
        self._move_rows(shift)
        return relative(X, origin_at(shift), X.dtype)

    def _widen_origin(self, n_new):
        """Take up features that were zero in all rows so far."""
        if self._metric is not None:
            raise ValueError(f"A {type(self).__name__} with a metric cannot take up new features.")
        if self._origin is not None:
            self._origin = origin_at(np.concatenate([self._origin.point, np.zeros(n_new)]))
        self.n_features_in_ += n_new
        self.__dict__.pop("feature_names_in_", None)

    def _empty_caches(self):
        """Forget kernel values that are kept, because they may not be those of the model any more."""


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
