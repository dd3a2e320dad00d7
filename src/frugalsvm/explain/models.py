"""From fitted models to what is explained: an expansion in a kernel that is a product or a sum over features."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from frugalsvm.core.capabilities import offers
from frugalsvm.core.kernels import KERNELS
from frugalsvm.exact.one_vs_one import pairs_of
from frugalsvm.explain.columns import Columns, columns_for
from frugalsvm.explain.sampling import SampledModel
from frugalsvm.export import plain_model
from frugalsvm.export.models import PlainModel
from frugalsvm.export.shares import InseparableError, able_kernels, can_share, check_shares, input_of_features, refusal
from frugalsvm.lowrank.fourier import DenseFourier, StructuredFourier
from frugalsvm.lowrank.own_kernel import OwnKernel


class ExplainedModel:
    """A fitted model as ``f(x) = sum_i a_i K(x, v_i) + b`` over the features of users' columns.

    Attributes
    ----------
    columns : Columns
        The way from rows of users to those of the estimator inside.
    kernel : NamedTuple
        A part (`frugalsvm.core.kernels`) that is multiplicative or additive.
    vectors : ndarray of shape (n_vectors, n_features)
        As the kernel sees them.
    coefficients : ndarray of shape (n_outputs, n_vectors)
    intercepts : ndarray of shape (n_outputs,)
    members : list of ndarray
        For each column the features, of those that the kernel sees, that are made of it. None for a column that does
        not count.
    """

    def __init__(self, columns: Columns):
        self.columns = columns
        self._model = model = _plain(columns.estimator)
        self.vectors = model.vectors.astype(np.float64)
        self.coefficients, self.intercepts = model.coefficients, model.intercepts
        part: Any = KERNELS[model.kernel]
        given = {name: getattr(model, name) for name in part._fields}
        self.kernel = part(**given)
        self.members = _seen(columns.members(), model)

    @property
    def is_multiplicative(self) -> bool:
        return offers(self.kernel, "multiplicative")

    def rows(self, X: Any) -> NDArray:
        """Rows of users as the kernel sees them, in float64."""
        return self.seen(self.columns.prepared(X))

    def seen(self, rows: NDArray) -> NDArray:
        """Rows of the estimator inside as its kernel sees them."""
        return np.ascontiguousarray(self._model.scaled(rows))

    def kernel_values(self, rows: NDArray) -> NDArray:
        """Kernel values of such rows with all vectors."""
        return self._model.kernel_values(rows)

    def values(self, rows: NDArray) -> NDArray:
        """Values of all outputs for such rows, shape (n_rows, n_outputs)."""
        return self.kernel_values(rows) @ self.coefficients.T + self.intercepts

    def partial_values(self, rows: NDArray, features: NDArray) -> NDArray:
        """Kernel values of some features of such rows alone: products of their factors, or sums of their terms."""
        rows, model = rows[:, features], self._model._replace(vectors=self.vectors[:, features])
        if not len(features):
            return np.full((len(rows), len(self.vectors)), 1.0 if self.is_multiplicative else 0.0)
        return model.kernel_values(rows)

    def restored(self) -> NDArray:
        """The vectors as rows of users, shape (n_vectors, n_columns), as far as that is known."""
        rows, model = self.vectors, self._model
        if model.directions is not None:
            used, places = model.directions.max(axis=1) + model.directions.min(axis=1), model.directions != 0.0
            whole = np.full((len(rows), model.n_features), np.nan)
            whole[:, places.argmax(axis=1)] = rows / used
            rows = whole
        rows = rows * (1.0 if model.scale is None else model.scale) + (0.0 if model.mean is None else model.mean)
        return self.columns.restored(rows)

    @property
    def has_two_classes(self) -> bool:
        """Whether the sign of the value decides between two classes."""
        return self._model.decision == "sign"

    def terms(self, values: NDArray, feature: int) -> NDArray:
        """What a feature adds to the kernel values of rows with all vectors, if the kernel is a sum."""
        pair = np.minimum if offers(self.kernel, "by_feature") else np.multiply
        return pair.outer(values, self.vectors[:, feature])

    def output_names(self, n_outputs: int) -> list[str]:
        """What a value that is large speaks for."""
        decision = self._model.decision
        if decision in ("value", "inlier"):
            return ["value"] if n_outputs == 1 else [f"output {k + 1}" for k in range(n_outputs)]
        classes = list(map(str, self._model.known_classes()))
        if decision == "sign":
            return classes[1:]
        if decision == "votes":
            return [f"{classes[second]} rather than {classes[first]}" for first, second in pairs_of(len(classes))]
        return classes


def explained(estimator: Any) -> ExplainedModel:
    """What can be explained of a fitted estimator, exactly."""
    return ExplainedModel(columns_for(estimator))


def any_explained(columns: Columns) -> ExplainedModel | SampledModel:
    """The same, or a model of which only values are known."""
    try:
        return ExplainedModel(columns)
    except InseparableError:
        return SampledModel(columns)


def _plain(estimator: Any) -> PlainModel:
    inner = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    if not isinstance(inner, PlainModel):
        _check(inner)
    model = plain_model(estimator)
    if model.cells is not None:
        raise InseparableError(
            "Rows of different columns fall into different cells: a model in cells is no sum of kernels. Take "
            "background rows, with which shares are sampled, or one cell (cell_size) for exact ones."
        )
    check_shares(model)
    return model


def _check(estimator: Any) -> None:
    """Refuse what has no factors, in words that are about explanations."""
    if getattr(estimator, "sorts_predictions", False):
        raise InseparableError("Sorted quantiles are not sums of kernels: set non_crossing=False to explain them.")
    feature_map = getattr(estimator, "_map", None)
    if isinstance(feature_map, DenseFourier | StructuredFourier):
        raise InseparableError(
            "Random Fourier features mix all columns: fit with feature_map='nystroem' to explain a model."
        )
    kernel = getattr(feature_map, "kernel", None) or getattr(estimator, "kernel_", None)
    if isinstance(kernel, OwnKernel):
        raise InseparableError(
            f"A model with a KernelSum or a kernel function of your own cannot be explained: fit with one of "
            f"{able_kernels()}."
        )
    if kernel is not None and not can_share(type(kernel)):
        names = {part: name for name, part in KERNELS.items()}
        raise InseparableError(refusal(names.get(type(kernel), type(kernel).__name__)))


def _seen(members: list[NDArray], model: PlainModel) -> list[NDArray]:
    """The features of columns in the order of the kernel, which does not see those whose factor is zero."""
    place = {int(column): k for k, column in enumerate(input_of_features(model))}
    return [np.array([place[int(f)] for f in each if int(f) in place], np.int64) for each in members]
