"""Pipelines and their parts in model files: attributes, and whether they fit together."""

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.multiclass import check_classification_targets

from frugalsvm._homes import ESTIMATORS, SEARCHES
from frugalsvm._stored import is_matrix
from frugalsvm.estimators.targets import check_target_size
from frugalsvm.persist.savable import Saved, check_parameters
from frugalsvm.persist.sklearn_steps import check_mapped, probe_rows
from frugalsvm.persist.values import (
    IS_BOOL,
    IS_FLOATS,
    NAMES_IN,
    are_names,
    array,
    integer,
    is_classes,
    list_of,
    object_of,
    of_type,
    or_none,
    part,
)

WATCHED = ("detector_", "drifts_", "_n_seen", "_n_boosted")  # with a detector of drift
_LARGEST_HELD = 1e100  # of values from which means and variances are to be taken
_LARGEST_LIMIT, _LEAST_SCALE = 1e9, 1e-30  # of scaled values, and of what they are divided by without a limit
_is_learner, _is_encoder = object_of(*ESTIMATORS, *SEARCHES), or_none(object_of("ColumnEncoder"))


def _are_batches(value: Any) -> bool:
    """Batches of rows that wait for the statistics of a pipeline."""
    return type(value) is tuple and all(map(part("rows"), value))


def _are_finite_rows(value: Any) -> bool:
    return is_matrix(value) and value.shape[0] > 0 and bool(np.isfinite(value.data if issparse(value) else value).all())


def _are_errors(value: Any) -> bool:
    """Sizes of errors, in increasing order."""
    right = array("f", 1)(value) and len(value) > 0
    return right and bool(value[0] >= 0.0 and (value[:-1] <= value[1:]).all())


def _is_detector(value: Any) -> bool:
    return callable(getattr(value, "update", None)) and hasattr(value, "drift_detected")


def _are_categories(value: Any) -> bool:
    is_text = type(value) is np.ndarray and value.ndim == 1 and value.dtype.kind == "U"
    return is_text and bool((value[:-1] < value[1:]).all())


def _is_row_dtype(value: Any) -> bool:
    return isinstance(value, np.dtype) and value.str[1:] in ("f4", "f8")


def _scaler(scaler: Any) -> bool:
    state = vars(scaler)
    arrays = [state.get(name) for name in ("mean_", "var_", "median_", "scale_", "limit_", "constant_")]
    if any(array is not None and array.shape != (scaler.n_features_in_,) for array in arrays):
        return False
    mean, var, median, scale, limit, constant = arrays
    if state.get("_watch") is not None and (limit is None or constant is None):
        return False  # there is nothing that rows could leave
    if scale is None:  # it is taken from the rows of a stream when it is needed
        return median is limit is constant is None and scaler._streams
    is_robust = median is not None
    if (median if is_robust else mean) is None or (scale <= 0).any() or (not is_robust and var is None):
        return False
    if limit is not None:  # scaled values are within it; where it is soft, there is room to be divided by
        least = np.finfo(np.float64).tiny / np.finfo(np.float64).eps if scaler.soft_clip else 0.0
        return constant is not None and bool(((limit >= least) & (limit <= _LARGEST_LIMIT * scale)).all())
    return bool((scale >= _LEAST_SCALE).all()) if is_robust else _standard_scaler(mean, var, scale, scaler.n_seen_)


def _standard_scaler(mean: np.ndarray, var: np.ndarray, scale: np.ndarray, n_seen: int) -> bool:
    if (var < 0).any():
        return False
    spread = np.sqrt(var)
    # Features that do not vary have the scale 1; for others, means beyond this leave no digits.
    usual = np.where(spread > 0, np.minimum(spread, 1.0), 1.0)
    far = np.abs(mean) > 1e16 * np.maximum(scale, spread)
    constant = spread <= n_seen * np.finfo(np.float64).eps * np.abs(mean)
    return bool((scale >= 0.999 * usual).all() and not (far & ~constant).any())


def _filler(filler: Any) -> bool:
    indicated = filler.indicated_
    right = bool((indicated[:-1] < indicated[1:]).all()) and (not indicated.size or indicated[0] >= 0)
    right = right and (not indicated.size or bool(indicated[-1] < filler.n_features_in_))
    shapes = {getattr(filler, name, filler.statistics_).shape for name in ("statistics_", "complete_")}
    return right and shapes == {(filler.n_features_in_,)}


def _encoder(encoder: Any) -> bool:
    n_expected = len(encoder.names_) if encoder.method != "hash" else 0
    right = encoder.names_ == sorted(set(encoder.names_)) and encoder.method in ("onehot", "hash", "target")
    n_features = encoder.n_features
    right = right and isinstance(n_features, int | np.integer) and 1 <= n_features < 2**31
    right = right and type(encoder.words) in (tuple, list) and all(type(name) is str for name in encoder.words)
    means = vars(encoder).get("means_")
    if not right or len(encoder.categories_) != n_expected or (means is None) != (encoder.method != "target"):
        return False
    return means is None or (len(means) == n_expected and all(map(_means_fit, means, encoder.categories_)))


def _means_fit(means: np.ndarray, categories: np.ndarray) -> bool:
    """Whether there are means of all categories, of missing values and of unknown ones; or none at all."""
    return means.shape == (0, 0) or (means.shape[0] == len(categories) + 2 and means.shape[1] > 0)


def _watched_fits(state: dict[str, Any]) -> bool:
    """Whether all that is kept beside a detector of drift is there."""
    is_there = [name in state for name in WATCHED]
    if state.get("detector") is None:
        return not any(is_there)
    return all(is_there) and type(state["detector_"]) is type(state["detector"])


