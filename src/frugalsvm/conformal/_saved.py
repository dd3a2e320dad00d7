"""Conformal estimators in model files: the model, and the scores that thresholds are taken from."""

from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor

from frugalsvm.conformal._models import has_learned
from frugalsvm.persist.savable import Saved, check_parameters
from frugalsvm.persist.values import Check, integer, is_classes, is_estimator, of_type, parts


def _has_one_window(model: Any) -> bool:
    return len(model._reservoirs) == 1 and has_learned(model.estimator_)


def _predicts_numbers(model: Any) -> bool:
    return _has_one_window(model) and is_regressor(model.estimator_)


def _fits_classes(model: Any) -> bool:
    if not is_classifier(model.estimator_) or not has_learned(model.estimator_):
        return False
    n_windows = len(model._labels) if model.by_class else 1
    return len(model._reservoirs) == n_windows and np.array_equal(model.estimator_.classes_, model._labels)


def _waits_for_labels(buffer: Any) -> bool:
    learns = hasattr(buffer.model, "partial_fit") and callable(getattr(buffer.model, buffer.method, None))
    named = buffer.method.isidentifier() and not buffer.method.startswith("_")
    return learns and named and len(buffer._waiting) <= buffer.max_rows


def _check_parameters(model: Any) -> None:
    model._check_params()
    check_parameters(model.estimator)


_REQUIRED: dict[str, Check] = {"estimator_": is_estimator, "_reservoirs": parts("score-reservoir")}
CLASSIFIER = Saved({**_REQUIRED, "_labels": is_classes}, {}, _fits_classes, _check_parameters)
REGRESSOR = Saved(_REQUIRED, {}, _predicts_numbers, _check_parameters)
DETECTOR = Saved(_REQUIRED, {}, _has_one_window, _check_parameters)
BUFFER = Saved(
    {"model": is_estimator, "max_rows": integer(1), "method": of_type(str), "n_given_up_": integer(),
     "_n_rows": integer(), "_waiting": of_type(dict)},
    {}, _waits_for_labels,
)  # fmt: skip
