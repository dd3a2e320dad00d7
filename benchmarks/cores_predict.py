"""Predictions for 100 000 rows on 1, 2, 4, ... threads, by all estimators, beside the limit of the machine."""

import numpy as np

from benchmarks.cases import Case, split_of
from benchmarks.limit import best_of
from benchmarks.threads_limit import kernel_seconds
from frugalsvm import (
    ASSETClassifier,
    ASSETRegressor,
    BPAClassifier,
    BSGDClassifier,
    BudgetedPerceptron,
    IncrementalSVC,
    LASVMClassifier,
    TrackingSVC,
    TVMClassifier,
)

__all__ = ["predict_rows"]

N_ROWS = 100_000
DATA = Case("ijcnn1", "ijcnn1", "standard", 500, 0.182, 3.16e-5)
# Estimators and how many rows they learn: enough for 500 vectors or so
MODELS = {
    "BSGDClassifier": (BSGDClassifier(budget=500, alpha=DATA.alpha, gamma=DATA.gamma), 20_000),
    "BudgetedPerceptron": (BudgetedPerceptron(budget=500, gamma=DATA.gamma, random_state=0), 20_000),
    "BPAClassifier": (BPAClassifier(budget=500, C=0.1, gamma=DATA.gamma), 20_000),
    "LASVMClassifier": (LASVMClassifier(C=10.0, gamma=DATA.gamma, random_state=0), 5_000),
    "TrackingSVC": (TrackingSVC(C=10.0, gamma=DATA.gamma, random_state=0), 2_000),
    "IncrementalSVC": (IncrementalSVC(C=10.0, gamma=DATA.gamma), 2_000),
    "TVMClassifier": (TVMClassifier(budget=200, gamma=DATA.gamma, random_state=0), 2_000),
    "ASSETClassifier": (ASSETClassifier(n_components=512, gamma=DATA.gamma, random_state=0), 20_000),
    "ASSETRegressor": (ASSETRegressor(n_components=512, gamma=DATA.gamma, random_state=0), 20_000),
}


def predict_rows(options):
    """Seconds, and the limit: the kernel values of all rows with all vectors on as many threads."""
    split = split_of(DATA)
    X = np.ascontiguousarray(np.resize(split.X_test, (N_ROWS, split.X_test.shape[1])))
    for name, (model, n_learned) in MODELS.items():
        if not options.wanted(name):
            continue
        model.fit(split.X_train[:n_learned], split.y_train[:n_learned])
        n_vectors = len(getattr(model, "landmarks_", ())) or len(model.support_vectors_)
        for n_threads in options.threads:
            model.set_params(n_jobs=n_threads)
            seconds = best_of(lambda model=model: model.predict(X), repeats=3)
            limit = kernel_seconds(N_ROWS, X.shape[1], n_vectors, n_threads)
            row = {"problem": name, "vectors": n_vectors, "threads": n_threads, "seconds": seconds, "limit": limit}
            yield {**row, "rows_per_second": N_ROWS / seconds}
