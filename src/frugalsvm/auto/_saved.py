"""`AutoSVC` and `AutoSVR` in model files: the pipeline, and what the search has tried."""

from typing import Any

from frugalsvm.auto.report import FIELDS
from frugalsvm.persist.savable import Saved
from frugalsvm.persist.values import (
    NAMES_IN,
    dict_of,
    integer,
    is_number,
    is_positive,
    list_of,
    object_of,
    of_type,
    or_none,
    part,
    record,
)

_TEXT = of_type(str)
_ROW = dict.fromkeys(FIELDS, is_number) | {"kernel": _TEXT, "rows": _TEXT, "scores": list_of(is_number, 1)}
_SUMMARY = {"title": _TEXT, "score": _TEXT, "notes": list_of(_TEXT), "rounds": list_of(_TEXT)}


def _is_sound(model: Any) -> bool:
    if type(model.pipeline_).__name__ != "StreamPipeline" or model.pipeline_._held is not None:
        return False
    layout, encoder = model._layout, model.pipeline_.encoder_
    if layout is None:
        return model.n_features_in_ == model.pipeline_.n_features_in_
    if (encoder is None) != (not layout.text) or (encoder is not None and encoder.names_ != sorted(layout.text)):
        return False
    n_text = len(layout.text) + len(layout.ignored)
    n_numbers = len(layout.names) - n_text if layout.n_numbers is None else layout.n_numbers
    return model.n_features_in_ == len(layout.names) and n_numbers == model.pipeline_.n_features_in_


AUTO = Saved(
    {
        "n_features_in_": integer(), "pipeline_": object_of("StreamPipeline"), "best_score_": is_number,
        "best_params_": dict_of(lambda value: _TEXT(value) or is_number(value)),
        "_rows_tried": list_of(record(_ROW), 1), "_summary": record(_SUMMARY, optional=("rounds",)),
        "_layout": or_none(part("table-layout")),
    },
    {**NAMES_IN, "_variance": is_positive, "refit_time_": is_number},
    _is_sound, lambda model: model._check_params(),
)  # fmt: skip
