"""Transformers and pipelines of scikit-learn in model files: an explicit list, plain attributes, no pickle.

Attributes are taken as they are and looked up in nothing; what they do is tried on a few rows when a model is loaded.
"""

import warnings
from typing import Any

import numpy as np
from scipy.sparse import issparse

from frugalsvm.persist.archive import ModelFileError, malformed

PIPELINE = "sklearn.pipeline.Pipeline"
SKLEARN_CLASSES = (
    PIPELINE,
    "sklearn.impute.SimpleImputer",
    "sklearn.preprocessing.MaxAbsScaler",
    "sklearn.preprocessing.MinMaxScaler",
    "sklearn.preprocessing.Normalizer",
    "sklearn.preprocessing.RobustScaler",
    "sklearn.preprocessing.StandardScaler",
)
_LARGEST = 1e100  # of numbers in a transformer and of features that it gives
_FITTED_ON = "n_features_in_"
# What each of them has once it is fitted
_FITTED = {
    "MaxAbsScaler": ("max_abs_", "scale_", "n_samples_seen_"),
    "MinMaxScaler": ("min_", "scale_", "data_min_", "data_max_", "data_range_", "n_samples_seen_"),
    "Normalizer": (),
    "RobustScaler": ("center_", "scale_"),
    "SimpleImputer": ("statistics_", "indicator_"),
    "StandardScaler": ("scale_", "mean_", "var_", "n_samples_seen_"),
}


def refuse_unknown_steps(pipeline: Any, is_known: Any) -> None:
    """Say which step of a pipeline cannot be saved, before anything is written."""
    if getattr(pipeline, "memory", None) is not None:
        raise ModelFileError("A pipeline with memory= cannot be saved: set memory=None.")
    for name, step in pipeline.steps:
        if not is_known(step) and step is not None and step != "passthrough":
            known = ", ".join(sorted(each.rpartition(".")[2] for each in SKLEARN_CLASSES if each != PIPELINE))
            raise ModelFileError(
                f"The step {name!r} of the pipeline, a {type(step).__qualname__}, cannot be saved: model files hold "
                f"{known} and estimators of frugalsvm; frugalsvm.persist.register adds other classes."
            )


# --- checks at loading --------------------------------------------------------------------------------------------


def check_transformer(name: str, value: Any, parameters: list[str]) -> None:
    """Check the attributes of an object of scikit-learn: none in the place of a method, no number out of bounds."""
    for key, each in vars(value).items():
        if key not in parameters and hasattr(type(value), key):
            raise malformed(f"{name} cannot have an attribute {key!r}")
        if key in parameters or not isinstance(each, np.ndarray):
            continue
        if each.dtype.kind == "f" and not (np.abs(each) <= _LARGEST).all():
            raise malformed(f"{name}.{key} has values that are not finite or too large")
    fitted = (*_FITTED.get(type(value).__name__, ()), _FITTED_ON)
    if _has_learned(value) and not set(fitted) <= set(vars(value)):
        raise malformed(f"{name} lacks an attribute of a fitted one")
    if not _SCALES.get(type(value).__name__, lambda value: True)(value):
        raise malformed(f"the attributes of {name} do not fit together")


def _standard(scaler: Any) -> bool:
    """Scales are the roots of the variances, or 1."""
    scale, variances, means = (vars(scaler).get(key) for key in ("scale_", "var_", "mean_"))
    if scale is None or variances is None:
        return True
    usual = np.where(variances > 0, np.minimum(np.sqrt(variances), 1.0), 1.0)
    near = means is None or np.abs(means) <= 1e16 * np.maximum(scale, 1.0)
    return bool((scale >= 0.999 * usual).all() and np.all(near | (variances == 0)))


def _min_max(scaler: Any) -> bool:
    if "scale_" not in vars(scaler):
        return True
    low = scaler.data_min_ * scaler.scale_ + scaler.min_
    high = scaler.data_max_ * scaler.scale_ + scaler.min_
    bounds = scaler.feature_range
    size = 1e-6 * (1.0 + np.abs(scaler.min_) + abs(bounds[0]) + abs(bounds[1]))
    return bool((np.abs(low - bounds[0]) <= size).all() and (high <= bounds[1] + size).all())


def _positive_scale(scaler: Any) -> bool:
    scale = vars(scaler).get("scale_")
    return scale is None or bool((scale > 1e-100).all())


_SCALES = {
    "StandardScaler": _standard, "MinMaxScaler": _min_max, "RobustScaler": _positive_scale,
    "MaxAbsScaler": _positive_scale,
}  # fmt: skip


def check_mapped(transformer: Any, X: Any) -> Any:
    """What a transformer makes of a few rows, which must be as many rows of finite features."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        made = transformer.transform(X)
    values = made.data if issparse(made) else made
    if not (issparse(made) or type(made) is np.ndarray) or made.ndim != 2 or made.shape[0] != X.shape[0]:
        raise malformed(f"{type(transformer).__name__} does not give a row for each row")
    if values.dtype.kind != "f" or not (np.abs(values) <= _LARGEST).all():
        raise malformed(f"{type(transformer).__name__} gives features that are not finite")
    return made


def probe_rows(n_features: Any) -> np.ndarray:
    """Rows that every transformer takes: no negative values."""
    if type(n_features) is not int or not 0 < n_features < 2**24:
        raise malformed("a transformer has an impossible number of features")
    return np.array([[0.0], [1.0], [0.5]]) * np.ones(n_features)


def _has_learned(step: Any) -> bool:
    return not set(vars(step)) <= set(step.get_params(deep=False))


def check_pipeline(pipeline: Any) -> None:
    """Check a pipeline of scikit-learn: known steps, which fit together once they are fitted."""
    steps = vars(pipeline).get("steps")
    pairs = type(steps) is list and all(type(step) is tuple and len(step) == 2 for step in steps)
    if not pairs or not steps or not all(type(name) is str for name, _ in steps):
        raise malformed("the steps of a pipeline are not pairs of names and objects")
    plain = pipeline.memory is None and getattr(pipeline, "transform_input", None) is None
    if not plain or not isinstance(pipeline.verbose, bool):
        raise malformed("the parameters of a pipeline are wrong")
    transformers = [step for _, step in steps[:-1] if step is not None and not isinstance(step, str)]
    final = steps[-1][1]
    skipped = {step for _, step in steps if isinstance(step, str)}
    if not hasattr(final, "fit") or not hasattr(final, "predict") or not skipped <= {"passthrough"}:
        raise malformed("a step of a pipeline is not an estimator")
    if not all(hasattr(step, "transform") for step in transformers):
        raise malformed("a step of a pipeline is not a transformer")
    if not all(map(_has_learned, (*transformers, final))):
        return
    first = transformers[0] if transformers else final
    X = probe_rows(getattr(first, _FITTED_ON, None))
    for step in transformers:
        X = check_mapped(step, X)
    if X.shape[1] != getattr(final, _FITTED_ON):
        raise malformed("the steps of a pipeline do not fit together")
