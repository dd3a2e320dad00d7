"""What a search has tried, as plain rows that model files can hold, and in the form of scikit-learn."""

from typing import Any

import numpy as np

from frugalsvm.selection.rounds import Entry

__all__ = ["FIELDS", "cv_results", "row_of"]

_PARAMETERS = ("kernel", "gamma", "C", "rows", "n_components")
FIELDS = (*_PARAMETERS, "heat", "n_rows", "seconds", "key", "scores", "score")


def row_of(entry: Entry, score) -> dict[str, Any]:
    """A row of results; ``score`` turns mean losses into what is to be large."""
    candidate, round_ = entry.candidate, entry.round
    return {
        "kernel": candidate.kernel,
        "gamma": float(candidate.gamma),
        "C": float(entry.C),
        "rows": candidate.view,
        "n_components": int(entry.n_components or round_.n_rows_of_cell),
        "heat": int(round_.number),
        "n_rows": round_.n_rows,
        "seconds": float(entry.seconds),
        "key": float(entry.rank_key),
        "scores": [float(score(error)) for error in entry.judgment.fold_errors()],
        "score": float(score(entry.judgment.error)),
    }


def cv_results(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """scikit-learn's form, with the round as ``iter`` and its rows as ``n_resources``, as in its halving searches."""
    n_splits = max(len(row["scores"]) for row in rows)
    splits = np.full((n_splits, len(rows)), np.nan)
    for k, row in enumerate(rows):
        splits[: len(row["scores"]), k] = row["scores"]
    order = sorted(range(len(rows)), key=lambda k: (-rows[k]["heat"], rows[k]["key"]))
    ranks = np.empty(len(rows), np.int32)
    ranks[order] = np.arange(1, len(rows) + 1)
    seconds = np.array([row["seconds"] / max(len(row["scores"]), 1) for row in rows])
    return {
        "iter": np.array([row["heat"] for row in rows]),
        "n_resources": np.array([row["n_rows"] for row in rows]),
        "mean_fit_time": seconds,
        "std_fit_time": np.zeros_like(seconds),
        "mean_score_time": np.zeros_like(seconds),
        "std_score_time": np.zeros_like(seconds),
        **{f"param_{name}": np.ma.MaskedArray([row[name] for row in rows]) for name in _PARAMETERS},
        "params": [{name: row[name] for name in _PARAMETERS} for row in rows],
        **{f"split{k}_test_score": splits[k] for k in range(n_splits)},
        "mean_test_score": np.array([row["score"] for row in rows]),
        "std_test_score": np.nanstd(splits, axis=0),
        "rank_test_score": ranks,
    }
