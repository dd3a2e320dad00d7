"""What the tables and curves of the TVM paper need: learn some rows after the clock was warmed up, and test."""

import time
from typing import Any

import numpy as np

from experiments.data import scaled, split
from experiments.tuning import candidates_of
from experiments.work import new_estimator

__all__ = ["AVERAGED_MODELS", "averaged", "choose_for_samples", "curve", "learned", "rows_of", "warmed_up"]

WARMING_ROWS = 300  # enough to compile and load what a learner needs
AVERAGED_MODELS = 50


def rows_of(settings: dict[str, Any], seed: int):
    """Training rows in random order and test rows, all scaled with statistics of the training rows, in float64."""
    X, y, X_test, y_test = split(settings["data"], seed, settings.get("rows"))
    X, X_test = (rows.astype(np.float64) for rows in scaled(settings.get("scaling", "standard"), X, X_test))
    order = np.random.default_rng(seed).permutation(len(y))
    return X[order], y[order], X_test, y_test


def warmed_up(settings: dict[str, Any], seed: int, X, y):
    """A new classifier, after another one has learned a few rows: compiling is no part of the times."""
    parameters = {**settings.get("fixed", {}), **settings.get("tuned", {})}
    if settings["estimator"] != "SVC":
        new_estimator(settings["estimator"], parameters, seed).fit(X[:WARMING_ROWS], y[:WARMING_ROWS])
    return new_estimator(settings["estimator"], parameters, seed)


def learned(settings: dict[str, Any], seed: int) -> dict[str, Any]:
    """Accuracy in percent after learning, with the time and the vectors that it took.

    Settings
    --------
    data, rows, scaling : training rows, see `experiments.data`
    examples : learn so many of them only (default: all)
    estimator, fixed, tuned : see `experiments.work.accuracy`
    """
    X, y, X_test, y_test = rows_of(settings, seed)
    n_rows = len(y)
    n_learned = min(settings.get("examples") or n_rows, n_rows)
    X, y = X[:n_learned], y[:n_learned]
    model = warmed_up(settings, seed, X, y)
    start = time.process_time()
    model.fit(X, y)
    seconds = time.process_time() - start
    return {
        "accuracy": 100 * model.score(X_test, y_test),
        "seconds": seconds,
        "n_learned": n_learned,
        "n_rows": n_rows,
        "n_support": int(model.support_vectors_.shape[0]),
    }


def averaged(settings: dict[str, Any], seed: int) -> dict[str, Any]:
    """Accuracy of the last model, and of the mean of models at equal distances over the second half of the stream.

    The mean is taken of decision values: as one model it has the support vectors of all of them, so that it does not
    keep to the budget.

    Settings
    --------
    as in `learned`
    """
    X, y, X_test, y_test = rows_of(settings, seed)
    model = warmed_up(settings, seed, X, y)
    stops = np.unique(np.linspace(len(y) / 2, len(y), AVERAGED_MODELS).astype(int))
    total, seen, vectors = np.zeros(len(y_test)), 0, []
    for stop in stops:
        model.partial_fit(X[seen:stop], y[seen:stop], classes=np.unique(y))
        seen = stop
        total += model.decision_function(X_test)
        vectors.append(model.support_vectors_)
    predicted = model.classes_[(total >= 0).astype(int)]
    return {
        "accuracy": 100 * float(np.mean(predicted == y_test)),
        "last_accuracy": 100 * model.score(X_test, y_test),
        "n_support": len(np.unique(np.concatenate(vectors), axis=0)),
    }


def curve(settings: dict[str, Any], seed: int) -> dict[str, Any]:
    """Accuracy after each of some numbers of examples; a batch learner starts anew for each of them.

    Settings
    --------
    checkpoints : numbers of examples, ascending; those that the data do not reach are left out, and the end is added
    others : as in `learned`
    """
    X, y, X_test, y_test = rows_of(settings, seed)
    end = min(settings.get("examples") or len(y), len(y))
    stops = [stop for stop in settings["checkpoints"] if stop < end] + [end]
    model, seen, seconds = warmed_up(settings, seed, X, y), 0, 0.0
    accuracies, times = [], []
    for stop in stops:
        start = time.process_time()
        if hasattr(model, "partial_fit"):
            model.partial_fit(X[seen:stop], y[seen:stop], classes=np.unique(y))
            seconds += time.process_time() - start
        else:
            model.fit(X[:stop], y[:stop])
            seconds = time.process_time() - start
        seen = stop
        accuracies.append(100 * model.score(X_test, y_test))
        times.append(seconds)
    return {"examples": stops, "accuracies": accuracies, "seconds": times}


def choose_for_samples(settings: dict[str, Any], seed: int) -> dict[str, Any]:
    """The candidate that does best on held-out training rows after learning small samples of the others.

    Settings
    --------
    examples : size of a sample
    rounds : pairs of a number of samples and of how many candidates stay
    others : as in `experiments.tuning.choose`
    """
    X, y, _, _ = split(settings["data"], seed, settings.get("rows"))
    candidates = candidates_of(settings, X)
    held = np.arange(len(y)) % 2 == 0
    known, unknown, rng = np.flatnonzero(~held), np.flatnonzero(held), np.random.default_rng(seed)
    n_samples = max(count for count, _ in settings["rounds"])
    samples = [rng.choice(known, settings["examples"], replace=False) for _ in range(n_samples)]
    for count, kept in settings["rounds"]:
        scores = []
        for candidate in candidates:
            rows = scaled(candidate["scaling"], X[known], X)[1]
            parameters = {**settings["fixed"], **candidate["tuned"]}
            models = [new_estimator(settings["estimator"], parameters, 0).fit(rows[s], y[s]) for s in samples[:count]]
            scores.append(np.mean([model.score(rows[unknown], y[unknown]) for model in models]))
        best = np.argsort(-np.array(scores), kind="stable")[:kept]
        candidates = [candidates[i] for i in best]
    return {"chosen": candidates[0], "held_out_accuracy": 100 * float(scores[best[0]])}
