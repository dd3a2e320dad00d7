"""One pass of a LASVM with everything that the tables and figures need, so that each run is made once."""

import time
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.svm import SVC

from experiments.lasvm.data import sparse_if_worth_it, split_of
from experiments.watched import WatchedLASVM, checkpoints
from frugalsvm import LASVMClassifier
from frugalsvm.metrics import geometric_mean_score, precision_recall_breakeven

__all__ = ["batch_solver", "watched_pass"]

COMPILING_ROWS = 1500  # learned before the clock runs
PARAMETERS = ("variant", "C", "gamma", "s", "cache_size", "max_idle", "clean_every")


def watched_pass(settings: dict[str, Any], seed: int) -> dict[str, Any]:
    """Learn the training rows once, in random order, by the clock; and once more, looked at on the way.

    Settings
    --------
    data, rows, test_rows : see `experiments.lasvm.data.split_of`
    variant, C, gamma, s, cache_size, max_idle, clean_every : parameters of `LASVMClassifier`
    looks : at how many examples its size, gap and kernel values are read (``curve``)
    tests : at how many of them it is tested as well (``tests``)

    Returns
    -------
    dict
        Scores in percent (AUC: a fraction), ``n_support``, ``n_members``, kernel values, CPU seconds of learning, and
        the positions on the ramp (``ramp``) at the end; ``curve`` and ``tests``.
    """
    X, y, X_test, y_test = _split(settings, seed)
    X = sparse_if_worth_it(X)  # here once; the learner would do it again after every look
    parameters = {name: settings[name] for name in PARAMETERS if name in settings} | {"random_state": seed}
    LASVMClassifier(**parameters).fit(X[:COMPILING_ROWS], y[:COMPILING_ROWS])
    model, start = LASVMClassifier(**parameters), time.process_time()
    model.fit(X, y)
    seconds = time.process_time() - start
    looks = {
        "curve": (checkpoints(len(y), settings["looks"]), _state),
        "tests": (checkpoints(len(y), settings["tests"]), lambda model: _scores(model, X_test, y_test)),
    }
    watched = WatchedLASVM(**parameters).watch(**looks)
    if settings["looks"] or settings["tests"]:
        watched.fit(X, y)
    return {
        **_scores(model, X_test, y_test),
        **_state(model),
        "seconds": seconds,
        "n_members": int(model.n_members_[0]),
        "n_admitted": int(model.n_admitted_[0]),
        "ramp": {
            "admitted left": int(model.admitted_left_[0]),
            "admitted right": int(model.admitted_right_[0]),
            "cleaned left": int(model.cleaned_left_[0]),
            "cleaned right": int(model.cleaned_right_[0]),
        },
        **watched.records,
    }


def batch_solver(settings: dict[str, Any], seed: int) -> dict[str, Any]:
    """The same rows learned by LIBSVM, as it is in scikit-learn; settings: those of `watched_pass` that it has."""
    X, y, X_test, y_test = _split(settings, seed)
    model = SVC(C=settings["C"], gamma=settings["gamma"], cache_size=settings["cache_size"])
    start = time.process_time()
    model.fit(X, y)
    seconds = time.process_time() - start
    return {**_scores(model, X_test, y_test), "seconds": seconds, "n_support": int(model.n_support_.sum())}


def _split(settings, seed):
    X, y, X_test, y_test = split_of(settings["data"], seed, settings.get("rows"), settings.get("test_rows"))
    return X, y, sparse_if_worth_it(X_test, 0.025), y_test


def _scores(model, X_test, y_test):
    scores = model.decision_function(X_test)
    predicted = np.where(scores >= 0, 1, -1)
    return {
        "accuracy": 100 * float(np.mean(predicted == y_test)),
        "prbep": 100 * precision_recall_breakeven(y_test, scores),
        "auc": float(roc_auc_score(y_test, scores)),
        "gmeans": 100 * geometric_mean_score(y_test, predicted),
    }


def _state(model):
    return {
        "n_support": int(model.n_support_[0]),
        "kernel_values": int(model.n_kernel_evals_),
        "gap": float(model.member_gap_),
    }
