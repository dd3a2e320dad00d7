"""Training and prediction speed of budgeted SGD and its peers on the same rows, one thread."""

import os
import subprocess
import sys
import tempfile
import time

from sklearn.base import clone
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC

from benchmarks.cases import Case, split_of
from benchmarks.limit import best_of, nanoseconds_per_value
from frugalsvm import BPAClassifier, BSGDClassifier, BudgetedPerceptron
from frugalsvm.budgeted.strategies import STRATEGIES, VARIANTS
from frugalsvm.core.kernels import RBF

# Scaling, gamma and alpha were chosen on training rows only.
CASES = {
    case.name: case
    for case in (
        Case("checkerboard-100", "checkerboard", None, 100, 5.0, 1e-6, rows=1_000_000, svc_rows=50_000, svc_c=100.0),
        Case("checkerboard-500", "checkerboard", None, 500, 12.0, 1e-4, rows=1_000_000, svc_rows=50_000, svc_c=100.0),
        Case("ijcnn1", "ijcnn1", "standard", 500, 0.182, 3.16e-5, svc_c=10.0),
        Case("a9a", "a9a", "range", 500, 0.163, 1e-4),
        Case("mnist-8", "mnist", "pixels", 500, 0.02, 1e-5, rows=20_000, svc_c=10.0, positive=8),
        Case("usps", "usps", "range", 500, 0.106, 1e-4, svc_c=10.0),
        Case("letter", "letter", "range", 500, 6.7, 1e-4, svc_c=10.0),
    )
}
QUADRATIC = ("tighter", "tightest", "projectron", "projectron++", "BPA projecting")
BASELINE_CASES = ("a9a", "ijcnn1")  # where the perceptrons and BPA are measured too
PREDICTED_ROWS = 50_000
SVC_PREDICTED_ROWS = 2_000


def measure(case: Case, *, peers=True) -> dict:
    """All rows of a case's table."""
    split = split_of(case)
    n_features, n_classes = split.X_train.shape[1], len(set(split.y_train.tolist()))
    rows = [_ours(name, model, case, split) for name, model in _our_models(case)]
    if peers:
        rows += [_peer(name, model, split, n) for name, model, n in _peers(case, split)]
    title = (
        f"{case.name}: {n_features} features, {n_classes} classes, budget {case.budget}, "
        f"gamma {case.gamma:g}, alpha {case.alpha:g}"
    )
    return {"case": case._asdict(), "title": title, "rows": rows}


def _our_models(case):
    # The rows were shuffled beforehand, for all models alike.
    shared = {"budget": case.budget, "gamma": case.gamma, "shuffle": False}
    yield "frugalsvm BSGD", BSGDClassifier(alpha=case.alpha, **shared)
    if case.name in BASELINE_CASES:
        for strategy in STRATEGIES:
            yield strategy, BudgetedPerceptron(strategy, margin=1, random_state=0, **shared)
        for variant in VARIANTS:
            yield f"BPA {variant}", BPAClassifier(variant, C=0.1, **shared)


def _ours(name, model, case, split):
    clone(model).fit(split.X_train[:1000], split.y_train[:1000]).predict(split.X_test[:100])  # compiled now
    slow = name in QUADRATIC
    seconds = best_of(lambda: model.fit(split.X_train, split.y_train), repeats=1 if slow else 3, warm_up=not slow)
    shown = split.X_test[:PREDICTED_ROWS]
    predict_seconds = best_of(lambda: model.decision_function(shown), repeats=3)
    n_outputs = len(model.dual_coef_)
    limit = nanoseconds_per_value(RBF(case.gamma), split.X_train, model.support_vectors_, n_outputs) * 1e-9
    return {
        "model": name,
        "rows": len(split.X_train),
        "seconds": seconds,
        "limit_ratio": seconds / (limit * model.n_kernel_evals_),
        "accuracy": model.score(split.X_test, split.y_test),
        "n_support": len(model.support_vectors_),
        "predict_rows": len(shown),
        "predict_seconds": predict_seconds,
        "predict_limit_ratio": predict_seconds / (limit * len(shown) * len(model.support_vectors_)),
        "update_share": model.n_updates_ / len(split.X_train),
    }


def _peers(case, split):
    n = len(split.X_train)
    gamma, budget = case.gamma, case.budget
    features = Nystroem(gamma=gamma, n_components=budget, random_state=0)
    yield "SVC", SVC(C=case.svc_c, gamma=gamma, cache_size=500), min(n, case.svc_rows or n)
    yield f"Nystroem({budget}) + SGDClassifier", make_pipeline(features, SGDClassifier(random_state=0)), n
    yield f"Nystroem({budget}) + LinearSVC", make_pipeline(features, LinearSVC(C=case.svc_c)), min(n, 200_000)


def _peer(name, model, split, n_rows):
    start = time.perf_counter()
    model.fit(split.X_train[:n_rows], split.y_train[:n_rows])
    seconds = time.perf_counter() - start
    shown = split.X_test[:SVC_PREDICTED_ROWS]
    return {
        "model": name,
        "rows": n_rows,
        "seconds": seconds,
        "accuracy": model.score(split.X_test[:PREDICTED_ROWS], split.y_test[:PREDICTED_ROWS]),
        "n_support": int(model.n_support_.sum()) if hasattr(model, "n_support_") else None,
        "predict_rows": len(shown),
        "predict_seconds": best_of(lambda: model.decision_function(shown), repeats=1),
    }


_FIRST_FIT = """
import time
start = time.perf_counter()
import frugalsvm
print(time.perf_counter() - start)
import numpy as np
from frugalsvm import BPAClassifier, BSGDClassifier, BudgetedPerceptron
from frugalsvm.budgeted.strategies import STRATEGIES, VARIANTS
rows = np.random.default_rng(0).normal(size=(1000, 22)).astype(np.float32)
labels = rows[:, 0] > 0
imported = time.perf_counter()
print(imported - start)
BSGDClassifier(budget=100).fit(rows, labels)
print(time.perf_counter() - imported)
"""


def measure_startup() -> dict:
    """Seconds to import, and to the end of a first fit with an empty and with a filled cache of machine code."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
        runs = []
        for _ in range(3):
            command = [sys.executable, "-c", _FIRST_FIT]
            out = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
            runs.append([float(line) for line in out.split()])
    cold, warm = runs[0], [min(pair) for pair in zip(*runs[1:], strict=True)]
    return {
        "import frugalsvm": warm[0],
        "import the estimator (mostly scikit-learn)": warm[1],
        "first fit, warm cache": warm[2],
        "first fit, cold": cold[2],
    }
