"""Who else there is on a machine with many cores: boosted trees, and SVC, beside three of ours."""

from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from benchmarks.asset_data import CASES, split_of
from benchmarks.cores_fits import error_percent, timed_fit
from frugalsvm import ASSETClassifier, BSGDClassifier, LASVMClassifier

__all__ = ["peer_rows"]

SETS = ("a9a", "ijcnn1", "covtype")
LANDMARKS = {"covtype": 2048}
QUADRATIC_ROWS = 50_000  # for those whose time grows with the square of the rows
TEST_ROWS = 20_000


def peer_rows(options):
    """Seconds and test error of each; SVC takes minutes, and comes on demand only."""
    for data in SETS:
        if not options.wanted(data):
            continue
        X, y, X_test, y_test = split_of(data, 0)
        X_test, y_test = X_test[:TEST_ROWS], y_test[:TEST_ROWS]
        for name, model, n_threads, n_rows in _models(CASES[data], len(X), options):
            model.fit(X[:1000], y[:1000])  # compiled now
            with threadpool_limits(n_threads):
                model, seconds = timed_fit(model, X[:n_rows], y[:n_rows])
                error = error_percent(model, X_test, y_test)
            yield {
                "problem": data, "model": name, "threads": n_threads, "rows": min(n_rows, len(X)), "seconds": seconds,
                "error": error,
            }  # fmt: skip


def _models(case, n_rows, options):
    """Name, model, threads, rows."""
    all_cores, C, gamma = options.threads[-1], case.C, case.gamma
    yield "HistGradientBoosting", HistGradientBoostingClassifier(random_state=0), all_cores, n_rows
    for n_threads in sorted({1, all_cores}):
        s = LANDMARKS.get(case.data, 512)
        asset = ASSETClassifier(n_components=s, C=C, gamma=gamma, n_jobs=n_threads, random_state=0)
        yield f"ASSET, s = {s}", asset, n_threads, n_rows
    yield "BSGD, B = 500", BSGDClassifier(budget=500, alpha=1 / (C * n_rows), gamma=gamma, random_state=0), 1, n_rows
    few = min(n_rows, QUADRATIC_ROWS)
    yield "LASVM-NC", LASVMClassifier("nc", C=C, gamma=gamma, random_state=0), 1, few
    if options.svc:
        yield "SVC", SVC(C=C, gamma=gamma, cache_size=1000), 1, few
