"""What estimators have in common in model files: attributes, checks of parameters, and scores that stay finite."""

import math
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from frugalsvm._stored import are_norms
from frugalsvm.arrays.namespace import is_device_name
from frugalsvm.budgeted.policy import Unlimited
from frugalsvm.compiling.threads import thread_count
from frugalsvm.core.capabilities import offers
from frugalsvm.core.expansion import Expansion, coefficients, new_expansion
from frugalsvm.core.kernels import UNIT_KERNELS, Intersection
from frugalsvm.core.outputs import n_outputs_for
from frugalsvm.core.records import as_numbers
from frugalsvm.core.seen_rows import Metric, largest_size
from frugalsvm.estimators._predictor import Predictor
from frugalsvm.estimators.constraints import new_kernel
from frugalsvm.lowrank.kernel_sum import KernelSum
from frugalsvm.lowrank.own_kernel import OwnKernel
from frugalsvm.persist.archive import ModelFileError, malformed
from frugalsvm.persist.savable import FOR_PREDICTION, Saved
from frugalsvm.persist.values import NAMES_IN, array, dict_of, integer, is_classes, is_number, or_none, part

is_path_of_C = dict_of(array("iuf", 1))  # a dict of columns, one of which has values of C
CLASSIFIER = {"classes_": is_classes, "n_features_in_": integer(1), "_kernel": part("kernel")}
HAS_BUDGET = {"budget_": or_none(integer(2))}
OPTIONAL = {
    "n_iter_": integer(1),
    **NAMES_IN,
    "_origin": or_none(part("origin")),
    "_metric": or_none(part("metric")),
    "calibration_": part("calibration"),
}

_SWITCHES = ("shuffle", "warm_start", "fit_intercept", "early_stopping", "process", "cached", "batch", "non_crossing")
_ROOMS, _LARGEST_ROOM = ("budget", "n_components", "n_steps"), 2**26  # parameters that memory is reserved for
# Scores stay finite for rows as they come: |f(x)| is at most this times sqrt(K(x, x)).
LARGEST_SCORE = {"f4": 1e30, "f8": 1e250}
_REACH = 1e3  # how much farther from the center of a metric rows may be than they usually are
_LARGEST_GAMMA = {"f4": 1e36, "f8": 1e100}
# Attributes besides parameters that say something about a model without its learning state
_KEPT = (*CLASSIFIER, *OPTIONAL, *HAS_BUDGET, "C_", "alpha_")


# --- parameters ---------------------------------------------------------------------------------------------------


def check_loaded_parameters(probe: Any) -> None:
    """Check the parameters of an estimator that comes from a file; whether its device is at hand is for later."""
    if not is_device_name(getattr(probe, "device", "cpu")):
        raise ValueError(f"device cannot be {str(probe.device)[:40]!r}")
    if hasattr(probe, "device"):
        probe.device = "cpu"
    for key, each in vars(probe).items():
        if isinstance(each, int) and abs(each) > (_LARGEST_ROOM if key in _ROOMS else 2**62):
            raise ValueError(f"{key} cannot be {str(each)[:40]!r}")
    for key in _SWITCHES:
        if not isinstance(getattr(probe, key, False), bool | int | np.bool_):
            raise ValueError(f"{key} cannot be {str(getattr(probe, key))[:40]!r}")
    thread_count(getattr(probe, "n_jobs", None))
    check_random_state(getattr(probe, "random_state", None))
    if not isinstance(probe.kernel, KernelSum):  # which has checked itself
        new_kernel(probe.kernel, probe.gamma, probe.degree, probe.coef0, np.ones((1, 1)))
    weights: Any = getattr(probe, "class_weight", None)
    values = [] if weights is None or isinstance(weights, str) else weights.values()
    if (isinstance(weights, str) and weights != "balanced") or not all(0 <= float(each) < math.inf for each in values):
        raise ValueError(f"class_weight cannot be {str(weights)[:40]!r}")
    probe._check_params()


# --- scores -------------------------------------------------------------------------------------------------------


def scores_are_bounded(kernel: Any, rows: np.ndarray, coef: np.ndarray, intercept: Any = 0.0) -> bool:
    """Whether scores of a kernel expansion, coefficients (n_outputs, n), cannot overflow."""
    if isinstance(kernel, OwnKernel):  # which only feature maps have
        return False
    code = rows.dtype.str[1:]
    gamma = getattr(kernel, "gamma", 1.0)
    with np.errstate(over="ignore", invalid="ignore"):
        norms = np.square(rows, dtype=np.float64).sum(axis=1)
        if isinstance(kernel, UNIT_KERNELS):
            sizes, largest = np.ones(len(rows)), gamma * norms
        else:
            inner = gamma * norms + getattr(kernel, "coef0", 0.0)
            sizes = largest = inner ** (getattr(kernel, "degree", 1) / 2)
        bound = np.abs(coef) @ sizes + np.abs(intercept)
    right = gamma <= _LARGEST_GAMMA[code] and (largest.size == 0 or largest.max() <= _LARGEST_GAMMA[code])
    return bool(right and (bound <= LARGEST_SCORE[code]).all())


