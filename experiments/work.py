"""The work most tables need: train a classifier on one split and test it."""

import time
from typing import Any

import numpy as np
from sklearn.svm import SVC

import frugalsvm
from experiments.data import scaled, split

__all__ = ["accuracy", "learn_for", "new_estimator"]


def new_estimator(name: str, parameters: dict[str, Any], seed: int):
    """A classifier of ours by its name, or scikit-learn's ``SVC``."""
    kind = SVC if name == "SVC" else getattr(frugalsvm, name)
    seeded = {"random_state": seed} if "random_state" in kind().get_params() and name != "SVC" else {}
    return kind(**parameters, **seeded)


def accuracy(settings: dict[str, Any], seed: int) -> dict[str, Any]:
    """Accuracy on test rows after training, in percent, with what it took.

    Settings
    --------
    data, rows : see `experiments.data.split`
    scaling : see `experiments.data.scaled`
    estimator : name of a class
    fixed, tuned : parameters of it, from the protocol and from cross-validation
    shuffle : whether the training rows come in another order for each seed (default: yes)
    seconds : stop learning after so long (default: never), as the papers did
    """
    X, y, X_test, y_test = split(settings["data"], seed, settings.get("rows"))
    X, X_test = scaled(settings.get("scaling"), X, X_test)
    if settings.get("shuffle", True):
        order = np.random.default_rng(seed).permutation(len(y))
        X, y = X[order], y[order]
    parameters = {**settings.get("fixed", {}), **settings.get("tuned", {})}
    model = new_estimator(settings["estimator"], parameters, seed)
    start = time.process_time()
    n_learned = learn_for(model, X, y, settings.get("seconds"))
    took = time.process_time() - start
    return {
        "accuracy": 100 * model.score(X_test, y_test),
        "seconds": took,
        "n_learned": n_learned,
        "n_support": _n_support(model),
    }


def learn_for(model, X, y, seconds: float | None = None, chunk: int = 2_000) -> int:
    """Learn all rows, or as many as so many seconds allow; how many."""
    if seconds is None:
        model.fit(X, y)
        return len(y)
    start, classes = time.process_time(), np.unique(y)
    for begin in range(0, len(y), chunk):
        end = min(begin + chunk, len(y))
        model.partial_fit(X[begin:end], y[begin:end], classes=classes)
        if time.process_time() - start > seconds:
            break
    return end


def _n_support(model) -> int | None:
    """Support vectors of a kernel expansion; None for a model without."""
    vectors = getattr(model, "support_vectors_", None)
    return None if vectors is None else int(vectors.shape[0])
