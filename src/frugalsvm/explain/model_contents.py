"""What a model file holds: algorithm, parameters, sizes, certificates and how it was trained."""

from inspect import signature
from pathlib import Path
from typing import Any

from frugalsvm.persist import describe, digest_of, load
from frugalsvm.pipelines import StreamPipeline
from frugalsvm.pipelines.label_task import task_of_model
from frugalsvm.streams.columns import schema_of
from frugalsvm.words import CLASSES

_NAMED = 10  # features, at most

_FACTS = (
    "gradient_error_",
    "member_gap_",
    "objective_",
    "suboptimality_bound_",
    "offset_",
    "t_",
    "n_updates_",
    "n_kernel_evals_",
    "n_cells_",
    "model_bytes_",
)


def model_contents(path: Path) -> dict[str, Any]:
    """Algorithm, parameters, sizes, certificates and training history of a model file."""
    info = describe(path)
    model = load(path)
    task = task_of_model(model)
    estimator = getattr(model, "estimator_", getattr(model, "estimator", model))
    contents: dict[str, Any] = {
        "file bytes": path.stat().st_size,
        "sha256": digest_of(path),
        "estimator": type(estimator).__name__,
        "predicts": task,
        "parameters": {
            key: _as_list(value) for key, value in estimator.get_params(deep=False).items() if value is not None
        },
    }
    contents["set"] = _not_default(estimator, contents["parameters"])
    for name in ("classes_", "n_features_in_"):
        if hasattr(model, name):
            contents[name.rstrip("_")] = _as_list(getattr(model, name))
    contents["as numbers"] = _as_numbers(estimator, contents["parameters"])
    if task == CLASSES:
        contents["probabilities"] = hasattr(model, "predict_proba")
    contents["features"] = _feature_names(model, estimator, info.training)
    if getattr(model, "encoder_", None) is not None:
        contents["text columns"] = model.encoder_.names_
    vectors = getattr(estimator, "support_vectors_", None)
    if vectors is not None:
        contents["support vectors"] = len(vectors)
    for name in _FACTS:
        value = getattr(estimator, name, None)
        if isinstance(value, int | float):
            contents[name.strip("_").replace("_", " ")] = value
    if getattr(estimator, "metric_", None) is not None:
        contents["metric"] = _metric_of(model, estimator, info.training)
    contents["training"] = _shortened(info.training)
    contents["versions"] = info.versions
    return contents


def _as_numbers(estimator: Any, parameters: dict[str, Any]) -> dict[str, float]:
    """What parameters such as "auto" have become in training."""
    found = {name: getattr(estimator, f"{name}_", None) for name, value in parameters.items() if isinstance(value, str)}
    return {name: float(value) for name, value in found.items() if isinstance(value, int | float)}


def _not_default(estimator: Any, parameters: dict[str, Any]) -> list[str]:
    """Parameters that somebody has set."""
    defaults = signature(type(estimator)).parameters
    return [name for name, value in parameters.items() if name not in defaults or defaults[name].default != value]


def _as_list(value: Any) -> Any:
    """Arrays as lists, and parts, such as sums of kernels, with the names of what is in them."""
    if hasattr(value, "_fields"):
        return {name: _as_list(each) for name, each in value._asdict().items()}
    if isinstance(value, tuple):
        return list(map(_as_list, value))
    return value.tolist() if hasattr(value, "tolist") else value


def _metric_of(model: Any, estimator: Any, training: dict[str, Any]) -> dict[str, Any]:
    """The kind of a metric, and the features that count most in it, with their shares."""
    shares, names = estimator.feature_importances_, _feature_names(model, estimator, training)
    most = shares.argsort(kind="stable")[::-1][:_NAMED]
    A = estimator.metric_
    kind = {"kind": "factors"} if A.ndim == 1 else {"kind": "directions", "directions": len(A)}
    return {**kind, "most important": {names[k]: round(float(shares[k]), 4) for k in most}}


def _feature_names(model: Any, estimator: Any, training: dict[str, Any]) -> list[str]:
    """Names of features: columns of numbers, where these are missing, then values of columns of text; or numbers."""
    known = getattr(model, "feature_names_in_", None)
    if known is None:
        columns = training.get("data", {}).get("columns") or []
        known = list(schema_of(columns).numbers)
    names = list(map(str, known))
    if isinstance(model, StreamPipeline) and hasattr(model, "encoder_") and len(names) == model.n_features_in_:
        names = model.names_of_features(names)
    n_features = getattr(estimator, "n_features_in_", model.n_features_in_)  # of a pipeline that holds all rows back
    return names if len(names) == n_features else [f"feature {k + 1}" for k in range(n_features)]


def _shortened(training: dict[str, Any]) -> dict[str, Any]:
    """What is known of the training, with the number of columns for their descriptions."""
    data = training.get("data")
    if not isinstance(data, dict) or not isinstance(data.get("columns"), list):
        return training
    return {**training, "data": {**data, "columns": len(data["columns"])}}
