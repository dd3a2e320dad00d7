"""Work of the figures: curves of learning, and the support vectors of a small model."""

import time
from typing import Any

import numpy as np
from sklearn.base import clone

from experiments.data import scaled, split
from experiments.work import new_estimator

__all__ = ["curve", "support_vectors"]


def curve(settings: dict[str, Any], seed: int) -> dict[str, Any]:
    """Accuracy, time and size after more and more examples of a single pass.

    Settings
    --------
    data, rows, scaling, estimator, fixed, tuned : as in `experiments.work.accuracy`
    checkpoints : how often to look, at numbers of examples whose logarithms are equally far from each other
    first : the first of these numbers (default: 100)
    seconds : stop at the first look after so many seconds of learning (default: never)
    """
    X, y, X_test, y_test = split(settings["data"], seed, settings.get("rows"))
    X, X_test = scaled(settings.get("scaling"), X, X_test)
    if settings["data"] not in ("checkerboard", "waveform"):  # those come in random order
        order = np.random.default_rng(seed).permutation(len(y))
        X, y = X[order], y[order]
    parameters = {**settings.get("fixed", {}), **settings.get("tuned", {})}
    model = new_estimator(settings["estimator"], parameters, seed)
    classes, begin, took = np.unique(y), 0, 0.0
    clone(model).partial_fit(X[:100], y[:100], classes=classes)  # so that compiling is not in the times
    looks: dict[str, list[float]] = {"n": [], "accuracy": [], "seconds": [], "n_support": []}
    for end in _checkpoints(settings.get("first", 100), len(y), settings["checkpoints"]):
        start = time.process_time()
        model.partial_fit(X[begin:end], y[begin:end], classes=classes)
        took, begin = took + time.process_time() - start, end
        looks["n"].append(end)
        looks["accuracy"].append(100 * model.score(X_test, y_test))
        looks["seconds"].append(took)
        looks["n_support"].append(len(model.support_vectors_))
        if took > settings.get("seconds", np.inf):
            break
    error = getattr(model, "gradient_error_", None)
    return {**looks, "gradient_error": None if error is None else float(error)}


def _checkpoints(first: int, last: int, count: int) -> list[int]:
    if count == 1:
        return [last]
    return sorted({int(n) for n in np.geomspace(min(first, last), last, count).round()})


def support_vectors(settings: dict[str, Any], seed: int) -> dict[str, Any]:
    """The support vectors of a model and the class that each of them speaks for most, in the order of the classes.

    Settings: as for `experiments.work.accuracy`.
    """
    X, y, X_test, y_test = split(settings["data"], seed, settings.get("rows"))
    X, X_test = scaled(settings.get("scaling"), X, X_test)
    parameters = {**settings.get("fixed", {}), **settings.get("tuned", {})}
    model = new_estimator(settings["estimator"], parameters, seed).fit(X, y)
    classes = model.classes_[model.dual_coef_.argmax(axis=0)]
    order = np.argsort(classes, kind="stable")
    vectors = model.support_vectors_[order]
    among_rows = [bool((np.abs(X - vector).max(axis=1) < 1e-6).any()) for vector in vectors]
    return {
        "vectors": np.round(vectors.astype(float), 3).tolist(),
        "classes": classes[order].tolist(),
        "are_examples": among_rows,
        "accuracy": 100 * model.score(X_test, y_test),
    }
