"""``python -m benchmarks.regression``: budgeted regression against SVR, and quantiles against boosted trees.

A random quarter of the rows is for the test; features and targets are standardized by the others. Parameters are chosen
on a fifth of the training rows: loss, gamma and metric for `BSGDRegressor` (500 support vectors), gamma, C and epsilon
for `SVR`, which chooses on 5 000 rows and learns 10 000. CPU time, on one thread.
"""

import argparse
import sys
import time
import warnings
from typing import Any

import numpy as np
from rich.console import Console
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.metrics import mean_pinball_loss
from sklearn.svm import SVR
from threadpoolctl import threadpool_limits

from benchmarks.printing import table
from benchmarks.regression_data import NAMES, Split, split_of
from frugalsvm import BSGDRegressor

GAMMAS = (0.1, 0.3, 1.0, 3.0, 10.0)  # over the number of features
SVR_CHOICE_ROWS, SVR_ROWS = 5_000, 10_000
QUANTILES, QUANTILE_NAMES = (0.05, 0.5, 0.95), ("kin40k", "protein")


def timed(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    """CPU seconds of a fit."""
    start = time.process_time()
    model.fit(X, y)
    return time.process_time() - start


def rmse(model: Any, split: Split) -> float:
    return float(np.sqrt(np.mean(np.square(model.predict(split.X_test) - split.y_test))))


def best_of(candidates: list, split: Split, loss: Any = rmse) -> dict:
    """The parameters of the candidate that does best on the rows that take the place of the test."""
    losses = []
    for model in candidates:
        model.fit(split.X, split.y)
        losses.append(loss(model, split))
    return candidates[int(np.argmin(losses))].get_params()


def bsgd_candidates(n_features: int, *losses: str, **parameters: Any) -> list:
    kernels = [*({"gamma": gamma / n_features} for gamma in GAMMAS), {"metric": "full"}]
    machine = {"average": "post", "random_state": 0, **parameters}
    return [BSGDRegressor(loss, **machine, **kernel) for loss in losses for kernel in kernels]


def svr_candidates(n_features: int) -> list:
    grid = [(gamma, C, epsilon) for gamma in GAMMAS for C in (1.0, 10.0, 100.0) for epsilon in (0.02, 0.1)]
    return [SVR(gamma=gamma / n_features, C=C, epsilon=epsilon, cache_size=500) for gamma, C, epsilon in grid]


def regression_row(name: str, with_svr: bool) -> list[str]:
    split = split_of(name)
    n_rows, n_features = split.X.shape
    chosen = best_of(bsgd_candidates(n_features, "epsilon_insensitive", "squared"), split.held_out())
    # A metric is learned from some rows before the first is learned: it does not count as time for a row.
    model = BSGDRegressor(**{**chosen, "average": False}).fit(split.X, split.y)
    again = BSGDRegressor(**{**chosen, "average": False, "metric": None, "gamma": model.gamma_, "epsilon": 0.1})
    seconds = timed(again, split.X, split.y)
    post = BSGDRegressor(**chosen)
    post_seconds = timed(post, split.X, split.y)
    what = f"{chosen['loss']}, {chosen['metric'] or 'plain'}"
    cells = [
        what,
        f"{rmse(model, split):.3f}",
        f"{n_rows / seconds:,.0f}",
        f"{rmse(post, split):.3f}",
        f"{post_seconds:.1f}",
    ]
    if with_svr:
        svr = SVR(**best_of(svr_candidates(n_features), split.held_out(SVR_CHOICE_ROWS)))
        svr_seconds = timed(svr, split.X[:SVR_ROWS], split.y[:SVR_ROWS])
        cells += [f"{rmse(svr, split):.3f}", f"{svr_seconds:.1f}"]
    return [name, *cells]


def quantile_rows(name: str) -> list[list[str]]:
    """Coverage of each quantile, and the mean pinball loss, on test rows."""
    split = split_of(name)
    parameters = {"quantile": list(QUANTILES), "non_crossing": True}
    candidates = bsgd_candidates(split.X.shape[1], "pinball", **parameters)
    ours = BSGDRegressor(**best_of(candidates, split.held_out(), _pinball))
    trees = _Trees()
    rows = []
    for label, model in (("BSGDRegressor", ours), ("HistGradientBoosting", trees)):
        seconds = timed(model, split.X, split.y)
        below = 100 * np.mean(split.y_test[:, None] <= model.predict(split.X_test), axis=0)
        rows.append(
            [name, label, *(f"{each:.1f}" for each in below), f"{_pinball(model, split):.4f}", f"{seconds:.1f}"]
        )
    return rows


def _pinball(model: Any, split: Split) -> float:
    predicted = model.predict(split.X_test).T
    losses = [mean_pinball_loss(split.y_test, each, alpha=q) for q, each in zip(QUANTILES, predicted, strict=True)]
    return float(np.mean(losses))


class _Trees:
    """Boosted trees, a model for each quantile."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> None:
        made = (HistGradientBoostingRegressor(loss="pinball", quantile=q, random_state=0) for q in QUANTILES)
        self.models = [model.fit(X, y) for model in made]

    def predict(self, X: np.ndarray) -> np.ndarray:
        return np.column_stack([model.predict(X) for model in self.models])


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.regression", description=__doc__)
    parser.add_argument("names", nargs="*", default=NAMES, help=f"any of: {', '.join(NAMES)} (default: all)")
    parser.add_argument("--svr", action="store_true", help="tune and fit SVR beside (minutes for each set)")
    parser.add_argument("--quantiles", action="store_true", help="measure quantiles instead")
    options = parser.parse_args()
    console = Console(width=None if sys.stdout.isatty() else 140)
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        if options.quantiles:
            headings = (*(f"{100 * q:g} %" for q in QUANTILES), "pinball loss", "s")
            shown = table("rows below each quantile, %", "data", "model", *headings)
            for name in options.names:
                for row in quantile_rows(name):
                    shown.add_row(*row)
        else:
            headings = ("loss, metric", "one pass", "rows/s", "post", "s", *(("SVR", "s") if options.svr else ()))
            shown = table("RMSE of the standardized target", "data", *headings)
            for name in options.names:
                shown.add_row(*regression_row(name, options.svr))
        console.print(shown)


if __name__ == "__main__":
    main()
