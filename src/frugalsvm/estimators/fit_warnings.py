"""What `fit` warns of: solvers that stopped at their limit, and classifiers no better than the majority class."""

import sys
from operator import mul

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from frugalsvm.compiling.threads import row_blocks
from frugalsvm.core.capabilities import offers
from frugalsvm.estimators.constraints import is_auto
from frugalsvm.estimators.copies import weights_of_copies
from frugalsvm.estimators.seen_rows import for_known_rows
from frugalsvm.estimators.validation import rows_that_count
from frugalsvm.exceptions import PoorFitWarning, warn_caller

_BLOCK_ROWS = 2**16
SAMPLE = 500  # rows on which a model is looked at
_NEARLY_ALL = 1 - 1e-6
FEW = 50  # with fewer rows than this, chance decides
_WITH_TUBE, _C_IN_UNITS = ("epsilon_insensitive", "squared_epsilon_insensitive"), ("epsilon_insensitive", "huber")
_SMALL_C = 0.1  # in spreads of the target
_WILD = 10.0  # standard deviations
_OUT_OF_SCALE, _BATCH = 30.0, 20  # the same, and rows of a batch that is looked at
_MOST_LEFT = 0.9  # of the variance: a model that leaves more is hardly one
_TOO_CLOSE = 1.5  # times what is left if predictions are farther apart, all by one factor
_LARGEST_NOISE = 0.3  # of predictions in cells, in units of -1 and +1
VIOLATED = 1e-3  # as in `SVC`, whose default `tol` this is


def warn_at_limit(estimator, limit: str, advice: str) -> None:
    """An iterative solver has used up its iterations."""
    warn_caller(f"{type(estimator).__name__} stopped at {limit} before it converged: {advice}.", ConvergenceWarning)


def warn_if_above(estimator, converged: bool, n_most: int) -> None:
    """The batch solver of low-rank machines has used up its steps, and its bound is above ``tol``."""
    share = estimator.suboptimality_bound_ / max(estimator.objective_, 1e-300)
    if not converged and share > estimator.tol:
        advice = f"the objective may be {share:.1%} above the optimum; raise max_iter, scale the features, or lower C"
        warn_at_limit(estimator, f"max_iter={n_most}", advice)


def warn_after_fit(estimator, X, labels, weights) -> None:
    """What there is to say of a classifier that has learned rows."""
    violation = getattr(estimator, "kkt_violation_", 0.0)
    if violation > VIOLATED:
        warn_caller(
            f"{type(estimator).__name__} violates its optimality conditions by {violation:.2g}, because of rounding: "
            "scale the features, or lower C.",
            ConvergenceWarning,
        )
    warn_if_poor(estimator, X, labels, weights)


def warn_if_poor(estimator, X, labels, weights) -> None:
    """Warn of a model that is right on no more of a sample of its rows, by weight, than the largest class is.

    Not of candidates that a search of scikit-learn compares: poor ones do not win, and the last fit is looked at.
    """
    if _is_compared():
        return
    known = _sample(len(labels), weights)
    if len(known) < FEW:
        return
    right = for_known_rows(estimator).predict(X[known]) == estimator.classes_[labels[known]]
    _warn_if_no_better(estimator, right, labels[known], None if weights is None else weights[known], "training rows")


def _sample(n_rows, weights):
    """Some rows that have a weight."""
    known = np.arange(n_rows) if weights is None else np.flatnonzero(weights)
    return known if len(known) <= SAMPLE else np.sort(np.random.default_rng(0).choice(known, SAMPLE, replace=False))


def warn_if_poor_left_out(estimator, right, labels, weights) -> None:
    """The same for a model that knows of every row whether it would be right had it not learned it."""
    n_known = len(labels) if weights is None else np.count_nonzero(weights)
    if n_known >= FEW and not _is_compared():
        _warn_if_no_better(estimator, right, labels, weights, "left-out training rows")


def _warn_if_no_better(estimator, right, labels, weights, which) -> None:
    n_known = len(labels) if weights is None else np.count_nonzero(weights)
    shares = _shares(labels, weights, len(estimator.classes_))
    majority, largest = shares.max() / shares.sum(), estimator.classes_.tolist()[int(shares.argmax())]
    accuracy = np.average(right, weights=weights)
    # A class that has all the weight is no choice.
    if accuracy <= majority * (1 + 1e-12) and majority < _NEARLY_ALL:
        weighted = "" if weights is None else " by weight"
        warn_caller(
            f"{type(estimator).__name__} is no better than always predicting {largest!r}: right on "
            f"{accuracy:.1%} of {n_known} {which}{weighted}, where that class is {majority:.1%}. "
            f"Scale the features (StandardScaler), or try other values of {_worth_trying(estimator)}.",
            PoorFitWarning,
        )


def warn_if_mean_is_as_good(estimator, targets, left: float) -> None:
    """Warn of a regressor whose errors on rows left out are no smaller than those of the mean.

    Targets are in their standard deviations, from the mean; ``left`` is the mean squared error in these units.
    """
    if len(targets) < FEW or left < 1.0 or _is_compared() or not targets.any():
        return
    farthest = float(np.abs(targets).max())
    wild = (
        f" One target is {farthest:.0f} standard deviations away from the mean: if a few are wrong, leave them out, or "
        "take a loss that they do not move as much, such as that of ASSETRegressor."
    )
    warn_caller(
        f"{type(estimator).__name__} is no better than always predicting the mean: R^2 is {1.0 - left:.2g} on left-out "
        f"training rows.{wild if farthest > _WILD else ''}",
        PoorFitWarning,
    )


