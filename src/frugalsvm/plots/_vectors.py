"""What a fitted model keeps of the examples: support vectors, twins or landmarks, and whose they are."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class NothingToShow(ValueError):
    """The model has no vectors in the space of its input."""


class ModelVectors(NamedTuple):
    """The vectors of a model, in the features that it is given."""

    name: str  # in the plural
    points: NDArray  # (n, n_features)
    coefficients: NDArray  # (n,) of the class that each is counted to; with two classes negative for the first
    places: NDArray  # (n,) indices of these classes in classes_
    are_examples: bool  # whether their classes are those of examples, or only what they speak for


def model_inside(estimator: Any) -> Any:
    """The estimator that decides, out of pipelines and searches."""
    from sklearn.pipeline import Pipeline

    from frugalsvm.conformal import ConformalClassifier
    from frugalsvm.pipelines import DriftWatch, StreamPipeline

    if isinstance(estimator, DriftWatch):
        return model_inside(estimator.model)
    if isinstance(estimator, ConformalClassifier):
        return model_inside(estimator.estimator_)
    if isinstance(estimator, StreamPipeline):
        if estimator.n_held_:
            raise ValueError(f"{estimator.n_held_} rows are held back: call flush() to learn them before drawing.")
        return estimator.estimator_
    if isinstance(estimator, Pipeline):
        return model_inside(estimator.steps[-1][1])
    if hasattr(estimator, "best_estimator_"):
        return model_inside(estimator.best_estimator_)
    return estimator


def vectors_of(estimator: Any) -> ModelVectors:
    """The vectors of a fitted classifier; `NothingToShow` says why there are none."""
    model = model_inside(estimator)
    name, points, coefficients = _kept(model)
    by_class = _class_coefficients(model, coefficients)
    if len(by_class) == 1:
        places = (by_class[0] > 0).astype(int)
        if hasattr(model, "twin_weights_"):  # a twin without a coefficient has examples all the same
            places = model.twin_weights_.argmax(axis=1)
        shown = by_class[0]
    else:
        places = _leading(model, points, by_class)
        shown = by_class[places, np.arange(len(places))]
    return ModelVectors(name, _before_steps(estimator, points), shown, places, name != "landmarks")


def _kept(model):
    """Name, vectors and coefficients, one row per output."""
    points, coefficients = getattr(model, "support_vectors_", None), getattr(model, "dual_coef_", None)
    name = "twin vectors" if hasattr(model, "twin_vectors_") else "support vectors"
    if points is None and getattr(model, "landmarks_", None) is not None:
        name, points = "landmarks", model.landmarks_
    if points is None or coefficients is None:
        kind = type(model).__name__
        if getattr(model, "feature_map", None) == "fourier":
            raise NothingToShow(
                f"This {kind} has random Fourier features, which are not vectors of the input space: "
                "feature_map='nystroem' has landmarks that can be shown."
            )
        raise NothingToShow(f"{kind} has no support vectors (no support_vectors_ and dual_coef_).")
    if len(points) == 0 if isinstance(points, np.ndarray) else points.shape[0] == 0:
        raise NothingToShow(f"This {type(model).__name__} has learned nothing yet: it has no support vectors.")
    return name, _dense(points), _dense(coefficients)


def _dense(matrix):
    return np.asarray(matrix.toarray() if hasattr(matrix, "toarray") else matrix, np.float64)


def _class_coefficients(model, coefficients):
    """One row of coefficients with two classes, else one per class."""
    from frugalsvm.estimators.incremental import IncrementalSVC
    from frugalsvm.exact.one_vs_one import pairs_of

    n_classes = len(model.classes_)
    if n_classes <= 2:
        return coefficients[:1]
    if isinstance(model, IncrementalSVC):  # a row per pair, in which the second class is positive
        by_class = np.zeros((n_classes, coefficients.shape[1]))
        for (first, second), row in zip(pairs_of(n_classes), coefficients, strict=True):
            by_class[first] -= row
            by_class[second] += row
        return by_class
    if len(coefficients) == n_classes:
        return coefficients
    # SVC of scikit-learn: the vectors of a class follow each other, with a row for each of the other classes.
    places = np.repeat(np.arange(n_classes), model.n_support_)
    by_class = np.zeros((n_classes, coefficients.shape[1]))
    by_class[places, np.arange(len(places))] = np.abs(coefficients).sum(axis=0)
    return by_class


def _leading(model, points, by_class):
    """The class with the largest coefficient; where several are as large, the one that the model predicts.

    One-vs-rest, an example may be a support vector against another class only: its coefficient for its class is zero
    then, as are those of the classes that it has nothing to do with.
    """
    scores = model.decision_function(points)
    return np.where(by_class == by_class.max(axis=0), scores.T, -np.inf).argmax(axis=0)


def _before_steps(estimator, points):
    """Vectors of the model inside as rows of the input."""
    from sklearn.pipeline import Pipeline

    from frugalsvm.explain.columns import unscaled
    from frugalsvm.pipelines import StreamPipeline

    if isinstance(estimator, StreamPipeline):
        if estimator.encoder_ is not None:
            raise NothingToShow("The pipeline encodes columns of text: its support vectors are not rows of numbers.")
        return points if estimator.scaler_ is None else unscaled(points, estimator.scaler_)
    if isinstance(estimator, Pipeline):
        points = _before_steps(estimator.steps[-1][1], points)
        for name, step in reversed(estimator.steps[:-1]):
            if step is None or step == "passthrough":
                continue
            if not hasattr(step, "inverse_transform"):
                raise NothingToShow(f"Step {name!r} of the pipeline has no inverse_transform: vectors cannot be shown.")
            points = _dense(step.inverse_transform(points))
        return points
    if hasattr(estimator, "best_estimator_"):
        return _before_steps(estimator.best_estimator_, points)
    return points


def n_terms(estimator: Any) -> tuple[int, str]:
    """How many support vectors or features a model has, and which of them it is."""
    model = model_inside(estimator)
    if getattr(model, "support_vectors_", None) is not None:
        return model.support_vectors_.shape[0], "support vectors"
    if getattr(model, "landmarks_", None) is not None:
        return len(model.landmarks_), "landmarks"
    if hasattr(model, "rank_"):
        return int(model.rank_), "features"
    raise ValueError(f"{type(model).__name__} has neither support vectors nor features that can be counted.")


def model_bytes(estimator: Any) -> int:
    """The bytes that predictions need."""
    model = model_inside(estimator)
    if hasattr(model, "model_bytes_"):
        return int(model.model_bytes_)
    if hasattr(model, "support_vectors_") and hasattr(model, "dual_coef_"):
        return sum(_n_bytes(part) for part in (model.support_vectors_, model.dual_coef_))
    raise ValueError(f"{type(model).__name__} does not say how many bytes it has (no model_bytes_).")


def _n_bytes(array):
    parts = (array.data, array.indices, array.indptr) if hasattr(array, "indptr") else (array,)
    return sum(part.nbytes for part in parts)
