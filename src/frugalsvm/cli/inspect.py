"""``frugalsvm inspect``: what a model file holds."""

import json
from pathlib import Path
from typing import Any

from frugalsvm.cli.errors import reported
from frugalsvm.cli.flags import Json, ModelFile

__all__ = ["inspect"]

_FACTS = (
    "gradient_error_",
    "member_gap_",
    "suboptimality_bound_",
    "t_",
    "n_updates_",
    "n_kernel_evals_",
    "model_bytes_",
)


def inspect(model: ModelFile, as_json: Json = False) -> None:
    """Tell what is in a model file."""
    from frugalsvm.cli.console import Printer, print_json, table_of

    with reported(of_model=model):
        contents = _contents_of(model)
    if as_json:
        print_json(contents)
        return
    digest = contents.pop("sha256")
    rows = [
        {"what": key, "value": json.dumps(value, default=str) if isinstance(value, dict | list) else str(value)}
        for key, value in contents.items()
    ]
    printer = Printer()
    printer.print(table_of(str(model), rows))
    printer.print(f"sha256 {digest}")  # in one line, to be copied


def _contents_of(path: Path) -> dict[str, Any]:
    """Algorithm, parameters, sizes, certificates and training history of a model file."""
    from frugalsvm.persist import describe, digest_of, load

    info = describe(path)
    model = load(path)
    estimator = getattr(model, "estimator_", getattr(model, "estimator", model))
    contents: dict[str, Any] = {
        "file bytes": path.stat().st_size,
        "sha256": digest_of(path),
        "estimator": type(estimator).__name__,
        "parameters": {key: value for key, value in estimator.get_params(deep=False).items() if value is not None},
    }
    for name in ("classes_", "n_features_in_"):
        if hasattr(model, name):
            value = getattr(model, name)
            contents[name.rstrip("_")] = value.tolist() if hasattr(value, "tolist") else value
    vectors = getattr(estimator, "support_vectors_", None)
    if vectors is not None:
        contents["support vectors"] = len(vectors)
    for name in _FACTS:
        value = getattr(estimator, name, None)
        if isinstance(value, int | float):
            contents[name.strip("_").replace("_", " ")] = value
    contents["training"] = _shortened(info.metadata.get("training", {}))
    contents["versions"] = info.versions
    return contents


def _shortened(training: dict[str, Any]) -> dict[str, Any]:
    """What is known of the training, with the number of columns for their descriptions."""
    data = training.get("data")
    if not isinstance(data, dict) or not isinstance(data.get("columns"), list):
        return training
    return {**training, "data": {**data, "columns": len(data["columns"])}}
