"""From fitted estimators to plain numbers."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_outlier_detector
from sklearn.utils.validation import check_is_fitted

from frugalsvm.auto import AutoSVC, AutoSVR
from frugalsvm.core.kernels import KERNELS
from frugalsvm.core.seen_rows import Directions, Factors, Metric, mapped, out_of_metric
from frugalsvm.estimators.bsgd_one_class import BSGDOneClassSVM
from frugalsvm.estimators.bsgd_regressor import BSGDRegressor
from frugalsvm.estimators.expansion_model import ExpansionModel
from frugalsvm.estimators.incremental import IncrementalSVC
from frugalsvm.estimators.local_machine import LocalMachine
from frugalsvm.estimators.low_rank_machine import LowRankMachine
from frugalsvm.export._cells import plain_cells
from frugalsvm.export.models import PlainModel
from frugalsvm.lowrank.fourier import DenseFourier, StructuredFourier, hadamard
from frugalsvm.lowrank.nystroem import Nystroem
from frugalsvm.lowrank.own_kernel import OwnKernel
from frugalsvm.pipelines import StreamingScaler, StreamPipeline

# Kernels that can be exported
_EXPORTED = (
    "rbf", "laplacian", "matern12", "matern32", "matern52", "chi2", "intersection", "tanimoto", "cosine", "poly",
    "linear",
)  # fmt: skip
_KERNEL_NAMES: dict[type, str] = {KERNELS[name]: name for name in _EXPORTED}
_OF_PRODUCTS = ("poly", "linear", "fourier")  # see only products of a row with vectors
_BEYOND_LARGEST = 3.0  # times a value: a limit, two thirds of which (see `clipping`) are still more than that
_SORTED = "Sorted quantiles cannot be exported: set non_crossing=False, and sort the scores."
FREQUENCIES_AT_A_TIME = 256  # structured frequencies that are made together


def plain_model(estimator: Any) -> PlainModel:
    """The numbers of a fitted model: everything that its predictions need.

    Parameters
    ----------
    estimator : estimator, Pipeline or PlainModel
        Any fitted classifier, regressor or outlier detector of this library; `AutoSVC` or `AutoSVR`; a
        `StreamPipeline`, with its columns of text and missing values; or a scikit-learn pipeline of `StandardScaler` or
        `StreamingScaler` and one of them.

    Returns
    -------
    PlainModel

    Examples
    --------
    >>> from frugalsvm import ASSETRegressor
    >>> from frugalsvm.export import plain_model
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> model = plain_model(ASSETRegressor(n_components=16, random_state=0).fit(X, X[:, 0]))
    >>> model.kernel, model.vectors.shape, model.decision
    ('rbf', (16, 2), 'value')
    """
    from sklearn.pipeline import Pipeline  # which imports all preprocessing, and scipy.stats

    if isinstance(estimator, PlainModel):
        return estimator
    if isinstance(estimator, Pipeline):
        return _of_pipeline(estimator)
    if isinstance(estimator, AutoSVC | AutoSVR):
        check_is_fitted(estimator)
        return _of_stream_pipeline(estimator.pipeline_)
    if isinstance(estimator, StreamPipeline):
        return _of_stream_pipeline(estimator)
    if isinstance(estimator, LowRankMachine):
        return _of_low_rank(estimator)
    if isinstance(estimator, LocalMachine):
        return _of_cells(estimator)
    if isinstance(estimator, ExpansionModel):
        return _of_expansion(estimator)
    what = type(estimator).__name__ if isinstance(estimator, BaseEstimator) else repr(estimator)
    raise TypeError(f"Only fitted estimators of frugalsvm can be exported, not {what}.")


def _of_pipeline(pipeline):
    from sklearn.preprocessing import StandardScaler

    *scalers, (_, last) = pipeline.steps
    model = plain_model(last)
    for name, step in reversed(scalers):
        if step is None or step == "passthrough":
            continue
        if not isinstance(step, StandardScaler | StreamingScaler):
            raise TypeError(
                f"Step {name!r} of the pipeline is a {type(step).__name__}: only StandardScaler and StreamingScaler "
                "are exported."
            )
        check_is_fitted(step)
        if isinstance(step, StreamingScaler):
            model = _behind_scaler(model, step)
        else:
            center = step.mean_ if step.with_mean else None
            model = model.with_scaling(_for_all(model, center, 0.0), _for_all(model, step.scale_, 1.0))
    return model


def _behind_scaler(model, scaler):
    center = _for_all(model, scaler.center_ if scaler.centres_ else None, 0.0)
    scale, limit = _for_all(model, scaler.scale_, 1.0), _for_all(model, scaler.limit_, _beyond(model))
    return model.with_scaling(center, scale, limit, soft_clip=scaler.soft_clip)


def _beyond(model) -> float:
    """A limit that changes nothing of what is encoded."""
    largest = 1.0 if model.encoder is None else model.encoder.largest_
    return _BEYOND_LARGEST * max(largest, 1.0)


def _for_all(model, numbers, value):
    """Numbers for the first features, or None, with a value for each feature after them, which are not scaled."""
    return None if numbers is None else np.concatenate([numbers, np.full(model.n_features - model.n_numbers, value)])


def _of_stream_pipeline(pipeline):
    check_is_fitted(pipeline)
    if pipeline.n_held_:
        raise ValueError(f"{pipeline.n_held_} rows are held back: call flush() to learn them before the export.")
    encoder = pipeline.encoder_
    if encoder is not None and encoder.method == "hash":
        raise ValueError(
            "A pipeline with ColumnEncoder('hash') cannot be exported: encode columns of text with "
            "ColumnEncoder('onehot'), or leave out columns with thousands of categories."
        )
    if pipeline._map is not None:
        raise ValueError(
            f"The feature map of this pipeline, {type(pipeline._map).__name__}, cannot be exported; export its "
            "estimator_ instead, for rows that were mapped, or let ASSETClassifier make the features."
        )
    model, scaler, filler = plain_model(pipeline.estimator_), pipeline.scaler_, getattr(pipeline, "filler_", None)
    model = model._replace(
        encoder=encoder, indicated=None if filler is None or not pipeline.indicates else filler.indicated_
    )
    if scaler is not None:
        model = _behind_scaler(model, scaler)
    return model if filler is None else model._replace(filling=_for_all(model, filler.statistics_, 0.0))


def _of_expansion(estimator):
    check_is_fitted(estimator)
    classes = getattr(estimator, "classes_", None)
    if classes is not None and len(classes) < 2:
        raise ValueError(f"The model has seen one class only, {classes.tolist()[0]!r}: there is nothing to export yet.")
    if isinstance(estimator, BSGDRegressor) and estimator.sorts_predictions:
        raise ValueError(_SORTED)
    vectors, coefficients = estimator.support_rows().copy(), estimator.dual_coef_
    decision = _decision_of(estimator, classes)
    if isinstance(estimator, IncrementalSVC) and decision == "argmax":
        decision = "votes"
    intercepts, dtype = estimator.intercept_, estimator.row_dtype_
    if isinstance(estimator, BSGDOneClassSVM):
        intercepts = intercepts - estimator.offset_  # outliers are below zero
    model = _of_kernel(estimator.kernel_, vectors, coefficients, intercepts, decision, classes, dtype)
    return _for_rows_as_they_are(model, estimator)


def _of_cells(estimator):
    check_is_fitted(estimator)
    scale = getattr(estimator, "_target_scale", None)
    rows, trees = estimator.machines()
    cells, coefficients = plain_cells(trees, 1.0 if scale is None else scale.spread)
    intercepts = np.zeros(len(coefficients)) if scale is None else scale.center.copy()
    if cells.has_one_machine:
        coefficients, intercepts = cells.joined(coefficients, len(rows)), intercepts + cells.intercepts.sum(0)
    classes = getattr(estimator, "classes_", None)
    decision = _decision_of(estimator, classes)
    model = _of_kernel(estimator.kernel_, rows.copy(), coefficients, intercepts, decision, classes, rows.dtype)
    return _for_rows_as_they_are(model._replace(cells=None if cells.has_one_machine else cells), estimator)


def _for_rows_as_they_are(model, estimator):
    """The model for rows of users, where those of the estimator are in a metric, and relative to an origin."""
    origin = estimator.origin_
    point = None if origin is None or origin.is_zero else origin.point
    if estimator.metric_part_ is not None:
        return _in_metric(model, estimator.metric_part_, np.zeros(model.n_features) if point is None else point)
    return model if point is None else model.with_scaling(point, None)


def _in_metric(model, metric: Metric, origin):
    """The model for rows x, where its own rows are ``A (x - center) - origin``."""
    mean = metric.center
    if origin.any():  # as much of it as can be goes into the mean, among the inputs; the rest into the model
        mean = out_of_metric(origin, metric)
        model = _shifted(model, origin - mapped(mean - metric.center, metric.map))
    if model.kernel in _OF_PRODUCTS:
        # Products with rows are then those of the vectors with the rows in the metric.
        model = _mapped(model, lambda v: v * metric.factors if isinstance(metric, Factors) else v @ metric.directions)
        return model.with_scaling(mean, None) if mean.any() else model
    if isinstance(metric, Directions):
        return model._replace(directions=metric.directions).with_scaling(mean, None)
    if metric.factors.all():
        signs = np.sign(metric.factors).astype(model.vectors.dtype)
        model = _mapped(model, lambda vectors: vectors * signs)
        return model.with_scaling(mean, 1.0 / np.abs(metric.factors))
    used = np.flatnonzero(metric.factors)  # features that do not count are left out
    model = _mapped(model, lambda vectors: np.ascontiguousarray(vectors[:, used]))
    return model._replace(directions=np.diag(metric.factors)[used]).with_scaling(mean, None)


def _mapped(model, change):
    """The model with changed vectors: its rows are changed like them, or have the same products with these."""
    cells = None if model.cells is None else model.cells.mapped(change)
    return model._replace(vectors=change(model.vectors), cells=cells)


def _shifted(model, rest):
    """The model for rows from which a vector has not been subtracted yet."""
    if model.kernel == "fourier":
        return model._replace(offsets=model.offsets - model.vectors @ rest)
    cells = None if model.cells is None else model.cells.shifted(rest)
    return model._replace(vectors=model.vectors + rest, cells=cells)


def _decision_of(estimator, classes):
    if classes is None:
        return "inlier" if is_outlier_detector(estimator) else "value"
    return "sign" if len(classes) == 2 else "argmax"


def _of_kernel(kernel, vectors, coefficients, intercepts, decision, classes, dtype):
    if len(vectors) == 0:  # a vector without weight: C has no empty arrays
        vectors = np.zeros((1, vectors.shape[1]), dtype)
        coefficients = np.zeros((len(intercepts), 1))
    if isinstance(kernel, OwnKernel):
        raise ValueError(
            "A model with a KernelSum or a kernel function of your own cannot be exported: fit it with one kernel that "
            "has a name."
        )
    name = _KERNEL_NAMES.get(type(kernel))
    if name is None:
        known = ", ".join(_EXPORTED)
        raise ValueError(f"The kernel {type(kernel).__name__} cannot be exported: only {known} can.")
    coefficients, intercepts = np.asarray(coefficients, np.float64), np.asarray(intercepts, np.float64)
    return PlainModel(name, vectors, coefficients, intercepts, decision, classes, dtype=dtype, **kernel._asdict())


def _of_low_rank(estimator):
    check_is_fitted(estimator)
    feature_map = getattr(estimator, "_map", None)
    if feature_map is None:
        raise ValueError(f"This {type(estimator).__name__} has learned nothing yet: there is nothing to export.")
    if getattr(estimator, "sorts_predictions", False):
        raise ValueError(_SORTED)
    # Labels in columns are values, which are positive where a row has the label.
    classes = None if getattr(estimator, "multilabel_", False) else getattr(estimator, "classes_", None)
    decision = _decision_of(estimator, classes)
    single = np.dtype(np.float32)
    if isinstance(feature_map, Nystroem):
        numbers = feature_map.landmarks.copy(), estimator.dual_coef_, estimator.intercept_
        return _for_rows_as_they_are(_of_kernel(feature_map.kernel, *numbers, decision, classes, single), estimator)
    vectors = _frequencies(feature_map)
    amplitude = np.sqrt(2.0 / len(vectors))
    coefficients = amplitude * estimator.coef_
    offsets = feature_map.offsets.copy()
    model = PlainModel(
        "fourier", vectors, coefficients, estimator.intercept_, decision, classes, offsets=offsets, dtype=single
    )
    return _for_rows_as_they_are(model, estimator)


def _frequencies(fourier: DenseFourier | StructuredFourier):
    """The frequencies of a map in turns, shape (n_components, n_features)."""
    if isinstance(fourier, DenseFourier):
        return np.ascontiguousarray(fourier.frequencies.T)
    p, n_components = fourier.factors.shape[2], fourier.offsets.size
    out = np.empty((n_components, fourier.n_features))
    for start in range(0, n_components, FREQUENCIES_AT_A_TIME):
        end = min(start + FREQUENCIES_AT_A_TIME, n_components)  # a block is a power of two: parts of one or whole ones
        for first in range(start, end, p):
            indices = np.arange(first, min(first + p, end))
            out[indices] = _structured_rows(fourier.factors[first // p], indices % p)[:, : fourier.n_features]
    return out


def _structured_rows(factors, rows):
    """Rows of ``diag(f3) H diag(f2) H diag(f1) H diag(f0)``, made from its transpose and unit vectors."""
    p = factors.shape[1]
    work = np.zeros((len(rows), p))
    work[np.arange(len(rows)), rows] = factors[3, rows]
    for stage in (2, 1, 0):
        work = hadamard(work) * factors[stage]
    return work
