"""The learner interface: what the edges (Dask, pipelines, exports, model files) use of an estimator.

All estimators with a kernel have

``check_parameters()``      refuses parameters that are wrong
``kernel_``, ``origin_``    the kernel as a part, and what rows are relative to before it sees them
``check_size(X)``           refuses rows that are too large for the type in which kernels are computed
`begin`                     makes one ready to learn from what is known of all data, without any rows

those whose model is a kernel expansion besides

``support_rows()``          the support vectors as the kernel sees them; ``row_dtype_`` is their type
``scoring_expansion()``     the model as compiled code scores with it

and the budgeted ones, which inherit `BudgetedClassifier`, their learners: state, learning, merging and scoring are
there (`frugalsvm.budgeted.learner.Learner`), in plain functions that need no estimator.
"""

from typing import Any, Protocol

import numpy as np

from frugalsvm.budgeted.learner import Learner
from frugalsvm.core.capabilities import offers
from frugalsvm.core.moments import Moments
from frugalsvm.core.origin import origin_of_moments
from frugalsvm.estimators._base import new_kernel
from frugalsvm.estimators._online import OnlineClassifier

__all__ = ["BudgetedClassifier", "Survey", "begin"]


class Survey(Protocol):
    """What a look at all data finds."""

    @property
    def n_features(self) -> int: ...
    @property
    def names(self) -> np.ndarray | None: ...  # of the features
    @property
    def dtype(self) -> np.dtype: ...  # of the rows
    @property
    def sparse(self) -> bool: ...
    @property
    def classes(self) -> np.ndarray: ...
    @property
    def moments(self) -> Moments: ...


def begin(estimator: Any, survey: Survey) -> None:
    """Make an estimator ready to learn: features, classes, the kernel, the origin and, if budgeted, an empty model."""
    estimator.n_features_in_, estimator.classes_ = survey.n_features, survey.classes
    if survey.names is not None:
        estimator.feature_names_in_ = survey.names
    kernel = new_kernel(estimator.kernel, estimator.gamma, estimator.degree, estimator.coef0, survey.moments)
    estimator._kernel = kernel
    if offers(kernel, "shift_invariant") and not survey.sparse:
        estimator._origin = origin_of_moments(survey.moments, np.float32 if estimator._in_float32 else survey.dtype)
    if isinstance(estimator, BudgetedClassifier):
        estimator._empty(survey.n_features, survey.dtype, survey.classes, np.random.RandomState(0))


class BudgetedClassifier(OnlineClassifier):
    """Base of classifiers that consist of learners, one or one for each class."""

    @property
    def state(self) -> Any:
        """What learning changes. It is another object if the model was replaced, not if it learned on."""
        raise NotImplementedError

    @property
    def learners(self) -> list[Learner]:
        """The learners as they are now."""
        raise NotImplementedError

    def set_learner(self, k: int, learner: Learner) -> None:
        """Exchange learner k for one of the same kind."""
        raise NotImplementedError

    def _empty(self, n_features: int, dtype: Any, classes: np.ndarray, random_state: Any) -> None:
        """Learners that have learned nothing, for the kernel that was chosen."""
        raise NotImplementedError

    def _start(self, X, classes, random_state):
        self._kernel = new_kernel(self.kernel, self.gamma, self.degree, self.coef0, X)
        self._empty(X.shape[1], X.dtype, classes, random_state)
