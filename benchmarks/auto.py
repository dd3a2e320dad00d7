"""`AutoSVC` against what one would take instead: ``python -m benchmarks.auto [--only NAME ...] [--peers NAME ...]``.

========== =======================================================================================================
auto       `AutoSVC` as it is
svc        SVC, tuned on 5 x 5 values of C and gamma in 3 folds; ``--svc-rows`` rows at most, for the last fit, too
grid       the same values in 5 folds: ``GridSearchCV(SVC)``, to compare seconds
calibrated ``CalibratedClassifierCV`` of the SVC that "svc" has found, on the same rows, to compare probabilities
hgb        HistGradientBoosting with its defaults
torchkm    TorchKM, where it is installed, of two classes: 50 values of C, 5 folds, 2,000 landmarks
path       `ASSETClassifier` with the same values of C, folds and number of landmarks, and one gamma as well
samegrid   `ASSETClassifier` with the values of "grid" in 5 folds on 2,000 landmarks: a fit for each gamma
========== =======================================================================================================

All have the same training and test rows (``benchmarks/tables_data.py``): the split of the source or, where there is
none, a random one for each seed. `AutoSVC` and trees have columns as they are, the others scaled ones. Errors are in
percent of test rows. Where there are probabilities, the expected calibration error (15 bins, in percent) and the log
loss are measured, too. Seconds are those of the clock and of all cores, with choosing.

Results go to ``output/auto.json``, where those that are measured later are added. Test rows are for the last look:
whatever you change, choose it on training rows.
"""

import argparse
import datetime
import json
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from joblib import parallel_config
from rich.console import Console
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from benchmarks.__main__ import machine
from benchmarks.printing import table
from benchmarks.tables_data import TABLES, balanced_sample, scaled, split_of
from frugalsvm import ASSETClassifier, AutoSVC

__all__ = ["PEERS", "calibration_error", "measured", "save"]

NAMES = [name for name, each in TABLES.items() if not each.is_regression and name != "covtype-1"]
MOST_ROWS = 100_000  # of covtype
C_VALUES, GAMMA_FACTORS = (0.1, 1.0, 10.0, 100.0, 1000.0), (0.1, 0.3, 1.0, 3.0, 10.0)  # gamma: times "scale"
N_BINS = 15
_last_search: dict = {}
HEADINGS = ("data", "peer", "seed", "rows", "error %", "seconds", "CPU s", "ECE %", "log loss")


def main():
    options = _options()
    console = Console(width=130)
    shown = table("AutoSVC and its peers", *HEADINGS)
    for name in options.only:
        for seed in range(options.seeds):
            split = split_of(name, seed, rows=min(options.rows or MOST_ROWS, MOST_ROWS))
            for peer in options.peers:
                if reason := _reason_to_leave_out(peer, split):
                    console.print(f"{name}, {peer}: not measured, {reason}")
                    continue
                result = {"data": name, "peer": peer, "seed": seed, **measured(peer, split, seed, options)}
                save(options.json, result)
                shown.add_row(*_cells(result))
                console.print(", ".join(f"{key} {value}" for key, value in result.items()), markup=False)
    console.print(shown)
    console.print(f"Results are in {options.json}")


def _options(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--only", nargs="+", choices=[*NAMES, "covtype-1"], default=NAMES, help="tables (default: all but covtype-1)"
    )
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=["auto", "svc", "hgb"], help="what is measured")
    parser.add_argument("--seeds", type=int, default=1, help="number of seeds")
    parser.add_argument("--rows", type=int, help="training rows, and test rows, at most: to try things out")
    parser.add_argument("--svc-rows", type=int, default=10_000, help="training rows of SVC at most")
    parser.add_argument("--n-jobs", type=int, default=1, help="threads of AutoSVC, processes of grids")
    parser.add_argument("--device", default="cpu", help='of AutoSVC and TorchKM, such as "cuda"')
    parser.add_argument("--time-budget", type=float, help="of AutoSVC, in seconds")
    parser.add_argument("--json", type=Path, default=Path("output/auto.json"), help="where results go")
    return parser.parse_args(arguments)


def _reason_to_leave_out(peer, split):
    if peer != "torchkm":
        return None
    if find_spec("torchkm") is None:
        return "because torchkm is not installed"
    return "because it tells two classes apart only" if split.y.max() > 1 else None


# --- peers: a split, a seed and options to a fitted model, and test rows as it wants them ------------------------


def _auto(split, seed, options):
    settings = {"time_budget": options.time_budget, "n_jobs": options.n_jobs, "device": options.device}
    return AutoSVC(random_state=seed, **settings).fit(split.X, split.y), split.X_test


def _hgb(split, seed, options):
    return HistGradientBoostingClassifier(random_state=seed).fit(split.X, split.y), split.X_test


def _tuned_svc(split, seed, options, n_folds):
    """A search, and the rows that it has seen, with test rows scaled like them."""
    key = id(split.X), seed, n_folds
    if key not in _last_search:  # "calibrated" takes what "svc" has found
        _last_search.clear()
        _last_search[key] = _search(split, seed, options, n_folds)
    return _last_search[key]


