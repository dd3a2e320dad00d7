"""`AutoSVC` and `AutoSVR` in model files: the pipeline, and what the search has tried."""

from typing import Any

from frugalsvm.auto._results import FIELDS
from frugalsvm.persist.savable import Saved
from frugalsvm.persist.values import are_names, integer, is_number, is_positive, object_of, or_none, part

__all__ = ["AUTO"]


def _are_rows(value: Any) -> bool:
    return type(value) is list and len(value) > 0 and all(map(_is_row, value))


def _is_row(row: Any) -> bool:
    if type(row) is not dict or set(row) != set(FIELDS):
        return False
    return all(_is_field(name, value) for name, value in row.items())


def _is_field(name: str, value: Any) -> bool:
    if name in ("kernel", "rows"):
        return type(value) is str
    return _are_numbers(value) if name == "scores" else is_number(value)


def _are_numbers(value: Any) -> bool:
    return type(value) is list and len(value) > 0 and all(map(is_number, value))


def _is_summary(value: Any) -> bool:
    if type(value) is not dict or set(value) - {"rounds"} != {"title", "score", "notes"}:
        return False
    notes, rounds = value["notes"], value.get("rounds", [])
    if type(notes) is not list or type(rounds) is not list:
        return False
    return all(type(each) is str for each in (value["title"], value["score"], *notes, *rounds))


def _are_params(value: Any) -> bool:
    return type(value) is dict and all(
        type(name) is str and (type(each) is str or is_number(each)) for name, each in value.items()
    )


def _is_sound(model: Any) -> bool:
    if type(model.pipeline_).__name__ != "StreamPipeline" or model.pipeline_._held is not None:
        return False
    layout, encoder = model._layout, model.pipeline_.encoder_
    if layout is None:
        return encoder is None and model.n_features_in_ == model.pipeline_.n_features_in_
    if (encoder is None) != (not layout.text) or (encoder is not None and encoder.names_ != sorted(layout.text)):
        return False
    n_text = len(layout.text) + len(layout.ignored)
    n_numbers = len(layout.names) - n_text if layout.n_numbers is None else layout.n_numbers
    return model.n_features_in_ == len(layout.names) and n_numbers == model.pipeline_.n_features_in_


AUTO = Saved(
    {
        "n_features_in_": integer(), "pipeline_": object_of("StreamPipeline"), "best_params_": _are_params,
        "best_score_": is_number, "_rows_tried": _are_rows, "_summary": _is_summary,
        "_layout": or_none(part("table-layout")),
    },
    {"feature_names_in_": are_names, "_variance": is_positive, "refit_time_": is_number},
    _is_sound, lambda model: model._check_params(),
)  # fmt: skip