def _pipeline(pipeline: Any) -> bool:
    state, n_features = vars(pipeline), pipeline.n_features_in_
    estimator, given, fitted = state["estimator"], state["encoder"], state.get("estimator_")
    if not _is_learner(estimator) or not _is_encoder(given):
        return False
    check_parameters(estimator, given)
    if not _watched_fits(state):
        return False
    if state["_held"] is not None:
        return fitted is None and len(state["_held"]) > 0 and _held_fits(pipeline)
    encoder, scaler, filler, feature_map = map(state.get, ("encoder_", "scaler_", "filler_", "feature_map_"))
    is_wanted = {
        "encoder_": given is not None,
        "scaler_": pipeline.scale and n_features > 0,
        "filler_": pipeline.impute is not None and n_features > 0,
        "feature_map_": state["feature_map"] is not None,
    }
    if any((state.get(name) is not None) != bool(wanted) for name, wanted in is_wanted.items()):
        return False
    expected = {"encoder_", "scaler_", *(["calibration_"] if pipeline.calibrate else [])}
    if type(fitted) is not type(estimator) or not expected <= set(state):
        return False
    if scaler is not None and (
        getattr(scaler, "n_features_in_", None) != n_features or bool(scaler.centres_) == bool(state["_is_sparse"])
    ):
        return False
    width = n_features + (0 if encoder is None else encoder.n_encoded_)
    width += 0 if filler is None else len(filler.indicated_)
    if feature_map is not None:
        width = check_mapped(feature_map, probe_rows(width)).shape[1]
    typical = state.get("typical_rows_")
    if typical is not None and typical.shape[1] != width:
        return False
    return not hasattr(fitted, "_saved") or getattr(fitted, "n_features_in_", None) == width


def _held_fits(pipeline: Any) -> bool:
    """Whether the batches that wait are alike, and what the pipeline can take."""
    targets, columns = set(), set()
    expected = (pipeline.n_features_in_, pipeline._dtype, bool(pipeline._is_sparse), pipeline.encoder is not None)
    for rows in pipeline._held:
        values = rows.X.data if issparse(rows.X) else rows.X
        if (rows.X.shape[1], rows.X.dtype, issparse(rows.X), rows.columns is not None) != expected:
            return False
        if rows.y.ndim > 1 and not pipeline._several_targets:
            return False
        if pipeline._classifies:
            check_classification_targets(rows.y)
        elif rows.y.dtype.kind in "iuf":
            check_target_size(rows.y)
        else:
            return False
        is_nan = np.isnan(values)
        if np.abs(values[~is_nan]).max(initial=0.0) > _LARGEST_HELD or (is_nan.any() and pipeline.impute is None):
            return False
        targets.add((rows.y.dtype.kind in "biuf", rows.y.shape[1:]))
        columns.add(None if rows.columns is None else tuple(sorted(rows.columns)))
    return len(targets) == len(columns) == 1


def _check_pipeline_parameters(pipeline: Any) -> None:
    if not isinstance(pipeline.calibrate, bool | int | np.bool_):
        raise ValueError(f"calibrate cannot be {str(pipeline.calibrate)[:40]!r}")
    pipeline._check_params()


def _why_not_ready(pipeline: Any) -> str | None:
    if getattr(pipeline, "_held", None) is None:
        return None
    return f"holds {pipeline.n_held_} rows back and cannot be saved for prediction yet: call flush() first"


SCALER = Saved(
    {"n_features_in_": integer(1), "n_seen_": integer(1), "centres_": IS_BOOL, "frozen_": IS_BOOL},
    {
        **NAMES_IN, "mean_": IS_FLOATS, "var_": IS_FLOATS, "median_": IS_FLOATS,
        "scale_": IS_FLOATS, "limit_": or_none(IS_FLOATS), "constant_": or_none(array("b", 1)),
        "_watch": or_none(part("range-watch")), "_sample": or_none(part("row-sample")),
        "_sketch": or_none(part("quantile-sketch")),
    },
    _scaler, lambda scaler: scaler._check_params(),
)  # fmt: skip
FILLER = Saved(
    {"n_features_in_": integer(1), "statistics_": IS_FLOATS},
    {**NAMES_IN, "indicated_": array("i", 1), "complete_": array("b", 1)}, _filler,
)  # fmt: skip
ENCODER = Saved(
    {"names_": list_of(of_type(str)), "categories_": list_of(_are_categories)},
    {"complete_": list_of(of_type(str)), "means_": list_of(array("f", 2))}, _encoder,
)  # fmt: skip
PIPELINE = Saved(
    {
        "n_features_in_": integer(), "_held": or_none(_are_batches), "_dtype": _is_row_dtype, "_is_sparse": IS_BOOL,
        "_announced": or_none(is_classes),
    },
    {
        **NAMES_IN, "encoder_": _is_encoder,
        "filler_": or_none(object_of("MissingValueFiller")), "scaler_": or_none(object_of("StreamingScaler")),
        "feature_map_": or_none(object_of()), "estimator_": _is_learner,
        "calibration_": part("calibration"), "detector_": _is_detector, "drifts_": list_of(integer()),
        "_n_seen": integer(), "_n_boosted": integer(), "typical_rows_": _are_finite_rows,
        "number_names_": are_names, "date_names_": are_names, "out_of_fold_errors_": _are_errors,
    },
    _pipeline, _check_pipeline_parameters, not_ready=_why_not_ready,
)  # fmt: skip
