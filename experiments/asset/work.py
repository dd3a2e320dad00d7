"""What the experiments of the ASSET paper do: fit one split, choose landmarks, follow a stream of digits."""

import time
from typing import Any

import numpy as np

from experiments.asset.data import cases, digit_groups, split_of
from experiments.work import new_estimator
from frugalsvm import ASSETClassifier
from frugalsvm.datasets import make_deformed_mnist, stream_deformed_mnist

__all__ = ["choose_map", "fitted", "followed"]

LAST = 10_000  # Table 3 looks at the last steps of a stream,
EVERY = 1_000  # each time after so many


def fitted(settings: dict[str, Any], seed: int) -> dict[str, Any]:
    """Test error in percent, and CPU seconds of training.

    Settings
    --------
    case : a name of `experiments.asset.data.cases`
    rows : so many training rows only (default: all)
    estimator, fixed, tuned : see `experiments.work.accuracy`
    """
    X, y, X_test, y_test = split_of(cases()[settings["case"]], seed, settings.get("rows"))
    parameters = {**settings["fixed"], **settings.get("tuned", {})}
    if settings["estimator"] != "SVC":
        _compile(settings["estimator"], parameters, X, y)
    model = new_estimator(settings["estimator"], parameters, seed)
    start = time.process_time()
    model.fit(X, y)
    seconds = time.process_time() - start
    error = 100 * (1 - model.score(X_test, y_test))
    return {"error": error, "seconds": seconds, "n_learned": len(y), "dimension": getattr(model, "rank_", None)}


def _compile(estimator, parameters, X, y) -> None:
    """Compiling is no part of the times."""
    small = {"n_components": 16, "max_iter": 2} if estimator == "ASSETClassifier" else {}
    new_estimator(estimator, {**parameters, **small}, 0).fit(X[:500], y[:500])


def choose_map(settings: dict[str, Any], seed: int) -> dict[str, Any]:
    """Landmarks and gamma with the least error on held-out training rows, for the solver that finds the optimum.

    Settings
    --------
    case, fixed : as in `fitted`
    rows : training rows, of which a fifth is held out
    grid : lists of landmarks and of gammas
    """
    X, y, _, _ = split_of(cases()[settings["case"]], seed, settings["rows"])
    n_held = len(y) // 5
    best = None
    for landmarks in settings["grid"]["landmarks"]:
        for gamma in settings["grid"]["gamma"]:
            tuned = {"landmarks": landmarks, "gamma": gamma}
            model = ASSETClassifier(**{**settings["fixed"], **tuned}, random_state=seed)
            score = model.fit(X[n_held:], y[n_held:]).score(X[:n_held], y[:n_held])
            if best is None or score > best[0]:
                best = score, tuned
    return {"chosen": {"tuned": best[1]}, "held_out_error": 100 * (1 - best[0])}


def followed(settings: dict[str, Any], seed: int) -> dict[str, Any]:
    """Online learning of deformed digits with Fourier features: errors along the stream and at its end.

    Test digits are deformed too, and made of the ten thousand real digits that no training digit is made of.

    Settings
    --------
    rows : length of the stream
    test_rows : how many test digits
    checkpoints : numbers of examples, ascending, at which the error is noted
    fixed : parameters of the classifier
    """
    rows = settings["rows"]
    X_test, y_test = make_deformed_mnist(settings["test_rows"], split="test", random_state=1 + seed)
    y_test = digit_groups(y_test)
    last = range(rows - LAST + EVERY, rows + 1, EVERY) if rows > LAST else range(rows, rows + 1)
    stops = sorted({stop for stop in settings["checkpoints"] if stop < rows} | set(last))
    model = new_estimator("ASSETClassifier", settings["fixed"], seed)
    _warm_up_stream(settings["fixed"], X_test, y_test)
    errors, times, test_seconds, seconds, seen = [], [], 0.0, 0.0, 0
    for stop in stops:
        for X, digits in stream_deformed_mnist(stop - seen, start=seen, chunk_size=10_000, random_state=seed):
            start = time.process_time()
            model.partial_fit(X, digit_groups(digits), classes=[-1, 1])
            seconds += time.process_time() - start
        seen = stop
        start = time.process_time()
        errors.append(100 * (1 - model.score(X_test, y_test)))
        test_seconds += time.process_time() - start
        times.append(seconds)
    at_end = [error for stop, error in zip(stops, errors, strict=True) if stop in last]
    return {
        "examples": stops,
        "errors": errors,
        "seconds": times,
        "last_error": float(np.mean(at_end)),
        "last_deviation": float(np.std(at_end)),
        "test_seconds": test_seconds / len(stops),
    }


def _warm_up_stream(parameters, X, y) -> None:
    """Compiling is no part of the times; other dimensions may have features of another kind."""
    new_estimator("ASSETClassifier", parameters, 0).partial_fit(X[:300], y[:300], [-1, 1])
