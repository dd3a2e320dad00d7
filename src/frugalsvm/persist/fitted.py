"""Whether the attributes of an object fit together: parameters, classes, outputs, features, sizes of numbers."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets

from frugalsvm.budgeted.policy import has_room
from frugalsvm.core.capabilities import offers
from frugalsvm.core.expansion import Expansion
from frugalsvm.core.kernels import RBF
from frugalsvm.core.outputs import n_outputs_for
from frugalsvm.core.records import as_numbers
from frugalsvm.estimators._origin import largest_size
from frugalsvm.estimators._threads import thread_count
from frugalsvm.estimators._validation import new_kernel
from frugalsvm.exact.one_vs_one import pairs_of
from frugalsvm.persist.attributes import DECLARED, FOR_PREDICTION, PREDICTORS
from frugalsvm.persist.errors import ModelFileError, malformed
from frugalsvm.persist.parts import check_part
from frugalsvm.persist.sklearn_steps import check_mapped, probe_rows

__all__ = ["check_object", "check_parameters", "check_parts"]

_SWITCHES = (
    "shuffle", "warm_start", "fit_intercept", "early_stopping", "process", "cached", "batch", "calibrate",
)  # fmt: skip
# Scores stay finite for rows as they come: |f(x)| is at most this times sqrt(K(x, x)).
_LARGEST = {"f4": 1e30, "f8": 1e250}
_LARGEST_GAMMA = {"f4": 1e36, "f8": 1e100}
_ROOMS, _LARGEST_ROOM = ("budget", "n_components", "n_steps"), 2**26  # parameters that memory is reserved for
_LARGEST_NORMAL = 20.0  # of normal random numbers
_LARGEST_HELD = 1e100  # of values from which means and variances are to be taken
_LARGEST_LIMIT, _LEAST_SCALE = 1e9, 1e-30  # of scaled values, and of what they are divided by without a limit


def check_parts(name: str, state: dict[str, Any]) -> None:
    """Check the parts of an object, each in itself, and that all have the same number of features."""
    n_features = state.get("n_features_in_")
    arrays = [id(array) for value in state.values() for array in _arrays_in(value)]
    if len(set(arrays)) < len(arrays):  # learning would change two at once, and count the one with the other
        raise malformed(f"two arrays of {name} are the same")
    for attribute, value in state.items():
        for each in value if type(value) in (list, tuple) and not hasattr(value, "_fields") else [value]:
            if isinstance(each, tuple) and hasattr(each, "_fields"):
                found = check_part(each).get("f", n_features)
                if type(n_features) is int and found != n_features:
                    raise malformed(f"the arrays of {name}.{attribute} do not fit together")


def _arrays_in(value: Any) -> Iterator[np.ndarray]:
    """All arrays in parts, tuples and lists."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _arrays_in(each)


def check_object(name: str, value: Any, parameters: list[str]) -> None:
    """Check all attributes of an object of ours."""
    state = vars(value)
    learned = {key: each for key, each in state.items() if key not in parameters}
    only_predicts = learned.pop(FOR_PREDICTION, False)
    declared = PREDICTORS.get(name, DECLARED[name]) if only_predicts else DECLARED[name]
    if only_predicts not in (True, False) or (only_predicts and not learned):
        raise malformed(f"{name} is not what it should be")
    for key in learned:
        if key not in declared.required and key not in declared.optional and hasattr(type(value), key):
            raise malformed(f"{name} cannot have an attribute {key!r}")
    if not learned:
        return
    for checks, required in ((declared.required, True), (declared.optional, False)):
        for key, check in checks.items():
            if required and key not in learned:
                raise malformed(f"{name} lacks its attribute {key!r}")
            if key in learned and not check(learned[key]):
                raise malformed(f"{name}.{key} is not what it should be")
    check_parameters(name, value, parameters)
    check_parts(name, learned)
    if not _origin_fits(value):
        raise malformed(f"{name}._origin is too far away")
    fits = _predictor if only_predicts and name in PREDICTORS else _FITS.get(name, lambda value: True)
    if not fits(value):
        raise malformed(f"the attributes of {name} do not fit together")


