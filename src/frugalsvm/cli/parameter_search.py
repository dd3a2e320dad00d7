"""Parameters that were not given: chosen on the first rows of a stream, or by successive halving."""

import math
import time
from typing import Any, NamedTuple

import numpy as np

from frugalsvm.cli.catalogue import CATALOGUE, CLASSES, WITHOUT_GAMMA, new_estimator
from frugalsvm.core.kernels import KERNELS
from frugalsvm.core.moments import moments_of, scale_gamma

__all__ = [
    "Trial",
    "can_choose",
    "choose",
    "chosen_strength",
    "first_metric",
    "grid_for",
    "halved",
    "needs_scaling",
    "suggested_gamma",
    "usual_gamma",
    "usual_of",
    "wide_grid_for",
]

_GAMMAS = (0.1, 0.3, 1.0, 3.0)  # times what gamma="scale" is
_STRENGTHS = {"alpha": (1e-3, 1e-4, 1e-5), "C": (1.0, 10.0, 100.0), "": (None,)}
_MORE_GAMMAS = (0.5, 1.0, 2.0, 4.0)  # times what gamma="auto" is
_MORE_STRENGTHS = {"alpha": (1e-6,), "C": (), "": ()}
_NEAR = 1.25  # largest ratio of two gammas of which one is not tried
_SUGGESTING_ROWS = 3072  # from which "auto" is taken


class Trial(NamedTuple):
    """Parameters and the accuracy that they came to; for numbers R^2, or what it is for quantiles."""

    settings: dict[str, Any]
    accuracy: float
    rows: int


def usual_gamma(X: Any, kernel: str = "rbf") -> float:
    """What "scale" is; 1 for columns of text alone."""
    return scale_gamma(moments_of(X), KERNELS[kernel]) if X.shape[1] else 1.0


def needs_scaling(X: Any) -> bool:
    """Whether some values are outside of [-1, 1]: columns inside, often of zeros and ones, are best left alone."""
    values = X if isinstance(X, np.ndarray) else X.data
    return bool(values.size) and bool(np.abs(values).max() > 1.0)


def chosen_strength(name: str) -> str:
    """The parameter that regularizes, if candidates differ in it: regressors standardize their targets."""
    algorithm = CATALOGUE[name]
    return algorithm.strength if algorithm.task == CLASSES else ""


def grid_for(
    name: str, base_gamma: float, *, kernel: str = "rbf", gamma=None, strength=None, budgets=(None,), own=None
) -> list[dict[str, Any]]:
    """Candidates around common values; what is given stays, ``own`` settings among it."""
    gammas = [gamma] if gamma is not None else [factor * base_gamma for factor in _GAMMAS]
    strengths = [strength] if strength is not None else list(_STRENGTHS[chosen_strength(name)])
    if kernel in WITHOUT_GAMMA:  # it has no gamma
        gammas = gammas[:1]
    settings = {"kernel": kernel, **(own or {})}
    return [{**settings, "gamma": g, "strength": s, "budget": b} for g in gammas for s in strengths for b in budgets]


def suggested_gamma(name: str, X: Any, y: np.ndarray, *, kernel: str, seed: int | None) -> float:
    """What gamma="auto" is for an algorithm, by the first of some scaled rows."""
    if kernel in WITHOUT_GAMMA or len(np.unique(y[:_SUGGESTING_ROWS])) < 2:
        return usual_gamma(X, kernel)
    model = new_estimator(name, kernel=kernel, gamma="auto", seed=seed)
    model.partial_fit(X[:_SUGGESTING_ROWS], y[:_SUGGESTING_ROWS], classes=np.unique(y))
    return usual_gamma(X, kernel) if model.gamma_ is None else model.gamma_


