"""The feature map of a pipeline: any transformer of scikit-learn's kind, fitted once, on the first rows."""

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse
from sklearn.base import clone


def check_map(feature_map: Any) -> None:
    """Refuse what is not a transformer."""
    if isinstance(feature_map, type):
        raise TypeError(f"feature_map must be an object, not a class: write {feature_map.__name__}().")
    lacking = [name for name in ("fit", "transform", "get_params") if not hasattr(feature_map, name)]
    if feature_map is not None and lacking:
        raise TypeError(
            f"feature_map must be a transformer of scikit-learn's kind, but {feature_map!r} has no {lacking[0]}."
        )


def check_enough_rows(feature_map: Any, n_rows: int) -> None:
    """Refuse a map whose landmarks are to be more than the rows they come from; scikit-learn would take fewer."""
    if _has_landmarks(feature_map) and feature_map.n_components > n_rows:
        raise ValueError(
            f"feature_map takes its n_components={feature_map.n_components} landmarks from the first rows, which are "
            f"{n_rows} only: make warmup_rows (or the first batch) larger, or n_components smaller."
        )


def _has_landmarks(feature_map: Any) -> bool:
    if feature_map is None:
        return False
    from sklearn.kernel_approximation import Nystroem  # takes a while

    return isinstance(feature_map, Nystroem)


def fitted_map(feature_map: Any, X: Any, y: Any, *, may_shrink: bool = False) -> Any:
    """A copy of the map that was fitted on rows.

    With ``may_shrink``, there may be fewer landmarks than were asked for: for predictions before all first rows have
    come.
    """
    made = clone(feature_map)
    if may_shrink and _has_landmarks(made):
        made.set_params(n_components=min(made.n_components, X.shape[0]))
    check_enough_rows(made, X.shape[0])
    try:
        return made.fit(X, y)
    except (ValueError, TypeError) as error:
        what = f"feature_map={type(made).__name__} cannot be fitted on the first {X.shape[0]} rows"
        raise ValueError(f"{what}: {error}") from error


def mapped(feature_map: Any, X: Any) -> Any:
    """The features of rows, in the type that the rows have."""
    made = feature_map.transform(X)
    made = csr_matrix(made, dtype=X.dtype) if issparse(made) else np.ascontiguousarray(made, dtype=X.dtype)
    if made.ndim != 2 or made.shape[0] != X.shape[0]:
        what = f"feature_map={type(feature_map).__name__} gave features of shape {made.shape}"
        raise ValueError(f"{what} for {X.shape[0]} rows; it must give one row for each.")
    return made
