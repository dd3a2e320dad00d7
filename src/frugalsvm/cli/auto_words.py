"""What came of `AutoSVC` and `AutoSVR`, in plain words: what was chosen, how good it is, what else was tried."""

from typing import Any

import numpy as np

from frugalsvm.auto.words import machine_words
from frugalsvm.cli.page import percent
from frugalsvm.selection.search import LOW_RANK

__all__ = ["Told", "chosen_words", "notes_of", "quality_words", "tried_rows"]

_KERNELS = {"rbf": "Gaussian (rbf)", "laplacian": "Laplacian", "matern12": "Matern 1/2", "matern32": "Matern 3/2"}
_ROWS = {"scaled": "scaled columns", "in proportion": "columns as they are"}
_SHOWN = 8

Told = dict[str, Any]  # sentences and a table, as model files have them


def _kernel(name: str) -> str:
    return _KERNELS.get(name, name)


def _rows(name: str) -> str:
    return _ROWS.get(name, "a learned metric" if name.startswith("learned metric") else name)


def chosen_words(model: Any, n_rows: int) -> str:
    """What was chosen."""
    best = model.best_params_
    return (
        f"Chosen: the {_kernel(best['kernel'])} kernel on {_rows(best['rows'])}, gamma {best['gamma']:.3g}, "
        f"C {best['C']:.3g}; {machine_words(model.model_, n_rows)}."
    )


def quality_words(model: Any, y: np.ndarray, *, classifies: bool) -> str:
    """How good it is on rows left out, beside always predicting the same."""
    score = model.best_score_
    if classifies:
        values, counts = np.unique(y, return_counts=True)
        most = counts.argmax()
        return (
            f"It is right for {percent(score)} of rows left out; always saying {values[most].item()!r} would be right "
            f"for {percent(float(counts[most] / len(y)))}."
        )
    spread = float(np.std(y))
    error = spread * float(np.sqrt(max(1.0 - score, 0.0)))
    return (
        f"On rows left out it is wrong by {error:.4g} (root mean square; R^2 {score:.4f}); always saying the mean "
        f"would be wrong by {spread:.4g}."
    )


def notes_of(model: Any) -> list[str]:
    """What the report says besides: sentences before its first table, after the one that sums up."""
    return model.report().split("\n\n")[0].splitlines()[1:]


def tried_rows(model: Any, *, classifies: bool) -> list[dict[str, Any]]:
    """The kernels that were tried, in one view of rows or another: each where it came farthest, best first.

    Low-rank machines, which are compared with those in cells, are told apart from them.
    """
    results = model.cv_results_
    splits = np.array([values for key, values in results.items() if key.startswith("split")])
    seconds = results["mean_fit_time"] * np.count_nonzero(~np.isnan(splits), axis=0)
    found: dict[tuple[str, str, bool], list[int]] = {}
    for k in np.argsort(results["rank_test_score"], kind="stable").tolist():
        is_low_rank = bool(results["iter"][k] == LOW_RANK)
        found.setdefault((str(results["param_kernel"][k]), str(results["param_rows"][k]), is_low_rank), []).append(k)
    rows = []
    for (kernel, view, is_low_rank), members in list(found.items())[:_SHOWN]:
        best, score = members[0], float(results["mean_test_score"][members[0]])
        rows.append(
            {
                "round": str(int(results["iter"][best])),
                "kernel": _kernel(kernel) + (", low rank" if is_low_rank else ""),
                "rows seen as": _rows(view),
                "accuracy" if classifies else "R^2": percent(score) if classifies else f"{score:.4f}",
                "of rows": f"{int(results['n_resources'][best]):,}",
                "candidates": str(len(members)),
                "seconds": f"{float(seconds[members].sum()):.1f}",
            }
        )
    return rows
