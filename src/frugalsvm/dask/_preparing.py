"""From partitions as users have them to rows that learners take: checks, classes, weights, samples."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse, vstack
from sklearn.base import clone, is_classifier, is_outlier_detector
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from frugalsvm.core.moments import Moments, joined_moments, moments_of
from frugalsvm.core.seen_rows import Metric, Origin, seen_rows
from frugalsvm.estimators.labels import check_two_classes, distinct_labels, encoded_labels, refuse_empty_classes
from frugalsvm.estimators.targets import checked_targets
from frugalsvm.estimators.validation import validated_rows
from frugalsvm.pipelines.frames import as_numbers, is_frame, kinds_of

VALIDATION_ROWS = 10_000  # at most; they are kept with the client


class Survey(NamedTuple):
    """What a look at one partition finds."""

    number: int
    n_rows: int  # with a weight
    n_features: int
    names: tuple | None
    dtype: np.dtype
    sparse: bool
    n_bytes: int
    labels: np.ndarray  # the different ones; none of regression
    counts: np.ndarray  # of the labels
    moments: Moments | None  # of the rows; None where there are none
    target_shape: tuple[int, ...] | None = None  # of the targets of a row, in regression


class Overview(NamedTuple):
    """All partitions that have rows, taken together."""

    numbers: list[int]
    n_rows: np.ndarray
    n_features: int
    names: np.ndarray | None
    dtype: np.dtype
    sparse: bool
    n_bytes: int
    classes: np.ndarray | None  # None in regression
    counts: np.ndarray
    moments: Moments
    target_shape: tuple[int, ...] | None = None  # of the targets of a row, in regression


class Plan(NamedTuple):
    """How partitions are prepared, the same for all."""

    classes: np.ndarray | None
    dtype: np.dtype
    class_weights: np.ndarray | None
    seed: int
    metric: Metric | None = None  # rows are in it
    origin: Origin | None = None  # and then relative to it


class Rows(NamedTuple):
    """A partition in random order; its first rows are validation rows."""

    number: int
    X: Any
    labels: np.ndarray  # indices of classes; or targets (n_rows, n_targets)
    weights: np.ndarray | None
    n_validation: int

    @property
    def n_rows(self) -> int:
        return len(self.labels)

    def part(self, chosen: slice | np.ndarray) -> tuple[Any, np.ndarray, np.ndarray | None]:
        weights = None if self.weights is None else as_made_here(self.weights)[chosen]
        return as_made_here(self.X)[chosen], as_made_here(self.labels)[chosen], weights


def as_made_here(value: Any) -> Any:
    """Arrays as they are when they are made here, also in tuples.

    What comes from another machine may be read-only or not aligned, for which other machine code is compiled, and that
    rounds otherwise.
    """
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufV":
        return np.require(value, requirements=("C_CONTIGUOUS", "ALIGNED", "WRITEABLE"))
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(as_made_here, value))
    return value


def checked(number: int, X: Any, y: Any, weight: Any, estimator: Any):
    """Rows, labels and weights as arrays; every complaint names the partition."""
    with naming(number):
        return _arrays(X, y, weight, clone(estimator))


@contextmanager
def naming(number: int) -> Iterator[None]:
    """Complaints about rows name their partition."""
    try:
        yield
    except (ValueError, TypeError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"Partition {number}: {error}") from error


def _arrays(X: Any, y: Any, weight: Any, estimator: Any):
    names = getattr(X, "columns", None)
    names = tuple(names) if names is not None and all(isinstance(name, str) for name in names) else None
    y = np.zeros(X.shape[0]) if is_outlier_detector(estimator) else np.asarray(y)
    y = y.ravel() if is_classifier(estimator) else y
    if getattr(X, "ndim", 2) != 2:
        raise ValueError(f"rows must have two dimensions, not {X.ndim}.")
    if X.shape[0] != len(y):
        raise ValueError(f"there are {X.shape[0]} rows, but {len(y)} labels.")
    if weight is not None:
        weight = np.asarray(weight, np.float64).ravel()
        if len(weight) != len(y):
            raise ValueError(f"there are {len(y)} rows, but {len(weight)} weights.")
        if not (np.isfinite(weight).all() and (weight >= 0).all()):
            raise ValueError("weights must be finite and not negative.")
    if not len(y):
        return X, y, weight, names
    if is_frame(X):
        check_numbers(X)
    X = X if issparse(X) or isinstance(X, np.ndarray) else X.to_numpy() if hasattr(X, "to_numpy") else np.asarray(X)
    X = validated_rows(estimator, X, reset=True)
    estimator.check_size(X)
    if not is_classifier(estimator):
        checked_targets(type(estimator).__name__, y, X)
        return X, y.astype(np.float64), weight, names
    if y.dtype.kind not in "iub":
        y = np.asarray(y.tolist()) if y.dtype.kind == "O" else y
        check_classification_targets(y)
    return X, y, weight, names


def check_numbers(frame: Any) -> None:
    """Refuse columns of text by name."""
    for name in kinds_of(frame).text or ():
        values = frame[name].to_numpy()
        if as_numbers(values) is None:
            odd = next(value for value in values if as_numbers([value]) is None)
            raise ValueError(
                f"column {name!r} has values that are not numbers, such as {str(odd)!r}: turn it into numbers, leave "
                "it out, or encode text with DaskPipeline(..., encoder=ColumnEncoder())."
            )


def examined(number: int, X: Any, y: Any, weight: Any, estimator: Any) -> Survey:
    """A look at one partition."""
    X, y, weight, names = checked(number, X, y, weight, estimator)
    shape = None if is_classifier(estimator) else y.shape[1:]
    labels, counts = (np.zeros(0), np.zeros(0)) if shape is not None or not len(y) else _counted(y, weight)
    n_rows = len(y) if weight is None else int((weight > 0).sum())
    if not n_rows:
        return Survey(number, 0, X.shape[1], names, np.dtype(np.float32), False, 0, labels, counts, None)
    entries = X.data if issparse(X) else X.ravel()
    n_bytes = entries.nbytes + (X.indices.nbytes if issparse(X) else 0)
    moments = moments_of(X)
    return Survey(number, n_rows, X.shape[1], names, X.dtype, issparse(X), n_bytes, labels, counts, moments, shape)


def _counted(y: np.ndarray, weight: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """The different labels, and how many rows with a weight have each."""
    labels = distinct_labels(y)
    indices = encoded_labels(y, labels, labels, may_grow=False)
    return labels, np.bincount(indices if weight is None else indices[weight > 0], minlength=len(labels))


def overview_of(surveys: list[Survey]) -> Overview:
    """All partitions taken together, if they go together."""
    filled = [survey for survey in surveys if survey.n_rows]
    if not filled:
        raise ValueError("All partitions are empty: there are no rows to learn from.")
    first = filled[0]
    for survey in filled:
        _check_alike(first, survey)
    labeled = [survey for survey in surveys if len(survey.labels)]
    classes, counts = _classes_of(labeled) if first.target_shape is None else (None, np.zeros(0, np.int64))
    n_rows = np.array([survey.n_rows for survey in filled])
    return Overview(
        numbers=[survey.number for survey in filled],
        n_rows=n_rows,
        n_features=first.n_features,
        names=None if first.names is None else np.array(first.names, object),
        dtype=np.result_type(*(survey.dtype for survey in filled)),
        sparse=any(survey.sparse for survey in filled),
        n_bytes=sum(survey.n_bytes for survey in filled),
        classes=classes,
        counts=counts,
        moments=reduce(joined_moments, [survey.moments for survey in filled if survey.moments is not None]),
        target_shape=first.target_shape,
    )


def _classes_of(surveys: list[Survey]) -> tuple[np.ndarray, np.ndarray]:
    """The classes of all partitions, and how many rows each has."""
    classes = np.unique(np.concatenate([survey.labels for survey in surveys]))
    check_two_classes(classes)
    counts = np.zeros(len(classes), np.int64)
    for survey in surveys:
        counts[np.searchsorted(classes, survey.labels)] += survey.counts
    refuse_empty_classes(classes, counts == 0)
    return classes, counts


def _check_alike(first: Survey, survey: Survey) -> None:
    if survey.n_features != first.n_features:
        raise ValueError(
            f"Partition {survey.number} has {survey.n_features} features, but partition {first.number} has "
            f"{first.n_features}: all must have the same."
        )
    if survey.names != first.names:
        raise ValueError(f"The columns of partition {survey.number} have other names than those of {first.number}.")
    if survey.target_shape != first.target_shape:
        raise ValueError(
            f"The targets of a row have the shape {survey.target_shape} in partition {survey.number}, but "
            f"{first.target_shape} in partition {first.number}."
        )
    if (survey.labels.dtype.kind in "biuf") != (first.labels.dtype.kind in "biuf"):
        raise ValueError(
            f"Partition {survey.number} has labels like {survey.labels.tolist()[0]!r}, which do not mix with "
            f"{first.labels.tolist()[0]!r} of partition {first.number}."
        )


def class_weights_of(overview: Overview, class_weight: Any) -> np.ndarray | None:
    """Weights of the classes, or None where all are 1."""
    if class_weight is None or overview.classes is None:
        return None
    if isinstance(class_weight, str) and class_weight == "balanced":
        return overview.counts.sum() / (len(overview.classes) * overview.counts)
    weights = compute_class_weight(class_weight, classes=overview.classes, y=overview.classes)
    refuse_empty_classes(overview.classes, weights == 0)
    return weights


def prepared(number: int, X: Any, y: Any, weight: Any, n_validation: int, estimator: Any, plan: Plan) -> Rows:
    """Rows in random order, with a type, labels and weights that learners take."""
    X, y, weight, _ = checked(number, X, y, weight, estimator)
    rng = np.random.default_rng([plan.seed, number])
    order = rng.permutation(len(y) if weight is None else np.flatnonzero(weight))
    labels = y[order].reshape(len(order), -1) if plan.classes is None else _indices(number, y[order], plan.classes)
    weights = None if weight is None else weight[order]
    if plan.class_weights is not None:
        weights = plan.class_weights[labels] * (1.0 if weights is None else weights)
    # Taking rows is several times as fast as indexing with an array.
    X = X[order] if issparse(X) else np.take(X, order, axis=0)
    X = seen_rows(X, plan.metric, plan.origin, plan.dtype)
    return Rows(number, X, labels, weights, n_validation)


def _indices(number: int, labels: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """The places of labels among the classes."""
    try:
        return encoded_labels(labels, distinct_labels(labels), classes, may_grow=False)
    except ValueError as error:
        raise ValueError(f"Partition {number} is not what it was in the first pass: {error}") from error


def raw_sample(
    number: int, X: Any, y: Any, weight: Any, n_validation: int, n_sample: int, estimator: Any, plan: Plan
) -> Rows:
    """Some of the rows that are not for validation, as they will be drawn again, before there is a metric."""
    return sampled(prepared(number, X, y, weight, n_validation, estimator, plan), n_sample)[1]


def sampled(rows: Rows, n_sample: int) -> tuple[Rows, Rows]:
    """The validation rows of a partition, and some of the others."""
    parts = (slice(rows.n_validation), slice(rows.n_validation, rows.n_validation + n_sample))
    validation, sample = (Rows(rows.number, *rows.part(part), 0) for part in parts)
    return validation, sample


def stacked(parts: list[Rows]) -> Rows:
    """Rows of several partitions as one."""
    X = rows_together([part.X for part in parts])
    weights = None if parts[0].weights is None else np.concatenate([part.weights for part in parts])
    return Rows(-1, X, np.concatenate([part.labels for part in parts]), weights, 0)


def rows_together(parts: list[Any]) -> Any:
    """Rows of several partitions as one: a data frame, a CSR matrix or an array."""
    if is_frame(parts[0]):
        import pandas as pd

        return pd.concat(parts, ignore_index=True)
    return vstack(parts, format="csr") if issparse(parts[0]) else np.concatenate(parts)


def shares(sizes: np.ndarray, total: int) -> np.ndarray:
    """A number of rows, shared between partitions by their sizes."""
    ends = np.concatenate([[0], np.cumsum(sizes)]) / max(int(sizes.sum()), 1)
    return np.minimum(np.diff(np.floor(ends * total + 1e-9)).astype(np.int64), sizes)
