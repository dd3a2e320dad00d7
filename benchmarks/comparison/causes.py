"""Why ours is behind on a table: the errors of some ways to learn it, which differ in one thing.

Only training rows of the first split are looked at. A fifth of them, drawn again for each repetition, judges all ways,
so that differences have a standard error.
"""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from benchmarks.comparison.cells import fitted
from benchmarks.comparison.peers import PEERS, Task
from benchmarks.comparison.scores import judged
from benchmarks.comparison.splits import rows_at, split_of
from frugalsvm.selection.judging import mean_gain

__all__ = ["CAUSES", "Way", "show_causes"]

FIRST_SEED = 1000  # of parts: those of `--validate` are others
EUCLIDEAN = ("rbf", "matern12", "matern32")


class Way(NamedTuple):
    """A peer, with settings, on columns that are changed before, or on some of the rows."""

    words: str
    peer: str
    settings: dict[str, Any] | None = None
    change: Callable[[Any], Any] | None = None
    n_rows: int | None = None

    def error_on(self, split, seed, n_threads):
        peer, task = PEERS[self.peer], Task(split.is_regression, split.X.shape[1], n_threads, seed)
        if self.n_rows is not None:
            split = split._replace(X=rows_at(split.X, np.arange(len(split.y))[: self.n_rows]), y=split.y[: self.n_rows])
        if self.change is not None:
            split = split._replace(X=self.change(split.X), X_test=self.change(split.X_test))
        model, columns, _ = fitted(peer, task, split, self.settings or {})
        X_test = columns.transform(split.X_test)
        return judged(model, X_test, split.y_test, np.asarray(model.predict(X_test)), split.is_regression)["error"]


def _with_parts_of_names(X):
    """Mr, Mrs or Master; the deck of a cabin; and the letters before the number of a ticket."""
    title, prefix = (X[name].str.extract(rule)[0] for name, rule in (("Name", TITLE), ("Ticket", PREFIX)))
    return X.assign(Title=title, Deck=X["Cabin"].str[0], Prefix=prefix.fillna("none"))


TITLE, PREFIX = r", *([^.]*)\.", r"^([A-Za-z./]+)"


def _without_names(X):
    return X.drop(columns=["Name", "Ticket", "Cabin"])


def _numbers_only(X):
    return X.select_dtypes("number")


_NUMBERS_AND_TEXT = (
    Way("AutoSVR", "auto"),
    Way("CatBoost", "catboost"),
    Way("AutoSVR, numbers only", "auto", change=_numbers_only),
    Way("CatBoost, numbers only", "catboost", change=_numbers_only),
)
CAUSES = {
    "titanic": (
        Way("AutoSVC", "auto"),
        Way("AutoSVC without names, tickets and cabins", "auto", change=_without_names),
        Way(
            "AutoSVC, title, deck and prefix of the ticket in columns of their own", "auto", change=_with_parts_of_names
        ),
        Way("CatBoost", "catboost"),
        Way("CatBoost without names, tickets and cabins", "catboost", change=_without_names),
    ),
    "mlc_churn": (
        Way("AutoSVC", "auto"),
        Way("AutoSVC without laplacian", "auto", {"kernel": EUCLIDEAN}),
        Way("AutoSVC without a metric", "auto", {"metric": None}),
        Way("HistGradientBoosting", "hgb"),
    ),
    "dna": (
        Way("AutoSVC", "auto"),
        Way("AutoSVC without a metric", "auto", {"metric": None}),
        Way("XGBoost", "xgboost"),
    ),
    "ames": _NUMBERS_AND_TEXT,
    "a9a": (
        Way("AutoSVC, 4,000 rows", "auto", n_rows=4_000),
        Way("HistGradientBoosting, 4,000 rows", "hgb", n_rows=4_000),
        Way("AutoSVC, 16,000 rows", "auto", n_rows=16_000),
        Way("HistGradientBoosting, 16,000 rows", "hgb", n_rows=16_000),
    ),
    "magic": (Way("AutoSVC", "auto"), Way("CatBoost", "catboost")),
    "loans": _NUMBERS_AND_TEXT,
    "movies": (
        Way("AutoSVR", "auto"),
        Way("LightGBM", "lightgbm"),
        Way("AutoSVR, 8,000 rows", "auto", n_rows=8_000),
        Way("LightGBM, 8,000 rows", "lightgbm", n_rows=8_000),
    ),
}


def show_causes(options):
    """Print the mean error of each way, and by how much it differs from that of the first, with its standard error."""
    if unknown := set(options.tables) - set(CAUSES):
        raise SystemExit(f"No causes are written down for {', '.join(sorted(unknown))}: there are {', '.join(CAUSES)}.")
    for name in options.tables or CAUSES:
        print(f"{name}: mean of {options.parts} parts")
        errors = np.array([_errors_on(name, FIRST_SEED + k, options.threads) for k in range(options.parts)])
        for way, error, own in zip(CAUSES[name], errors.mean(axis=0), errors.T, strict=True):
            more, of_mean = mean_gain(own - errors[:, 0])
            print(f"  {error:8.4f}  {more:+8.4f} +- {of_mean:.4f}  {way.words}", flush=True)


def _errors_on(name, seed, n_threads):
    split = split_of(name, 0, validate=True, seed=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [way.error_on(split, seed, n_threads) for way in CAUSES[name]]
