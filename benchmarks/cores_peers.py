"""Who else there is on a machine with many cores: boosted trees, and SVC, beside three of ours."""

from typing import NamedTuple

from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from benchmarks.asset_data import CASES, split_of
from benchmarks.cores_fits import compile_for, error_percent, timed_fit
from frugalsvm import ASSETClassifier, BSGDClassifier, LASVMClassifier

__all__ = ["peer_rows"]

QUADRATIC_ROWS = 50_000  # for those whose time grows with the square of the rows
TEST_ROWS = 20_000


class Settings(NamedTuple):
    """Chosen on training rows, or those of the papers."""

    asset: dict
    svm: dict  # of SVC and LASVM
    bsgd: dict


SETTINGS = {
    "a9a": Settings({"n_components": 512}, {"C": 100.0, "gamma": 0.005}, {"alpha": 1e-4, "gamma": 0.163}),
    "ijcnn1": Settings({"n_components": 512}, {"C": 100.0, "gamma": 1.0}, {"alpha": 3e-5, "gamma": 4.0}),
    "covtype": Settings(
        {"n_components": 1792, "loss": "squared_hinge", "C": 10.0, "gamma": 3.0},
        {"C": 3.0, "gamma": 1.0},
        {"alpha": 3e-5, "gamma": 8.0},
    ),
}


def peer_rows(options):
    """Seconds and test error of each; SVC takes minutes, and comes on demand only."""
    for data, settings in SETTINGS.items():
        if not options.wanted(data):
            continue
        X, y, X_test, y_test = split_of(data, 0)
        X_test, y_test = X_test[:TEST_ROWS], y_test[:TEST_ROWS]
        for name, model, n_threads, n_rows in _models(CASES[data], settings, len(X), options):
            compile_for(model, X, y)
            with threadpool_limits(n_threads):
                model, seconds = timed_fit(model, X[:n_rows], y[:n_rows])
                error = error_percent(model, X_test, y_test)
            row = {"problem": data, "model": name, "threads": n_threads, "rows": n_rows}
            yield {**row, "seconds": seconds, "error": error}


def _models(case, settings, n_rows, options):
    """Name, model, threads, rows."""
    all_cores, few = options.threads[-1], min(n_rows, QUADRATIC_ROWS)
    yield "HistGradientBoosting", HistGradientBoostingClassifier(random_state=0), all_cores, n_rows
    low_rank = {"C": case.C, "gamma": case.gamma, "random_state": 0, **settings.asset}
    for n_threads in sorted({1, all_cores}):
        model = ASSETClassifier(n_jobs=n_threads, **low_rank)
        yield f"ASSET, s = {model.n_components}", model, n_threads, n_rows
    yield "BSGD, B = 500", BSGDClassifier(budget=500, random_state=0, **settings.bsgd), 1, n_rows
    yield "LASVM-NC", LASVMClassifier("nc", random_state=0, **settings.svm), 1, few
    if options.svc:
        yield "SVC", SVC(cache_size=1000, **settings.svm), 1, few
