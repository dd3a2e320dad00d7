"""Which columns matter for many rows: by permutation, by shares, and by the metric of the model."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_regressor
from sklearn.utils.validation import column_or_1d

from frugalsvm.estimators.constraints import check_count
from frugalsvm.explain.columns import as_in_table, columns_for
from frugalsvm.explain.explanation import Explanation


class PermutationImportance(NamedTuple):
    """How much worse predictions are when the values of a column are exchanged among rows."""

    feature_names: list[str]
    drops: NDArray  # (n_columns,) of the score
    errors: NDArray  # (n_columns,) standard errors of the drops, over rows
    score: float  # as rows are: accuracy, or R^2 of a regressor
    n_rows: int


def permutation_importance(
    model: Any, batches: Iterable, *, n_repeats: int = 1, random_state: int | None = None
) -> PermutationImportance:
    """How much worse predictions become when the values of one column are exchanged among the rows of a batch.

    Rows are read batch by batch, so that a stream of any length has its importances in constant memory. Use rows that
    the model has not learned. Any kernel will do.

    Parameters
    ----------
    model : estimator
        Fitted, of this library: see `shapley_values`.
    batches : iterable of pairs (X, y), or of `frugalsvm.streams.Batch`
        For rows in memory, ``[(X, y)]``. Batches of some hundred rows at least: a column is exchanged within each.
    n_repeats : int, default=1
        How often each column of each batch is permuted.
    random_state : int, default=None

    Returns
    -------
    PermutationImportance

    Examples
    --------
    >>> import numpy as np
    >>> from frugalsvm import BSGDClassifier
    >>> from frugalsvm.explain import permutation_importance
    >>> X = np.random.default_rng(0).normal(size=(2000, 3))
    >>> y = X[:, 1] > 0
    >>> model = BSGDClassifier(budget=50, random_state=0).fit(X[:1500], y[:1500])
    >>> found = permutation_importance(model, [(X[1500:], y[1500:])], random_state=0)
    >>> int(found.drops.argmax())
    1
    """
    check_count("n_repeats", n_repeats)
    columns, rng = columns_for(model), np.random.default_rng(random_state)
    of_numbers = is_regressor(model)
    names: list[str] = []
    losses = 0.0
    differences: Any = 0.0
    squares: Any = 0.0
    moments, n_rows = np.zeros(3), 0
    for X, y in map(_pair, batches):
        y = column_or_1d(y)
        if not names:
            names, origin = columns.names(X), float(y[0]) if of_numbers and len(y) else 0.0
            order = as_in_table(names, X)
        own = _losses(model, X, y, of_numbers)
        losses, n_rows = losses + own.sum(), n_rows + len(y)
        if of_numbers:
            far = y - origin  # squares of an offset would leave no digits for what varies
            moments += len(y), far.sum(), np.square(far).sum()
        gained = np.array([_gains(model, columns, X, y, own, p, n_repeats, rng, of_numbers) for p in range(len(names))])
        differences, squares = differences + gained.sum(axis=1), squares + np.square(gained).sum(axis=1)
    if not n_rows:
        raise ValueError("batches has no rows.")
    spread = (moments[2] - moments[1] ** 2 / moments[0]) if of_numbers else float(n_rows)
    scale = n_rows / spread if spread > 0 else 1.0
    means = differences / n_rows
    errors = np.sqrt(np.maximum(squares / n_rows - np.square(means), 0.0) / n_rows)
    names, drops, errors = [names[place] for place in order], scale * means[order], scale * errors[order]
    return PermutationImportance(names, drops, errors, float(1.0 - losses / spread), n_rows)


def _pair(batch: Any) -> tuple[Any, Any]:
    """Rows and labels of a batch of a stream, or of a pair."""
    if hasattr(batch, "columns") and hasattr(batch, "X"):
        return (batch.X if batch.columns is None else (batch.X, batch.columns)), batch.y
    X, y = batch
    return X, y


def _losses(model, X, y, of_numbers) -> NDArray:
    predicted = model.predict(X)
    if of_numbers:
        return np.square(predicted - y)
    pair = [*y[:1].tolist(), *predicted[:1].tolist()]
    if len({isinstance(each, str) for each in pair}) > 1:  # which would all be wrong, whatever the columns hold
        raise ValueError(
            f"Labels like {pair[0]!r} do not mix with predictions like {pair[1]!r}: pass labels as in fit."
        )
    return (predicted != y).astype(np.float64)


def _gains(model, columns, X, y, own, p, n_repeats, rng, of_numbers) -> NDArray:
    """How much larger the losses of rows are with column p permuted, on average over repeats."""
    total = np.zeros(len(y))
    for _ in range(n_repeats):
        other = columns.permuted(X, p, rng.permutation(len(y)))
        total += _losses(model, other, y, of_numbers) - own
    return total / n_repeats


def side_by_side(
    model: Any, explanation: Explanation | None = None, permutation: PermutationImportance | None = None
) -> dict[str, dict[str, float]]:
    """The importances of columns by several measures, each as shares that sum up to 1.

    Parameters
    ----------
    model : estimator
        If it has a metric, "metric" is the share of each column in squared distances.
    explanation : Explanation, default=None
        "shapley" is the share of the mean absolute values, over all outputs.
    permutation : PermutationImportance, default=None
        "permutation" is the share of the drops that are above zero.

    Returns
    -------
    dict of str to dict of str to float
        For each measure, shares by the names of the columns; ``pandas.DataFrame`` makes a table of it.
    """
    table: dict[str, dict[str, float]] = {}
    if explanation is not None:
        table["shapley"] = by_name(explanation.feature_names, explanation.total_importances)
    if permutation is not None:
        table["permutation"] = by_name(permutation.feature_names, np.maximum(permutation.drops, 0.0))
    of_features = metric_importances(model)
    if of_features is not None:
        columns, measured = columns_for(model), explanation or permutation
        names = columns.names(None)
        known = names if measured is None else measured.feature_names
        if sorted(known) != sorted(names):  # they were given later, in this order
            names = known
        shares = by_name(names, np.array([of_features[each].sum() for each in columns.members()]))
        table["metric"] = {name: shares[name] for name in known}
    return table


def metric_importances(model: Any) -> NDArray | None:
    """Shares of features in the distances of the estimator inside; None without a metric."""
    inner = columns_for(model).estimator
    inner = inner.steps[-1][1] if hasattr(inner, "steps") else inner
    return getattr(inner, "feature_importances_", None)


def by_name(names: list[str], sizes: NDArray) -> dict[str, float]:
    """Sizes as shares of their sum."""
    total = float(sizes.sum())
    return {name: float(size) / total if total > 0 else 0.0 for name, size in zip(names, sizes, strict=True)}
