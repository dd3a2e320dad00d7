"""Models that are wrapped: of this library and of scikit-learn, which take arrays, and of river, which take dicts."""

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from frugalsvm.estimators.automatic import learns_streams
from frugalsvm.estimators.validation import is_fitted
from frugalsvm.exceptions import ParameterError


def is_river(model: Any) -> bool:
    """Whether it learns dicts of features, one at a time."""
    return hasattr(model, "learn_one") and not hasattr(model, "partial_fit")


def check_model(model: Any, scores: tuple[str, ...], river_scores: tuple[str, ...]) -> None:
    """Refuse what has no score."""
    wanted = river_scores if is_river(model) else scores
    if not any(hasattr(model, name) for name in wanted):
        raise ParameterError("estimator", model, f"a model with {' or '.join(wanted)}")


def copied(model: Any) -> Any:
    """A copy that has not learned, unless it is frozen."""
    return model.clone() if is_river(model) else clone(model)


def learns(model: Any) -> bool:
    """Whether rows are learned; otherwise they calibrate only."""
    return is_river(model) or (learns_streams(model) and not isinstance(model, FrozenEstimator))


def has_learned(model: Any) -> bool:
    """Whether it can be asked."""
    return is_river(model) or is_fitted(model)


def teach(model: Any, X: Any, y: Any, **more: Any) -> None:
    """Let a model of arrays learn rows; options that are None are not handed on."""
    if learns(model):
        targets = () if y is None else (y,)
        model.partial_fit(X, *targets, **{name: value for name, value in more.items() if value is not None})


def answers(model: Any, X: Any, method: str, river_method: str) -> Any:
    """What a model answers for each row; the second method is that of river, for a dict."""
    return [getattr(model, river_method)(x) for x in rows_of(X)] if is_river(model) else getattr(model, method)(X)


def rows_of(X: Any) -> list[dict]:
    """Rows for river: a data frame, or dicts of features."""
    return X.to_dict(orient="records") if hasattr(X, "to_dict") else list(X)


def batch_of(model: Any, x: Any) -> Any:
    """One row as a batch of one."""
    if is_river(model):
        return [x]
    if isinstance(x, tuple) and len(x) == 2 and isinstance(x[1], dict):  # numbers, and columns of text
        numbers, columns = x
        return None if numbers is None else np.asarray(numbers)[None], {name: [text] for name, text in columns.items()}
    return np.asarray(x)[None]
