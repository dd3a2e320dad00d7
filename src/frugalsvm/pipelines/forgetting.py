"""What a pipeline around a model that forgets keeps of the rows, and what it must not keep."""

from typing import Any

__all__ = ["forgetting_model", "kept_around"]

_PARTS = {
    "filler_": "values for missing ones",
    "scaler_": "means and spreads of columns",
    "encoder_": "values of text columns",
    "feature_map_": "feature map",
    "calibration_": "calibration of the pipeline",
}
_ROWS = ("typical_rows_", "_held")  # copies of rows


def forgetting_model(model: Any) -> Any:
    """The model that forgets rows by their ids: this one, or that in a `StreamPipeline`.

    Raises
    ------
    ValueError
        If there is none.
    """
    inner = getattr(model, "estimator_", model)
    if not hasattr(inner, "forget_report"):
        raise ValueError(
            f"{type(inner).__name__} cannot forget rows: LocalSVC, LocalSVR and IncrementalSVC can, also in a "
            "StreamPipeline. Train another model again, without these rows."
        )
    return inner


def kept_around(model: Any) -> list[str]:
    """What a pipeline computed from all rows, and keeps; copies of rows that it had are gone after this."""
    if not hasattr(model, "estimator_"):
        return []
    for name in _ROWS:
        if vars(model).get(name) is not None:
            del vars(model)[name]
    return [words for name, words in _PARTS.items() if getattr(model, name, None) is not None]