def _origin_fits(model: Any) -> bool:
    """Whether rows relative to the origin do not overflow; kernels of other kinds have none."""
    origin = getattr(model, "_origin", None)
    if origin is None:
        return True
    dtype = np.float32 if model._in_float32 else model._dtype
    most = largest_size(len(origin.point), dtype) / 2
    right = offers(model._kernel, "shift_invariant") and np.abs(origin.point).max(initial=0.0) <= most
    return bool(right) and origin.far_squares <= origin.n_far * most**2 * len(origin.point)


def check_parameters(name: str, value: Any, parameters: list[str]) -> None:
    """Let an estimator check its own parameters; whether its device is at hand is for later."""
    cls: Any = type(value)
    probe = cls.__new__(cls)
    vars(probe).update({key: vars(value)[key] for key in parameters if key in vars(value)})
    if isinstance(getattr(probe, "device", None), str):
        probe.device = "cpu"
    try:
        _check_common(probe)
        if hasattr(probe, "_check_params"):
            probe._check_params()
    except ModelFileError:
        raise
    except Exception as error:
        raise malformed(f"the parameters of {name} are wrong: {error}") from error


def _check_common(probe: Any) -> None:
    """Check parameters that estimators pass on as they are."""
    for key, each in vars(probe).items():
        if isinstance(each, int) and abs(each) > (_LARGEST_ROOM if key in _ROOMS else 2**62):
            raise malformed(f"{key} cannot be {str(each)[:40]!r}")
    for key in _SWITCHES:
        if not isinstance(getattr(probe, key, False), bool | int | np.bool_):
            raise malformed(f"{key} cannot be {str(getattr(probe, key))[:40]!r}")
    thread_count(getattr(probe, "n_jobs", None))
    weights: Any = getattr(probe, "class_weight", None)
    check_random_state(getattr(probe, "random_state", None))
    if hasattr(probe, "kernel"):
        new_kernel(probe.kernel, probe.gamma, probe.degree, probe.coef0, np.ones((1, 1)))
    values = [] if weights is None or isinstance(weights, str) else weights.values()
    if (isinstance(weights, str) and weights != "balanced") or not all(0 <= float(each) < math.inf for each in values):
        raise malformed(f"class_weight cannot be {str(weights)[:40]!r}")


# --- which sizes belong together ----------------------------------------------------------------------------------


def _within_bounds(kernel: Any, rows: np.ndarray, coef: np.ndarray, intercept: Any = 0.0) -> bool:
    """Whether scores of a kernel expansion, coefficients (n_outputs, n), cannot overflow."""
    code = rows.dtype.str[1:]
    gamma = getattr(kernel, "gamma", 1.0)
    with np.errstate(over="ignore", invalid="ignore"):
        norms = np.square(rows, dtype=np.float64).sum(axis=1)
        if isinstance(kernel, RBF):
            sizes, largest = np.ones(len(rows)), gamma * norms
        else:
            inner = gamma * norms + getattr(kernel, "coef0", 0.0)
            sizes = largest = inner ** (getattr(kernel, "degree", 1) / 2)
        bound = np.abs(coef) @ sizes + np.abs(intercept)
    right = gamma <= _LARGEST_GAMMA[code] and (largest.size == 0 or largest.max() <= _LARGEST_GAMMA[code])
    return bool(right and (bound <= _LARGEST[code]).all())


def _expansion_fits(model: Any, expansion: Expansion, n_outputs: int) -> bool:
    with np.errstate(over="ignore", invalid="ignore"):
        coef, rows = model._coefficients().T, model.support_rows()
    if expansion.n_outputs != n_outputs or not np.isfinite(coef).all():
        return False
    return _within_bounds(model._kernel, rows, coef, np.abs(model.intercept_).max())


