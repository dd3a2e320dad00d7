"""What a search compares: estimators that are given, a grid of parameters, or what the first rows suggest."""

from typing import Any

from sklearn.base import clone, is_classifier

from frugalsvm.estimators.automatic import learns_streams, may_follow
from frugalsvm.estimators.bsgd import BSGDClassifier
from frugalsvm.estimators.constraints import AUTO
from frugalsvm.exceptions import ParameterError

# The best is among these, or within 0.3 points, in one pass over six tables. The first is taken where nothing is known.
_GAMMA_FACTORS = 1.0, 2.0, 4.0  # of gamma="auto"
_STRENGTHS = {"alpha": (1e-4, 1e-3, 1e-5), "C": (1.0, 10.0, 100.0)}


def check_candidates(estimator: Any, param_grid: Any) -> None:
    """Refuse what cannot learn from streams, and grids that are none."""
    given = estimator if isinstance(estimator, list | tuple) else [BSGDClassifier() if estimator is None else estimator]
    if not given or not all(learns_streams(each) and is_classifier(each) for each in given):
        raise ParameterError("estimator", estimator, "a classifier with partial_fit, or a list of them")
    if param_grid is None:
        return
    if isinstance(estimator, list | tuple):
        raise ValueError("param_grid is for one estimator: leave it out, or give one estimator instead of a list.")
    grids = [param_grid] if isinstance(param_grid, dict) else param_grid
    if not isinstance(grids, list | tuple) or not grids or not all(isinstance(grid, dict) for grid in grids):
        raise ParameterError("param_grid", param_grid, "a dict of parameters and lists of values, or a list of such")


def candidates_for(estimator: Any, param_grid: Any, X, y, classes) -> tuple[list[Any], list[dict[str, Any]]]:
    """Estimators that have learned nothing, and the parameters that tell them apart.

    ``X`` and ``y`` are the first rows, which the default grid is taken from.
    """
    if isinstance(estimator, list | tuple):
        return [clone(each) for each in estimator], [each.get_params(deep=False) for each in estimator]
    if estimator is None:
        estimator = BSGDClassifier()
    grid = _usual_grid(estimator, X, y, classes) if param_grid is None else _combinations(param_grid)
    return [clone(estimator).set_params(**params) for params in grid], grid


def _combinations(param_grid: Any) -> list[dict[str, Any]]:
    from sklearn.model_selection import ParameterGrid  # takes a while

    return list(ParameterGrid(param_grid))


def _usual_grid(estimator: Any, X, y, classes) -> list[dict[str, Any]]:
    """Kernel widths from the first rows on, and strengths of usual sizes."""
    known = estimator.get_params(deep=False)
    strength = next((name for name in _STRENGTHS if name in known), None)
    if "gamma" not in known or strength is None:
        raise ValueError(f"{type(estimator).__name__} has no usual candidates: set param_grid.")
    gamma = clone(estimator).set_params(gamma="auto").partial_fit(X, y, classes=classes).gamma_
    grid = usual_grid(gamma, strength)
    # One that follows streams that change, as a pipeline does by default, unless something was said about that.
    return [*grid, {"half_life": AUTO}] if gamma is not None and may_follow(estimator) else grid


def usual_grid(gamma: float | None, strength: str | None) -> list[dict[str, Any]]:
    """Candidates around a gamma that first rows suggest, and a strength, "alpha" or "C"; None where there is none."""
    gammas = [{}] if gamma is None else [{"gamma": factor * gamma} for factor in _GAMMA_FACTORS]
    strengths = [{strength: value} for value in _STRENGTHS[strength]] if strength else [{}]
    return [{**one, **other} for one in gammas for other in strengths]
