"""``python -m benchmarks.cells_left_out``: whether leave-one-out keeps its word for new rows.

Random splits, 80 % to learn. Parts:

left-out       leave-one-out errors of `LocalSVC` and `LocalSVR` beside test errors. "z" is the difference in standard
               errors of the test error. With an estimate that is right, it is beyond 2 in some 7 % of all splits, since
               leave-one-out errors vary, too; a mean that is not about 0 is a bias.
intervals      coverage and mean width (in standard deviations of the target) of 90 % intervals, beside boosted trees
               with 20 % of the training rows held out: constant widths, and conformalized quantile regression.
probabilities  log loss and calibration error (ECE) on half of the test rows: calibrated on leave-one-out scores, on
               the other half of the test rows, and isotonic on leave-one-out scores.
"""

import argparse
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
from rich.console import Console

from benchmarks.cells_left_out_data import CLASSES, NUMBERS, split_of
from benchmarks.printing import table

KERNELS = ("matern12", "matern32", "rbf")  # of regression: the one of least leave-one-out error
COVERAGE = 0.9
N_BINS = 15


# --- models -------------------------------------------------------------------------------------------------------


def classifier(split, options):
    from frugalsvm import LocalSVC

    return LocalSVC(cell_size=options.cell_size, metric=options.metric, random_state=0).fit(split.X, split.y)


def regressor(split, options):
    from frugalsvm import LocalSVR

    models = [
        LocalSVR(kernel=kernel, cell_size=options.cell_size, metric=options.metric, random_state=0)
        for kernel in KERNELS
    ]
    return min((model.fit(split.X, split.y) for model in models), key=lambda model: model.loo_error_)


# --- parts --------------------------------------------------------------------------------------------------------


def left_out(name, seed, options):
    """Leave-one-out error, test error, standard error of the latter; relative to the target's for regression."""
    split = split_of(name, seed, options.rows)
    if name in NUMBERS:
        model, unit = regressor(split, options), split.y.std()
        squares = np.square((model.predict(split.X_test) - split.y_test) / unit)
        error = np.sqrt(squares.mean())
        return model.loo_error_ / unit, error, squares.std() / (2.0 * error * np.sqrt(len(squares)))
    model = classifier(split, options)
    wrong = model.predict(split.X_test) != split.y_test
    share = max(wrong.mean(), 1.0 / len(wrong))
    return model.loo_error_, wrong.mean(), np.sqrt(share * (1.0 - share) / len(wrong))


def intervals(name, seed, options):
    """Coverage and width of intervals: local, constant, trees with constant widths, trees with quantiles."""
    split = split_of(name, seed, options.rows)
    model = regressor(split, options)
    local = model.predict_interval(split.X_test, COVERAGE)
    constant = type(model)(**{**model.get_params(), "intervals": "constant"}).fit(split.X, split.y)
    found = [local, constant.predict_interval(split.X_test, COVERAGE), *_of_trees(split, options)]
    return [value for each in found for value in _coverage_and_width(each, split)]


def _coverage_and_width(interval, split):
    low, high = interval.T
    hits = (low <= split.y_test) & (split.y_test <= high)
    return hits.mean(), np.maximum(high - low, 0.0).mean() / split.y.std()


def _of_trees(split, options):
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.model_selection import train_test_split

    from frugalsvm.calibration.intervals import error_quantiles

    X, X_held, y, y_held = train_test_split(split.X, split.y, test_size=0.2, random_state=0)

    def trees(**more):
        return HistGradientBoostingRegressor(max_iter=options.rounds, random_state=0, **more).fit(X, y)

    def reach(errors):
        return error_quantiles(np.sort(errors), COVERAGE)

    middle = trees()
    far, predicted = reach(np.abs(middle.predict(X_held) - y_held)), middle.predict(split.X_test)
    yield np.column_stack([predicted - far, predicted + far])
    low, high = (trees(loss="quantile", quantile=0.5 * (1 + side * COVERAGE)) for side in (-1, 1))
    far = reach(np.maximum(low.predict(X_held) - y_held, y_held - high.predict(X_held)))
    yield np.column_stack([low.predict(split.X_test) - far, high.predict(split.X_test) + far])