def _predictor(model: Any) -> bool:
    rows, _, coef, intercept, counts = model._predictor
    n_classes = len(model.classes_)
    pairs = type(model).__name__ == "IncrementalSVC"
    n_outputs = len(pairs_of(n_classes)) if pairs else n_outputs_for(n_classes)
    right = len(coef) == n_outputs and as_numbers(counts).min() >= 0
    return bool(right) and _within_bounds(model._kernel, rows, coef, np.abs(intercept).max())


def _bsgd(model: Any) -> bool:
    return has_room(model._policy, model._expansion) and _expansion_fits(
        model, model._expansion, n_outputs_for(len(model.classes_))
    )


def _machines(model: Any) -> bool:
    n_outputs, machines = n_outputs_for(len(model.classes_)), model._machines
    own = [machine.expansion.n_outputs for machine in machines]
    losses = [getattr(machine.parts.loss, "n_outputs", 1) for machine in machines]
    kernels = {machine.parts.kernel for machine in machines}
    types = {machine.expansion.rows.dtype for machine in machines}
    if sum(own) != n_outputs or own != losses or kernels != {model._kernel} or len(types) != 1:
        return False
    return _expansion_fits(model, model._expansion, n_outputs)


def _dual(model: Any) -> bool:
    (state, cache), learner = model._solver, model._learner
    n_outputs, rows = n_outputs_for(len(model.classes_)), state.working_set.rows
    right = state.working_set.n_outputs == n_outputs and cache.place.size == rows.shape[0]
    right &= cache.values.dtype == rows.dtype and learner.kernel == model._kernel
    if hasattr(learner, "lag"):
        right &= learner.lag.shape[0] == n_outputs and int(learner.moved.max(initial=-1)) < rows.shape[0]
    return bool(right) and _expansion_fits(model, model._expansion, n_outputs)


def _incremental(model: Any) -> bool:
    n_classes, examples, solvers = len(model.classes_), model._examples, model._solvers
    n = len(examples.ids)
    right = n_classes > 1 and len(solvers) == len(pairs_of(n_classes)) and examples.slots.shape[1] == n_classes - 1
    right = right and bool((examples.ids[:-1] < examples.ids[1:]).all()) and model._n_learned >= n
    right = right and (n == 0 or (examples.labels.min() >= 0 and examples.labels.max() < n_classes))
    right = right and (n == 0 or (examples.ids[0] >= 0 and examples.ids[-1] < model._n_learned))
    if not right:
        return False
    for m, solver in enumerate(solvers):
        capacity, n_points = solver.state.points.rows.shape[0], int(solver.state.points.counts[0]["n_slots"])
        if solver.cache.place.size != capacity or solver.cache.values.dtype != np.float64:
            return False
        held = np.concatenate([slots for k, _, slots in examples.by_solver() if k == m])
        if len(np.unique(held)) != len(held) or (held.size and not (held.min() >= 0 and held.max() < n_points)):
            return False
        free = solver.state.free_slots[: solver.state.counts[0]["n_free"]]
        if np.isin(held, free).any() or len(held) + len(free) != n_points:
            return False
    left_out = getattr(model, "_left_out", None)
    if left_out is not None and left_out.shape != (n, 1 if n_classes == 2 else n_classes):
        return False
    return _expansion_fits(model, model._expansion, len(solvers))


