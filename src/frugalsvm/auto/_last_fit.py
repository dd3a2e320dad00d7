"""The last fit of a search: until a machine converges, and with warnings that name the estimator of the user."""

import warnings
from collections.abc import Iterable
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from frugalsvm.estimators._warn import warn_caller

__all__ = ["MORE_STEPS", "fitted_in_turn"]

MORE_STEPS = (4, 16)  # times as many as usual, where these were not enough


def fitted_in_turn(owner: Any, learners: Iterable[tuple[Any, Any]], rows: Any, clock: Any) -> tuple[Any, Any]:
    """The first of some machines that converges, with what it was made for, fitted to all rows.

    If none does, or a limit of time is near, the one whose objective is nearest to its bound, with its warning.
    """
    tried = []
    for model, found in learners:
        start = clock.spent
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            model.fit(rows.X, rows.y, rows.weights)
        converged = not any(issubclass(each.category, ConvergenceWarning) for each in told)
        share = 0.0 if converged else model.suboptimality_bound_ / max(model.objective_, 1e-300)
        tried.append((share, model, found, told))
        if converged or not clock.fits(2 * (clock.spent - start)):
            break
    share, model, found, told = min(tried, key=lambda each: each[0])
    for each in told:
        warn_caller(_words(owner, model, each, share), each.category)
    return model, found


def _words(owner: Any, model: Any, warning: warnings.WarningMessage, share: float) -> str:
    """A warning of the machine inside, for users who have not chosen its parameters."""
    if not issubclass(warning.category, ConvergenceWarning):
        return str(warning.message).replace(type(model).__name__, type(owner).__name__)
    advice = "" if owner.time_budget is None else "; with a longer time budget it takes more steps"
    return (
        f"{type(owner).__name__} stopped before its last fit converged: the objective may be {share:.1%} above the "
        f"optimum{advice}."
    )