def probabilities(name, seed, options):
    """Log loss and calibration error of leave-one-out scores, and of scores of rows kept apart, on the same rows."""
    from sklearn.base import clone
    from sklearn.metrics import log_loss

    split = split_of(name, seed, options.rows)
    model = classifier(split, options)
    half = len(split.y_test) // 2
    scores = model.decision_function(split.X_test).reshape(len(split.y_test), -1)
    labels = np.searchsorted(model.classes_, split.y_test)
    found = []
    for probability in (
        model.predict_proba(split.X_test[half:]),
        type(model.calibration_).settled(scores[:half], labels[:half]).probabilities(scores[half:]),
    ):
        found += [log_loss(labels[half:], probability, labels=range(len(model.classes_)))]
        found += [_calibration_error(probability, labels[half:])]
    isotonic = clone(model).set_params(calibrate="isotonic").fit(split.X, split.y).predict_proba(split.X_test[half:])
    found += [log_loss(labels[half:], isotonic, labels=range(len(model.classes_)))]
    return [*found, _calibration_error(isotonic, labels[half:])]


def _calibration_error(probability, labels):
    """Of the predicted class: mean distance between how sure it is and how often it is right, in bins of equal size."""
    sure, right = probability.max(axis=1), probability.argmax(axis=1) == labels
    bins = np.array_split(np.argsort(sure, kind="stable"), N_BINS)
    return sum(len(each) * abs(sure[each].mean() - right[each].mean()) for each in bins) / len(labels)


PARTS = {
    "left-out": (left_out, (*NUMBERS, *CLASSES), ("leave-one-out", "test", "standard error")),
    "intervals": (
        intervals,
        NUMBERS,
        (
            "local: coverage",
            "width",
            "constant: coverage",
            "width",
            "trees: coverage",
            "width",
            "CQR: coverage",
            "width",
        ),
    ),
    "probabilities": (
        probabilities,
        CLASSES,
        ("leave-one-out: log loss", "ECE", "apart: log loss", "ECE", "isotonic: log loss", "ECE"),
    ),
}


# --- all of it ----------------------------------------------------------------------------------------------------


def measured(part, name, seed, options):
    try:
        return [float(value) for value in PARTS[part][0](name, seed, options)]
    except Exception as failure:  # one table must not end the others
        return f"{type(failure).__name__}: {failure}"


def main() -> None:
    options = _options()
    function, names, headings = PARTS[options.part]
    names = [name for name in names if not options.only or name in options.only]
    console = Console(width=None if sys.stdout.isatty() else 160)
    more = ("z",) if function is left_out else ()
    printed = table(f"{options.part}, {options.seeds} split(s)", "data", *headings, *more)
    all_z = []
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
        seeds = range(options.first_seed, options.first_seed + options.seeds)
        waiting = {name: [pool.submit(measured, options.part, name, seed, options) for seed in seeds] for name in names}
        for name, tasks in waiting.items():
            results = [task.result() for task in tasks]
            failures = [each for each in results if isinstance(each, str)]
            if failures:
                printed.add_row(name, failures[0])
                continue
            z = [(error - test) / deviation for error, test, deviation in results] if more else []
            all_z += z
            values = [f"{value:.4f}" for value in np.mean(results, axis=0)]
            printed.add_row(name, *values, *([" ".join(f"{each:+.1f}" for each in z)] if more else []))
            console.print(name, *values, *(f"{each:+.2f}" for each in z), highlight=False)
    console.print(printed)
    if all_z:
        beyond = np.count_nonzero(np.abs(all_z) > 2)
        told = f"{beyond} of {len(all_z)} beyond two standard errors; mean z {np.mean(all_z):+.2f}"
        console.print(f"{told} +- {np.std(all_z) / np.sqrt(len(all_z)):.2f}", highlight=False)


def _options():
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.cells_left_out",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--part", choices=PARTS, default="left-out")
    parser.add_argument("--only", nargs="+", help="names of tables")
    parser.add_argument("--seeds", type=int, default=1, help="splits of each table")
    parser.add_argument("--first-seed", type=int, default=1, help="0 is the split that widths were tried out on")
    parser.add_argument("--jobs", type=int, default=1, help="processes side by side")
    parser.add_argument("--rows", type=int, default=60_000, help="most rows of a table")
    parser.add_argument("--cell-size", type=int, default=1024)
    parser.add_argument("--metric", choices=["diag", "full", "auto"], default=None)
    parser.add_argument("--rounds", type=int, default=300, help="of boosted trees")
    return parser.parse_args()


if __name__ == "__main__":
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(variable, "1")
    main()