def _tvm(model: Any) -> bool:
    n_outputs = n_outputs_for(len(model.classes_))
    if len(model._twins) != n_outputs or len(model._caches) != n_outputs:
        return False
    for twins, cache in zip(model._twins, model._caches, strict=True):
        capacity, n = twins.state.points.rows.shape[0], int(twins.state.points.counts[0]["n_slots"])
        room = twins.state.margin_slots.size
        if cache.place.size != capacity or cache.values.dtype != np.float64 or room <= int(model.budget):
            return False
        if capacity < int(model.budget) or n > int(model.budget) or int(twins.partner[:n].max(initial=-1)) >= capacity:
            return False
        if (twins.plus[:n] < 0).any() or (twins.minus[:n] < 0).any() or twins.sums[0]["C"] < 0:
            return False
    return _expansion_fits(model, model._expansion, n_outputs)


def _asset(model: Any) -> bool:
    classes = getattr(model, "classes_", None)
    n_outputs = 1 if classes is None else n_outputs_for(len(classes))
    weights, feature_map, steps = model._weights, model._map, model._steps
    if weights.shape[0] != n_outputs or weights.shape[1] < 1 or weights.dtype != np.float64:
        return False
    if model._first is not None and not _first_fits(model, n_outputs):
        return False
    if feature_map is None:
        return weights.shape[1] == 1 and steps is None and not hasattr(model, "_n_fitted")
    kernel = getattr(feature_map, "kernel", model._kernel)
    whitening = getattr(feature_map, "whitening", None)
    if whitening is not None:
        width = whitening.shape[1]
    else:
        width = len(feature_map.norms) if hasattr(feature_map, "norms") else len(feature_map.offsets)
    if kernel != model._kernel or weights.shape[1] != width + 1:
        return False
    if steps is not None and steps.state.directions.shape != (n_outputs, width):
        return False
    if steps is None and not hasattr(model, "_n_fitted"):
        return False
    return _low_rank_within_bounds(model, feature_map)


def _first_fits(model: Any, n_outputs: int) -> bool:
    rows, targets, weights = model._first
    n = len(rows)
    return rows.shape[1] == model.n_features_in_ and targets.shape == (n_outputs, n) and weights.shape == (n,)


def _low_rank_within_bounds(model: Any, feature_map: Any) -> bool:
    with np.errstate(over="ignore", invalid="ignore"):
        coef = model._raw_coefficients().T
    intercept = float(np.abs(model._weights[:, -1]).max())
    if not np.isfinite(coef).all():
        return False
    if hasattr(feature_map, "landmarks"):
        return _within_bounds(model._kernel, feature_map.landmarks, coef, intercept)
    if hasattr(feature_map, "frequencies"):
        signs, lengths = np.ones(1), feature_map.frequencies
    else:
        signs, lengths = feature_map.factors[:, :3], feature_map.factors[:, 3]
    # Normal numbers, or lengths of their vectors, in the unit that the kernel has
    largest = _LARGEST_NORMAL * np.sqrt(2.0 * model._kernel.gamma) / (2.0 * np.pi)
    right = (np.abs(signs) == 1.0).all() and np.abs(lengths).max(initial=0.0) <= largest
    right = right and feature_map.offsets.min(initial=0.0) >= 0.0 and feature_map.offsets.max(initial=0.0) <= 1.0
    return bool(right and np.abs(coef).sum() + intercept <= _LARGEST["f4"])


# --- parts of pipelines -------------------------------------------------------------------------------------------


def _scaler(scaler: Any) -> bool:
    state = vars(scaler)
    arrays = [state.get(name) for name in ("mean_", "var_", "median_", "scale_", "limit_", "constant_")]
    if any(array is not None and array.shape != (scaler.n_features_in_,) for array in arrays):
        return False
    mean, var, median, scale, limit, constant = arrays
    is_robust = median is not None
    if (median if is_robust else mean) is None or (scale <= 0).any() or (not is_robust and var is None):
        return False
    if limit is not None:  # scaled values are within it
        return constant is not None and bool(((limit >= 0) & (limit <= _LARGEST_LIMIT * scale)).all())
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
    return filler.statistics_.shape == (filler.n_features_in_,)


