"""A classifier of two features on a grid: what is asked is checked here, and computed."""

import warnings

import numpy as np

from frugalsvm.plots._vectors import NothingToShow, model_inside, vectors_of

FRAME = 0.05  # room around the examples, as a share of their range


def checked_classes(estimator):
    from sklearn.base import is_classifier
    from sklearn.utils.validation import check_is_fitted

    kind = type(estimator).__name__
    if not is_classifier(estimator):
        raise TypeError(f"{kind} is not a classifier: only those have a decision boundary.")
    check_is_fitted(estimator)
    model_inside(estimator)  # refuses rows that are held back
    n_features = getattr(estimator, "n_features_in_", 2)
    if n_features != 2:
        raise ValueError(f"This {kind} was fitted to {n_features} features: a boundary can be drawn for two.")
    if len(estimator.classes_) < 2:
        raise ValueError(f"This {kind} has seen one class only, {estimator.classes_[0]!r}: there is no boundary.")
    return estimator.classes_


def names_of_features(estimator, X, given):
    if given is not None:
        if len(given) != 2:
            raise ValueError(f"feature_names must be two names, not {len(given)}.")
        return given
    names = getattr(X, "columns", getattr(estimator, "feature_names_in_", None))
    return ("Feature 1", "Feature 2") if names is None else [str(name) for name in names]


def checked_points(X, y):
    if X is None:
        if y is not None:
            raise ValueError("y has the labels of X: give X, too.")
        return None, None
    points = np.asarray(X.toarray() if hasattr(X, "toarray") else X, np.float64)
    if points.ndim != 2 or points.shape[1] != 2 or len(points) == 0:
        raise ValueError(f"X must have rows of two features, but its shape is {points.shape}.")
    labels = None if y is None else np.asarray(y)
    if labels is not None and len(labels) != len(points):
        raise ValueError(f"X has {len(points)} rows, but y has {len(labels)} labels.")
    return points, labels


def vectors_or_note(estimator):
    try:
        return vectors_of(estimator), None
    except NothingToShow as nothing:
        kind = type(model_inside(estimator)).__name__
        return None, f"no vectors: {'Fourier features' if 'Fourier' in str(nothing) else kind}"


def grid_around(points, vectors, resolution):
    if points is None and vectors is None:
        raise ValueError("The model has no support vectors that show which range to draw: give X.")
    rows = vectors.points if points is None else points
    low, high = rows.min(axis=0), rows.max(axis=0)
    room = np.where(high > low, FRAME * (high - low), 1.0)
    sides = [np.linspace(low[k] - room[k], high[k] + room[k], resolution) for k in (0, 1)]
    return np.meshgrid(*sides)


def response_on(estimator, rows, classes):
    """Decision values, or 0 and 1 for predicted classes where there are none."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        if hasattr(estimator, "decision_function"):
            return np.asarray(estimator.decision_function(rows), np.float64)
        predicted = np.asarray(estimator.predict(rows))
    if len(classes) == 2:
        return np.where(predicted == classes[1], 1.0, -1.0)
    return (predicted[:, None] == classes).astype(np.float64)