def _search(split, seed, options, n_folds):
    some = balanced_sample(split.y, options.svc_rows, False, np.random.default_rng(seed))
    X, X_test = scaled(split.has_one_unit, split.X[some], split.X_test)
    gammas = np.array(GAMMA_FACTORS) / X.var(axis=0).sum()
    search = GridSearchCV(
        SVC(cache_size=1000), {"C": C_VALUES, "gamma": gammas.tolist()}, cv=n_folds, n_jobs=options.n_jobs
    )
    return search.fit(X, split.y[some]), X, split.y[some], X_test


def _svc(split, seed, options):
    search, _, _, X_test = _tuned_svc(split, seed, options, 3)
    return search, X_test


def _grid(split, seed, options):
    search, _, _, X_test = _tuned_svc(split, seed, options, 5)
    return search, X_test


def _calibrated(split, seed, options):
    search, X, y, X_test = _tuned_svc(split, seed, options, 3)
    model = CalibratedClassifierCV(SVC(cache_size=1000, **search.best_params_), cv=5, n_jobs=options.n_jobs)
    return model.fit(X, y), X_test


def _torchkm(split, seed, options):
    from torchkm.estimators import TorchKMSVC

    X, X_test = scaled(split.has_one_unit, split.X, split.X_test)
    path = {"Cs": np.logspace(3, -3, 50), "nC": 50, "cv": 5}
    landmarks = {"low_rank": True, "num_landmarks": min(2000, len(X)), "nys_k": min(1000, len(X) // 2)}
    return TorchKMSVC(kernel="rbf", probability=True, device=options.device, **path, **landmarks).fit(
        X, split.y
    ), X_test


def _path(split, seed, options):
    X, X_test = scaled(split.has_one_unit, split.X, split.X_test)
    return _asset(X, seed, options, np.logspace(-3, 3, 50).tolist(), "auto").fit(X, split.y), X_test


def _same_grid(split, seed, options):
    some = balanced_sample(split.y, options.svc_rows, False, np.random.default_rng(seed))
    X, X_test = scaled(split.has_one_unit, split.X[some], split.X_test)
    gammas = np.array(GAMMA_FACTORS) / X.var(axis=0).sum()
    models = [_asset(X, seed, options, list(C_VALUES), gamma).fit(X, split.y[some]) for gamma in gammas]
    return max(models, key=lambda model: model.path_["validation_score"].max()), X_test


def _asset(X, seed, options, path, gamma):
    settings = {"n_components": min(2000, len(X)), "loss": "squared_hinge", "n_jobs": options.n_jobs}
    return ASSETClassifier(C=path, gamma=gamma, cv=5, device=options.device, random_state=seed, **settings)


PEERS = {
    "auto": _auto,
    "svc": _svc,
    "grid": _grid,
    "calibrated": _calibrated,
    "hgb": _hgb,
    "torchkm": _torchkm,
    "path": _path,
    "samegrid": _same_grid,
}


# --- results -------------------------------------------------------------------------------------------------


def measured(peer, split, seed, options):
    """Errors, seconds and calibration of a peer."""
    wall, cpu = time.perf_counter(), time.process_time()
    with parallel_config("threading"):  # SVC lets go of the lock; seconds of other processes would not be counted
        model, X_test = PEERS[peer](split, seed, options)
    seconds = {"seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}
    error = float(100 * np.mean(np.asarray(model.predict(X_test)) != split.y_test))
    best = {name: _plain(value) for name, value in getattr(model, "best_params_", {}).items()}
    result = {"rows": len(split.y), "error": error, **seconds, "chosen": best}
    if not hasattr(model, "predict_proba"):
        return result
    probabilities = np.asarray(model.predict_proba(X_test))
    calibration = calibration_error(probabilities, split.y_test)
    loss = float(log_loss(split.y_test, probabilities, labels=np.arange(probabilities.shape[1])))
    return {**result, "calibration_error": 100 * calibration, "log_loss": loss}


def calibration_error(probabilities, labels):
    """How far the probability of the predicted class is from how often it is right: the mean over bins of equal width.

    Labels are columns of the probabilities.
    """
    sure = probabilities.max(axis=1)
    is_right = probabilities.argmax(axis=1) == labels
    bins = np.minimum((N_BINS * sure).astype(int), N_BINS - 1)
    differences = np.bincount(bins, sure - is_right, minlength=N_BINS)  # summed: times the rows of each bin
    return float(np.abs(differences).sum() / len(labels))


def save(path, result):
    """Add a result to those that are there, in the place of an earlier one of the same."""
    results = json.loads(path.read_text()) if path.exists() else {"rows": []}
    rows = {(each["data"], each["peer"], each["seed"]): each for each in (*results["rows"], result)}
    results.update(date=datetime.date.today().isoformat(), machine=machine(), rows=list(rows.values()))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results, indent=1))


def _plain(value):
    """A value that JSON has."""
    value = value.item() if isinstance(value, np.generic) else value
    return value if isinstance(value, int | float | str | bool | None) else str(value)


def _cells(result):
    numbers = (f"{result[name]:.2f}" for name in ("error", "seconds", "cpu_seconds"))
    rest = (f"{result[name]:.3f}" if name in result else "" for name in ("calibration_error", "log_loss"))
    return result["data"], result["peer"], str(result["seed"]), f"{result['rows']:,}", *numbers, *rest


if __name__ == "__main__":
    main()