def _encoder(encoder: Any) -> bool:
    n_expected = len(encoder.names_) if encoder.method == "onehot" else 0
    right = encoder.names_ == sorted(set(encoder.names_)) and encoder.method in ("onehot", "hash")
    n_features = encoder.n_features
    right = right and isinstance(n_features, int | np.integer) and 1 <= n_features < 2**31
    return bool(right) and len(encoder.categories_) == n_expected


def _pipeline(pipeline: Any) -> bool:
    state = vars(pipeline)
    estimator, fitted = state["estimator"], state.get("estimator_")
    if not isinstance(estimator, BaseEstimator) or not isinstance(state["encoder"], BaseEstimator | None):
        return False
    if "calibration_" in state:
        check_part(state["calibration_"])
    for step in (estimator, state["encoder"]):
        if step is not None and type(step).__name__ in DECLARED:
            check_parameters(type(step).__name__, step, list(type(step)._get_param_names()))
    if state["_held"] is not None:
        return fitted is None and len(state["_held"]) > 0 and _held_fits(pipeline)
    scaler, encoder = state.get("scaler_"), state.get("encoder_")
    right = fitted is not None and type(fitted) is type(estimator) and "encoder_" in state and "scaler_" in state
    right = right and (encoder is None) == (state["encoder"] is None)
    right = right and (not pipeline.calibrate or "calibration_" in state)
    right = right and (scaler is None) == (not pipeline.scale or state["n_features_in_"] == 0)
    right = right and (state.get("feature_map_") is None) == (state["feature_map"] is None)
    if not right or (scaler is not None and getattr(scaler, "n_features_in_", None) != state["n_features_in_"]):
        return False
    if scaler is not None and bool(scaler.centres_) == bool(state["_is_sparse"]):
        return False
    width = state["n_features_in_"] + (0 if encoder is None else encoder.n_encoded_)
    if state.get("feature_map_") is not None:
        width = check_mapped(state["feature_map_"], probe_rows(width)).shape[1]
    return type(fitted).__name__ not in DECLARED or getattr(fitted, "n_features_in_", None) == width


def _held_fits(pipeline: Any) -> bool:
    widths = {rows.X.shape[1] for rows in pipeline._held}
    types = {rows.X.dtype for rows in pipeline._held}
    sparse = {not isinstance(rows.X, np.ndarray) for rows in pipeline._held}
    kinds = {rows.y.dtype.kind in "biuf" for rows in pipeline._held}
    for rows in pipeline._held:
        if pipeline._classifies:
            check_classification_targets(rows.y)
        elif rows.y.dtype.kind not in "iuf":
            return False
    names = {None if rows.columns is None else tuple(sorted(rows.columns)) for rows in pipeline._held}
    text = {rows.columns is not None for rows in pipeline._held}
    values = (rows.X if isinstance(rows.X, np.ndarray) else rows.X.data for rows in pipeline._held)
    for each in values:
        is_nan = np.isnan(each)
        if np.abs(each[~is_nan]).max(initial=0.0) > _LARGEST_HELD or (is_nan.any() and pipeline.impute is None):
            return False
    return (
        widths == {pipeline.n_features_in_} and types == {pipeline._dtype} and sparse == {bool(pipeline._is_sparse)}
        and len(kinds) == len(names) == 1 and text == {pipeline.encoder is not None}
    )  # fmt: skip


_FITS: dict[str, Callable[[Any], bool]] = {
    "BSGDClassifier": _bsgd,
    "BudgetedPerceptron": _machines,
    "BPAClassifier": _machines,
    "LASVMClassifier": _dual,
    "TrackingSVC": _dual,
    "IncrementalSVC": _incremental,
    "TVMClassifier": _tvm,
    "ASSETClassifier": _asset,
    "ASSETRegressor": _asset,
    "StreamPipeline": _pipeline,
    "StreamingScaler": _scaler,
    "ColumnEncoder": _encoder,
    "MissingValueFiller": _filler,
}
