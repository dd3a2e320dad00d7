"""Low-rank machines in model files."""

from typing import Any

import numpy as np

from frugalsvm.estimators._saved import (
    LARGEST_SCORE,
    OPTIONAL,
    calibration_for_prediction,
    check_loaded_parameters,
    is_path_of_C,
    place_is_sound,
    scores_are_bounded,
)
from frugalsvm.lowrank.kernel_sum import KernelSum
from frugalsvm.lowrank.maps import width_of
from frugalsvm.lowrank.own_kernel import OwnKernel
from frugalsvm.persist.savable import FOR_PREDICTION, Saved
from frugalsvm.persist.values import IS_BOOL, array, integer, is_generator, is_number, is_positive, or_none, part

_LARGEST_NORMAL = 20.0  # of normal random numbers


def _are_first_rows(value: Any) -> bool:
    """Rows that wait for the first landmarks: rows, targets and weights."""
    if type(value) is not tuple or len(value) != 3:
        return False
    rows, targets, weights = value
    floats = array("f", 2)(rows) and array("f", 2)(targets) and array("f", 1)(weights)
    # Targets of regression are kept in float64 until they are standardized.
    return floats and {each.dtype.str[1:] for each in (rows, weights)} == {"f4"} and bool((weights >= 0).all())


def _is_sound(model: Any) -> bool:
    if isinstance(model.kernel, KernelSum):
        model.kernel.check_rows(np.empty((0, model._width)))  # raises if columns are missing
    weights, feature_map, steps = model._weights, model._map, model._steps
    n_outputs = len(weights)  # classifiers and regressors compare it with what they know
    right = weights.shape[1] >= 1 and weights.dtype == np.float64
    right = right and place_is_sound(model) and (model._first is None or _first_rows_fit(model, n_outputs))
    if not right or feature_map is None:
        return bool(right) and weights.shape[1] == 1 and steps is None and not hasattr(model, "_n_fitted")
    whitening = getattr(feature_map, "whitening", None)
    width = width_of(feature_map) if whitening is None else whitening.shape[1]
    if getattr(feature_map, "kernel", model._kernel) != model._kernel or weights.shape[1] != width + 1:
        return False
    if hasattr(model, "_n_fitted") if steps is None else steps.state.directions.shape == (n_outputs, width):
        return _scores_are_bounded(model, feature_map)
    return False


def _first_rows_fit(model: Any, n_outputs: int) -> bool:
    rows, targets, weights = model._first
    n = len(rows)
    return rows.shape[1] == model._width and targets.shape == (n_outputs, n) and weights.shape == (n,)


def _scores_are_bounded(model: Any, feature_map: Any) -> bool:
    with np.errstate(over="ignore", invalid="ignore"):
        coef = model._raw_coefficients().T
    intercept = float(np.abs(model._weights[:, -1]).max())
    if not np.isfinite(coef).all():
        return False
    if isinstance(model._kernel, OwnKernel):
        return _sums_are_bounded(model._kernel.function, feature_map.landmarks, coef, intercept)
    if hasattr(feature_map, "landmarks"):
        return scores_are_bounded(model._kernel, feature_map.landmarks, coef, intercept)
    if hasattr(feature_map, "frequencies"):
        signs, lengths = np.ones(1), feature_map.frequencies
    else:
        signs, lengths = feature_map.factors[:, :3], feature_map.factors[:, 3]
    # Normal numbers, or lengths of their vectors, in the unit that the kernel has
    largest = _LARGEST_NORMAL * np.sqrt(2.0 * model._kernel.gamma) / (2.0 * np.pi)
    right = (np.abs(signs) == 1.0).all() and np.abs(lengths).max(initial=0.0) <= largest
    right = right and feature_map.offsets.min(initial=0.0) >= 0.0 and feature_map.offsets.max(initial=0.0) <= 1.0
    return bool(right and np.abs(coef).sum() + intercept <= LARGEST_SCORE["f4"])


def _sums_are_bounded(kernel: Any, landmarks: np.ndarray, coef: np.ndarray, intercept: float) -> bool:
    """Whether landmarks have the columns of a sum of kernels, and the scores of none of its terms can overflow."""
    if not isinstance(kernel, KernelSum):
        return False
    kernel.check_rows(landmarks)
    return all(
        scores_are_bounded(term.part, term.of(landmarks), term.weight * coef, intercept) for term in kernel.terms
    )


def _prediction_state(model: Any) -> dict[str, Any]:
    """Coefficients of kernel values (or Fourier features): the whitening is for learning."""
    own = {**vars(model), FOR_PREDICTION: True, "_steps": None, "_first": None, **calibration_for_prediction(model)}
    if model._map is not None:
        own["_weights"] = np.column_stack([model._raw_coefficients().T, model._weights[:, -1]])
        own["_n_fitted"] = max(model.t_, 1)
        if hasattr(model._map, "whitening"):
            own["_map"] = model._map._replace(whitening=None, eigenvalues=None)
    return own


LOW_RANK = Saved(
    {
        "n_features_in_": integer(1), "_kernel": part("kernel"), "_rng": is_generator, "_weights": array("f", 2),
        "_map": or_none(part("feature-map")), "_is_sparse": IS_BOOL, "_steps": or_none(part("subgradient-steps")),
        "_first": or_none(_are_first_rows),
    },
    {
        **OPTIONAL, "C_": is_positive, "path_": is_path_of_C, "best_validation_score_": is_number,
        "objective_": is_number, "suboptimality_bound_": is_number, "_n_iter": integer(), "_n_fitted": integer(1),
    },
    _is_sound, check_loaded_parameters, _prediction_state, renamed={"_unknowns": "_weights"},
)  # fmt: skip
