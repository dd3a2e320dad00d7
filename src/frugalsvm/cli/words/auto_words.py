"""What `AutoSVC` and `AutoSVR` do, and what came of it, in plain words: chosen, how good, what else was tried."""

import re
import time
from typing import Any

import numpy as np

from frugalsvm.auto.report import candidate_words, machine_words
from frugalsvm.cli.console import Status
from frugalsvm.selection.search import LOW_RANK
from frugalsvm.words import counted, percent

__all__ = ["SearchProgress", "sentences_of", "tried_rows"]

_KERNELS = {"rbf": "Gaussian (rbf)", "laplacian": "Laplacian", "matern12": "Matern 1/2", "matern32": "Matern 3/2"}
_ROWS = {"scaled": "scaled columns", "in proportion": "columns as they are"}
_SHOWN, _BAR_WIDTH = 8, 30


class SearchProgress(Status):
    """A bar, how many candidates were tried, and the best so far: a callback of `fit`, shown while that runs."""

    def __init__(self, limit: float | None = None, *, quiet: bool = True):
        super().__init__(self.words, quiet=quiet)
        self._limit, self._start = limit, time.monotonic()
        self._n_tried, self._best = 0, float("-inf")
        self._latest: dict[str, Any] = {}  # candidate
        self._stage, self._stage_start = "", self._start  # what goes on without candidates, and since when

    def __call__(self, event: dict[str, Any]) -> None:
        """Take in what `fit` tells."""
        self._stage, self._stage_start = event.get("stage", ""), time.monotonic()
        if not self._stage:
            self._n_tried, self._best, self._latest = self._n_tried + 1, max(self._best, event["score"]), event

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._start

    def words(self) -> str:
        """What is going on, in a line."""
        spent = f"{self.seconds:.0f} s" + ("" if self._limit is None else f" of {self._limit:.0f} s")
        parts = [f"Comparing models: {counted(self._n_tried, 'candidate')} in {spent}"]
        if self._latest:
            name = self._latest["score_name"]
            parts.append(f"best {name} so far {_score(self._best, name == 'accuracy')}")
        if self._stage:
            return ", ".join([*parts, f"now {self._stage} ({time.monotonic() - self._stage_start:.0f} s so far)"])
        return ", ".join([*parts, *([f"last: {candidate_words(self._latest)}"] if self._latest else [])])

    def bar(self) -> Any:
        """A bar: of the time that there is, or one that moves where there is no limit."""
        from rich.progress_bar import ProgressBar

        if self._limit is None:
            return ProgressBar(width=_BAR_WIDTH, pulse=True)
        return ProgressBar(total=self._limit, completed=min(self.seconds, self._limit), width=_BAR_WIDTH)

    def _text(self) -> Any:
        from rich.console import Group

        return Group(self.bar(), super()._text())


def _score(score: float, classifies: bool) -> str:
    return percent(score) if classifies else f"{score:.4f}"


def _rows(name: str) -> str:
    return _ROWS.get(name, re.sub(r"^learned metric \(\w+\)", "a learned metric", name))


def sentences_of(model: Any, y: np.ndarray, *, classifies: bool) -> list[str]:
    """What was chosen, how good it is, and what the report says besides."""
    best = model.best_params_
    chosen = (
        f"Chosen: the {_KERNELS.get(best['kernel'], best['kernel'])} kernel on {_rows(best['rows'])}, gamma "
        f"{best['gamma']:.3g}, C {best['C']:.3g}; {machine_words(model.model_, len(y))}."
    )
    return [chosen, _quality(model.best_score_, y, classifies), *model.report(output_dict=True)["notes"]]


def _quality(score: float, y: np.ndarray, classifies: bool) -> str:
    """How good predictions are on rows left out, beside always predicting the same."""
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


def tried_rows(report: dict[str, Any]) -> list[dict[str, Any]]:
    """The kernels that were tried, in one view of rows or another: each where it came farthest, best first.

    Low-rank machines, which are compared with those in cells, are told apart from them.
    """
    found: dict[tuple[str, str, bool], list[tuple[dict, dict]]] = {}
    for each in reversed(report["rounds"]):
        for row in each["candidates"]:
            found.setdefault((row["kernel"], row["rows"], each["round"] == LOW_RANK), []).append((each, row))
    rows = []
    for (kernel, view, is_low_rank), members in list(found.items())[:_SHOWN]:
        best_round, best = members[0]
        rows.append(
            {
                "round": str(best_round["round"]),
                "kernel": _KERNELS.get(kernel, kernel) + (", low rank" if is_low_rank else ""),
                "rows seen as": _rows(view),
                report["score"]: _score(best["score"], report["score"] == "accuracy"),
                "of rows": f"{best_round['n_rows']:,}",
                "candidates": str(len(members)),
                "seconds": f"{sum(row['seconds'] for _, row in members):.1f}",
            }
        )
    return rows
