"""Fits on 1, 2, 4, ... threads: low-rank machines and budgeted SGD, beside PyTorch and the limit of the machine."""

import hashlib
import time
import warnings
from importlib.util import find_spec

import numpy as np
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from benchmarks.asset_data import CASES as ASSET_CASES
from benchmarks.asset_data import split_of as asset_split
from benchmarks.cases import Case, split_of
from benchmarks.cores_shapes import shaped
from benchmarks.limit import nanoseconds_per_value
from benchmarks.threads_limit import kernel_seconds
from frugalsvm import ASSETClassifier, BSGDClassifier
from frugalsvm.core.kernels import RBF
from frugalsvm.datasets import load

__all__ = [
    "ASSET_PROBLEMS",
    "asset_data",
    "asset_rows",
    "bits_of",
    "bsgd_rows",
    "compile_for",
    "error_percent",
    "timed_fit",
]

# Name, data, landmarks
ASSET_PROBLEMS = (
    ("mnist, 10 classes, s = 1024", "digits", 1024),
    ("covtype, s = 512", "covtype", 512),
    ("covtype, s = 2048", "covtype", 2048),
)
BSGD_PROBLEMS = (
    Case("ijcnn1, B = 500", "ijcnn1", "standard", 500, 0.182, 3.16e-5),
    Case("a9a, B = 500", "a9a", "range", 500, 0.163, 1e-4),
    Case("mnist, 10 classes, B = 500", "mnist", "pixels", 500, 0.02, 1e-5, rows=20_000),
    Case("mnist, 10 classes, B = 2000", "mnist", "pixels", 2000, 0.02, 1e-5, rows=20_000),
)


def compile_for(model, X, y):
    """Have machine code made, by a fit of few rows, which may be a poor one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clone(model).fit(X[:1000], y[:1000])


def timed_fit(model, X, y):
    """A fitted model and the seconds that passed: the less of two fits, of which the first touches new memory."""
    seconds = []
    for _ in range(2):
        start = time.perf_counter()
        model.fit(X, y)
        seconds.append(time.perf_counter() - start)
    return model, min(seconds)


def error_percent(model, X, y):
    return 100 * (1 - model.score(X, y))


def bits_of(model):
    """A few letters that stand for all numbers of a model: the same for all threads."""
    return hashlib.blake2b(model.coef_.tobytes(), digest_size=4).hexdigest()


def asset_rows(options):
    """Seconds of ASSET's fits, and of their kernel values alone, for each number of threads."""
    for name, data, s in ASSET_PROBLEMS:
        if not options.wanted(name):
            continue
        X, y, X_test, y_test, settings = asset_data(data, made_up=options.made_up)
        new = {"n_components": s, "loss": "hinge", "random_state": 0, **settings}
        compile_for(ASSETClassifier(**{**new, "n_components": 16}), X, y)
        for n_threads in options.threads:
            model, seconds = timed_fit(ASSETClassifier(n_jobs=n_threads, **new), X, y)
            limit = kernel_seconds(len(X), X.shape[1], s, n_threads)
            error = error_percent(model, X_test, y_test)
            row = {"problem": name, "threads": n_threads, "seconds": seconds, "error": error, "limit": limit}
            yield {**row, "bits": bits_of(model)}
        if options.torch and find_spec("torch") is not None:
            yield _torch_row(name, new, X, y, X_test, y_test, options.threads[-1])


def asset_data(data, *, made_up=False):
    if made_up:
        settings = {"C": 10.0, "gamma": 0.02} if data == "digits" else {"C": 3.0, "gamma": 0.5}
        return *shaped(data), settings
    if data == "digits":
        (X, y), (X_test, y_test) = (load("mnist", split) for split in ("train", "test"))
        X, X_test = X.astype(np.float32) / 255, X_test.astype(np.float32) / 255
        return X, y, X_test, y_test, {"C": 10.0, "gamma": 0.02}
    case = ASSET_CASES[data]
    return *asset_split(data, 0), {"C": case.C, "gamma": case.gamma}


def _torch_row(name, new, X, y, X_test, y_test, n_threads):
    """The same fit by PyTorch on the CPU, with as many threads."""
    import torch

    torch.set_num_threads(n_threads)
    compile_for(ASSETClassifier(**{**new, "n_components": 16}, device="torch"), X, y)
    model, seconds = timed_fit(ASSETClassifier(device="torch", **new), X, y)
    error = error_percent(model, X_test, y_test)
    return {"problem": f"{name}, PyTorch", "threads": n_threads, "seconds": seconds, "error": error}


def bsgd_rows(options):
    """Seconds of one pass of BSGD, and how many times the limit of one thread that is."""
    for case in BSGD_PROBLEMS:
        if not options.wanted(case.name):
            continue
        split = split_of(case)
        settings = {"budget": case.budget, "gamma": case.gamma, "alpha": case.alpha, "shuffle": False}
        compile_for(BSGDClassifier(**{**settings, "budget": 20}), split.X_train, split.y_train)
        for n_threads in options.threads:
            model, seconds = timed_fit(BSGDClassifier(n_jobs=n_threads, **settings), split.X_train, split.y_train)
            with threadpool_limits(1):
                vectors = model.support_vectors_
                limit = nanoseconds_per_value(RBF(case.gamma), split.X_train, vectors, len(model.dual_coef_)) * 1e-9
            error = error_percent(model, split.X_test[:10_000], split.y_test[:10_000])
            ratio = seconds / (limit * model.n_kernel_evals_)
            yield {"problem": case.name, "threads": n_threads, "seconds": seconds, "error": error, "limit_ratio": ratio}