def _check_norms(kernel: Any, norms: np.ndarray, rows: np.ndarray) -> None:
    """Refuse norms of another kind than the kernel's."""
    if isinstance(kernel, Intersection):
        if not are_norms(norms, rows, are_sums=True):
            raise ModelFileError(
                "This model was trained with kernel='intersection' by an earlier version, which took K(x, x) for the "
                "squared norm of x: what it learned is wrong. Train it again."
            )
    elif not are_norms(norms, rows):
        raise malformed("the norms of its support vectors are not those of its kernel")


def place_is_sound(model: Any) -> bool:
    """Whether rows in the metric, and relative to the origin, do not overflow."""
    dtype = np.float32 if model._in_float32 else model._dtype
    return metric_is_sound(getattr(model, "_metric", None), dtype) and _origin_is_sound(model, dtype)


def metric_is_sound(metric: Metric | None, dtype: Any) -> bool:
    """Whether rows in the metric do not overflow."""
    if metric is None:
        return True
    with np.errstate(over="ignore", invalid="ignore"):
        sizes = np.abs(metric.map) * (np.abs(metric.center) + metric.scales)
        largest = (sizes if sizes.ndim == 1 else sizes.sum(axis=1)).max(initial=0.0)
    return bool(_REACH * largest <= largest_size(metric.width, dtype))


def _origin_is_sound(model: Any, dtype: Any) -> bool:
    """Whether rows relative to the origin do not overflow; kernels of other kinds have none."""
    origin = getattr(model, "_origin", None)
    if origin is None:
        return True
    most = largest_size(len(origin.point), dtype) / 2
    right = offers(model._kernel, "shift_invariant") and np.abs(origin.point).max(initial=0.0) <= most
    return bool(right) and origin.far_squares <= origin.n_far * most**2 * len(origin.point)


def expansion_is_sound(model: Any, n_outputs: int | None = None) -> bool:
    """Whether a model has the right number of outputs, one-vs-rest unless told, and scores that stay finite."""
    n_outputs = n_outputs_for(len(model.classes_)) if n_outputs is None else n_outputs
    with np.errstate(over="ignore", invalid="ignore"):
        coef, rows = model._coefficients().T, model.support_rows()
    if model._expansion.n_outputs != n_outputs or not np.isfinite(coef).all() or not place_is_sound(model):
        return False
    n = int(model._expansion.counts[0]["n_slots"])
    _check_norms(model._kernel, model._expansion.norms[:n], model._expansion.rows[:n])
    return scores_are_bounded(model._kernel, rows, coef, np.abs(model.intercept_).max())


# --- models that only predict -------------------------------------------------------------------------------------


def kept_for_prediction(model: Any) -> dict[str, Any]:
    """Parameters, and attributes that are not the learning state."""
    own = {name: value for name, value in vars(model).items() if name in (*_KEPT, *model._get_param_names())}
    if model.origin_ is not None and model.origin_.is_zero:
        own.pop("_origin", None)  # only learning would move it
    return {**own, **calibration_for_prediction(model), FOR_PREDICTION: True}


def calibration_for_prediction(model: Any) -> dict[str, Any]:
    """Its calibration, as prediction needs it: without the state to learn more; nothing if there is none."""
    return {"calibration_": model.calibration_.for_prediction()} if "calibration_" in vars(model) else {}


def as_predictor(model: Any) -> dict[str, Any]:
    """The attributes of a model whose learning state is replaced by its support vectors and coefficients."""
    expansion = model._expansion
    n = int(expansion.counts[0]["n_slots"])
    coef = np.ascontiguousarray(model._coefficients().T)
    rows, norms = expansion.rows[:n].copy(), expansion.norms[:n].copy()
    predictor = Predictor(rows, norms, coef, model.intercept_, expansion.counts.copy())
    return {**kept_for_prediction(model), "_predictor": predictor}


def predictor_saved(n_outputs: Any = n_outputs_for) -> Saved:
    """How a model from `as_predictor` is held; ``n_outputs`` is a function of the number of classes."""

    def is_sound(model: Any) -> bool:
        rows, norms, coef, intercept, counts = model._predictor
        _check_norms(model._kernel, norms, rows)
        right = len(coef) == n_outputs(len(model.classes_)) and as_numbers(counts).min() >= 0
        right = right and metric_is_sound(getattr(model, "_metric", None), rows.dtype)
        right = right and _origin_is_sound(model, rows.dtype)
        return bool(right) and scores_are_bounded(model._kernel, rows, coef, np.abs(intercept).max())

    return Saved({**CLASSIFIER, "_predictor": part("predictor")}, {**OPTIONAL, **HAS_BUDGET, "C_": is_number}, is_sound)


def trimmed(expansion: Expansion, coef: np.ndarray) -> Expansion:
    """The slots in use alone, with the coefficients (n, n_outputs) that predict."""
    n = int(expansion.counts[0]["n_slots"])
    smaller = new_expansion(n, expansion.rows.shape[1], coef.shape[1], expansion.rows.dtype)
    smaller.rows[:n], smaller.norms[:n], smaller.coef[:, :n] = expansion.rows[:n], expansion.norms[:n], coef.T
    smaller.weights[:, :n] = coef.T
    smaller.counts[:] = expansion.counts
    return smaller


def trimmed_learner(learner: Any) -> Any:
    """A budgeted learner that scores like another one, without a policy and what belongs to it."""
    expansion = trimmed(learner.expansion, coefficients(learner.expansion))
    return learner._replace(parts=learner.parts._replace(policy=Unlimited()), expansion=expansion)