def wide_grid_for(name: str, base_gamma: float, suggested: float, *, kernel: str, budgets) -> list[dict[str, Any]]:
    """All candidates of `grid_for`, and more around the gamma that the first rows suggest."""
    gammas: list[float] = []
    for gamma in sorted([f * base_gamma for f in _GAMMAS] + [f * suggested for f in _MORE_GAMMAS]):
        if not gammas or gamma > _NEAR * gammas[-1]:
            gammas.append(gamma)
    kind = CATALOGUE[name].strength
    strengths = (*_STRENGTHS[kind], *_MORE_STRENGTHS[kind])
    grids = [grid_for(name, base_gamma, kernel=kernel, gamma=g, strength=s, budgets=budgets)
             for g in (gammas[:1] if kernel in WITHOUT_GAMMA else gammas) for s in strengths]  # fmt: skip
    return [settings for grid in grids for settings in grid]


def usual_of(grid: list[dict[str, Any]]) -> dict[str, Any]:
    """The candidate in the middle, for rows that are too few to choose by."""
    return grid[len(grid) // 2]


def can_choose(y: np.ndarray) -> bool:
    """Whether some rows can be learned and others judged, with two classes in what is learned."""
    n_learned = 2 * len(y) // 3
    return n_learned < len(y) and len(np.unique(y[:n_learned])) > 1


def _learn(name: str, model: Any, X: Any, y: np.ndarray, all_labels: np.ndarray) -> None:
    known = {"classes": np.unique(all_labels)} if CATALOGUE[name].task == CLASSES else {}
    model.partial_fit(X, y, **known)


class FirstMetric(NamedTuple):
    """A metric that was learned from the rows that candidates learn, and the gamma that goes with it."""

    metric: Any
    gamma: float | None


def first_metric(name: str, kernel: str, metric: str, X: Any, y: np.ndarray, seed: int | None) -> FirstMetric:
    """What the first two thirds of some scaled rows tell; the others are for judging candidates."""
    n_learned = 2 * X.shape[0] // 3
    model = new_estimator(name, kernel=kernel, metric=metric, seed=seed)
    _learn(name, model, X[:n_learned], y[:n_learned], y)
    return FirstMetric(model.metric_, model.gamma_)


def choose(
    name: str,
    X: Any,
    y: np.ndarray,
    grid: list[dict[str, Any]],
    seed: int | None,
    metric: Any = None,
    deadline: float = math.inf,
) -> list[Trial]:
    """Accuracies of candidates on the last third of some scaled rows, best first; of one class, a usual one.

    A metric is the same for all of them: an array, or one that is learned once. Candidates that are not begun before
    the deadline, on the clock of `time.monotonic`, are left out, but for the first.
    """
    n_learned = 2 * X.shape[0] // 3
    if len(np.unique(y[:n_learned])) < 2:
        return [Trial(grid[len(grid) // 2], float("nan"), X.shape[0])]
    if isinstance(metric, str):
        metric = first_metric(name, grid[0]["kernel"], metric, X, y, seed).metric
    trials: list[Trial] = []
    for settings in grid:
        if trials and time.monotonic() > deadline:
            break
        passes = settings.get("passes", 1)
        model = new_estimator(name, seed=seed, metric=metric, **{k: v for k, v in settings.items() if k != "passes"})
        for _ in range(passes):
            _learn(name, model, X[:n_learned], y[:n_learned], y)
        accuracy = float(model.score(X[n_learned:], y[n_learned:]))
        trials.append(Trial(settings, accuracy, X.shape[0]))
    return sorted(trials, key=lambda trial: -trial.accuracy)


def halved(
    name: str,
    X: Any,
    y: np.ndarray,
    grid: list[dict[str, Any]],
    seed: int | None,
    metric: str | None = None,
    first_rows: int = 1500,
    deadline: float = math.inf,
) -> list[list[Trial]]:
    """Successive halving: all candidates on few rows, the better half on twice as many, and so on.

    Returns the trials of each round, best first. After the deadline no round is begun, and no candidate.
    """
    n_rows = min(first_rows, X.shape[0])
    rounds: list[list[Trial]] = []
    while True:
        rounds.append(choose(name, X[:n_rows], y[:n_rows], grid, seed, metric, deadline))
        if len(grid) == 1 or n_rows == X.shape[0] or time.monotonic() > deadline:
            return rounds
        grid = [trial.settings for trial in rounds[-1][: (len(grid) + 1) // 2]]
        n_rows = min(2 * n_rows, X.shape[0])