def warn_of_copies(estimator, rows, targets, weights) -> None:
    """Warn of many rows that are copies of others, where parameters are chosen by errors of rows left out."""
    rows, targets = rows_that_count(rows, weights), rows_that_count(targets.T, weights).T
    if len(rows) < FEW or _is_compared() or (merged := weights_of_copies(rows.T, targets)) is None:
        return
    warn_caller(
        f"{np.mean(merged == 0.0):.0%} of the rows are the same as others, with the same targets. If they are copies "
        "(of a class that was drawn several times, say), errors of rows left out, by which "
        f"{type(estimator).__name__} chooses, are smaller than those of new rows: pass each row once, with the number "
        "of its copies as sample_weight.",
        PoorFitWarning,
    )


def _shares(labels, weights, n_classes) -> np.ndarray:
    """The weight of each class, in blocks: small numbers become large ones on the way."""
    blocks = row_blocks(len(labels), 1, most=_BLOCK_ROWS)
    return sum(np.bincount(labels[block], None if weights is None else weights[block], n_classes) for block in blocks)  # type: ignore[return-value]


def warn_if_out_of_scale(estimator, standardized) -> None:
    """Warn of a batch of a stream whose targets are far outside of what they are standardized by.

    Only squared errors have steps that are as long as errors are large. The words are the same each time, so that
    they are shown once.
    """
    if len(standardized) < _BATCH or estimator.loss == "squared":
        return
    if 2 * np.count_nonzero(np.abs(standardized) > _OUT_OF_SCALE) > standardized.size:  # the median, in less time
        warn_caller(
            f"Targets are far outside of the range of the first ones, by which {type(estimator).__name__} standardizes "
            f"them, and loss={estimator.loss!r} follows slowly: take loss='squared', pass standardize=(center, "
            "spread), or begin again.",
            PoorFitWarning,
        )


def warn_if_units_differ(estimator, X, targets, weights, spread) -> None:
    """Warn of a regressor that nearly predicts a constant, because epsilon or C are for targets in another unit.

    Targets are (n_outputs, n_rows); ``spread`` is how far apart they are, in the unit of epsilon and C.
    """
    epsilon, C = estimator.epsilon, getattr(estimator, "C_", estimator.C)
    wide = estimator.loss in _WITH_TUBE and epsilon > spread
    small_C = estimator.loss in _C_IN_UNITS and estimator.alpha is None and _SMALL_C * spread > C
    known = _sample(targets.shape[1], weights)
    if len(known) < FEW or not (wide or small_C):
        return
    predicted = for_known_rows(estimator).predict(X[known]).reshape(len(known), -1)
    left, all_of_it = (each.var(axis=0).sum() for each in (targets.T[known] - predicted, targets.T[known]))
    least = _left_by_lines(targets.T[known], predicted)
    if all_of_it > 0 and left >= min(_MOST_LEFT * all_of_it, _TOO_CLOSE * least):
        warn_caller(
            f"{type(estimator).__name__} has predictions too close to a constant: epsilon={epsilon:g} and C={C:g} are "
            f"in the unit of the target, whose spread is {spread:.3g}. Try epsilon={0.1 * spread:.1g} and "
            f"C={spread:.1g} or more, or standardize the target (TransformedTargetRegressor).",
            PoorFitWarning,
        )


def _left_by_lines(targets, predicted) -> float:
    """The variance of targets that lines through the predictions leave."""
    targets, predicted = (each - each.mean(axis=0) for each in (targets, predicted))
    shared, size = (targets * predicted).mean(axis=0), (predicted**2).mean(axis=0)
    return float(((targets**2).mean(axis=0) - shared**2 / np.where(size > 0, size, 1.0)).sum())


def warn_if_coefficients_cancel(estimator, trees) -> None:
    """Warn of machines in cells whose sums of terms are larger than what is left of them, in units of -1 and +1.

    Kernel values are at most 1, and each has an error of about the last digit of its type, independent of the others.
    """
    trees = [cells for cells in trees if hasattr(cells, "coef")]  # coded ones have none
    if not trees or not offers(estimator._kernel, "shift_invariant"):
        return
    sizes = [float(max(cells.coef.max(), -cells.coef.min())) for cells in trees]
    digits = [np.finfo(cells.coef.dtype).eps * float(cells.tree.sizes.max()) ** 0.5 for cells in trees]
    if max(map(mul, sizes, digits)) > _LARGEST_NOISE:
        largest = max(sizes)
        wider = "" if estimator.dtype == "float64" else ", or set dtype='float64'"
        warn_caller(
            f"{type(estimator).__name__} has coefficients as large as {largest:.1e} with C={estimator.C_:g}, so that "
            f"predictions have few right digits: lower C{wider}.",
            ConvergenceWarning,
        )


def _worth_trying(estimator) -> str:
    kernel = ("gamma",) if getattr(estimator, "kernel", None) != "linear" else ()
    names = [name for name in (*kernel, "alpha", "C", "budget") if getattr(estimator, name, None) is not None]
    if all(is_auto(getattr(estimator, name)) for name in names):
        names = ["kernel"]
    return ", ".join(names[:-1]) + " and " * (len(names) > 1) + names[-1]


def _is_compared() -> bool:
    """Whether a search or cross-validation of scikit-learn is fitting one of its candidates."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_name != "_fit_and_score":
        frame = frame.f_back  # type: ignore[assignment]
    return frame is not None
