"""How the value of a model depends on one column: partial dependence and individual curves, in closed form.

With a kernel that is a product, ``f`` with column p at g is ``sum_i a_i r_i k_p(g, v_i)``, where ``r_i`` are the
products of all other factors. They do not depend on g: many rows share one matrix product over the support vectors, and
no prediction is made for any pair of a row and a point of the grid. Models whose kernels are neither products nor sums
make these predictions.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from frugalsvm.estimators.constraints import check_count
from frugalsvm.explain.columns import columns_for
from frugalsvm.explain.models import ExplainedModel, any_explained
from frugalsvm.explain.sampling import SampledModel
from frugalsvm.pipelines.frames import is_frame

_MOST_CATEGORIES = 20


class Dependence(NamedTuple):
    """Values of a model along one column."""

    column: str
    grid: NDArray  # (n_points,) values of the column
    average: NDArray  # (n_points,) or (n_points, n_outputs): partial dependence
    individual: NDArray  # (n_rows, n_points) or (n_rows, n_points, n_outputs)
    output_names: list[str]


def partial_dependence(
    model: Any, X: Any, column: str | int, *, grid: ArrayLike | None = None, n_points: int = 50
) -> Dependence:
    """The values of a model when one column takes the values of a grid, for each row and on average.

    Parameters
    ----------
    model : estimator
        As for `shapley_values`.
    X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        Rows whose other columns stay as they are.
    column : str or int
        Name of the column, or its index in ``X``.
    grid : array-like, default=None
        Values of the column. None is ``n_points`` values from the first to the last percentile of the rows; or the
        values themselves, where they are text.
    n_points : int, default=50

    Returns
    -------
    Dependence

    Examples
    --------
    >>> import numpy as np
    >>> from frugalsvm import ASSETRegressor
    >>> from frugalsvm.explain import partial_dependence
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(500, 3))
    >>> model = ASSETRegressor(n_components=64, gamma=0.5, C=100.0, random_state=0).fit(X, X[:, 0] ** 2)
    >>> found = partial_dependence(model, X, 0, grid=[-0.8, 0.0, 0.8])
    >>> bool(found.average[1] < found.average[0] - 0.5), found.individual.shape
    (True, (500, 3))
    """
    check_count("n_points", n_points)
    source = any_explained(columns_for(model))
    names = source.columns.names(X)
    place = _place_of(column, names, X)
    shown = source.columns.shown(X)[:, place]
    points = _grid(shown, n_points) if grid is None else np.asarray(grid)
    along, members = source.columns.along(X, place, points), source.members[place]
    if isinstance(source, SampledModel):
        individual = source.curves(source.columns.prepared(X), along, members)
    else:
        individual = _curves(source, source.rows(X), source.seen(along), members)
    n_outputs = individual.shape[2]
    if n_outputs == 1:
        individual = individual[:, :, 0]
    return Dependence(names[place], points, individual.mean(axis=0), individual, source.output_names(n_outputs))


def _place_of(column: str | int, names: list[str], X: Any) -> int:
    """Where a column is among those of the model, which has numbers first, whatever order a table has."""
    if is_frame(X) and isinstance(column, int | np.integer) and 0 <= column < len(X.columns):
        column = str(X.columns[column])
    if isinstance(column, str) and column in names:
        return names.index(column)
    if isinstance(column, int | np.integer) and 0 <= column < len(names):
        return int(column)
    raise ValueError(f"There is no column {column!r}: there are {len(names)}, such as {names[0]!r}.")


def _grid(values: NDArray, n_points: int) -> NDArray:
    if values.dtype.kind in "biuf":
        known = values[~np.isnan(values.astype(np.float64))].astype(np.float64)
        low, high = np.percentile(known, (1, 99)) if len(known) else (0.0, 0.0)
        return np.linspace(low, high, n_points)
    try:
        return _grid(values.astype(np.float64), n_points)
    except (TypeError, ValueError):
        found, counts = np.unique(values.astype(str), return_counts=True)
        return found[np.argsort(-counts, kind="stable")[:_MOST_CATEGORIES]]


def _curves(source: ExplainedModel, rows: NDArray, along: NDArray, features: NDArray) -> NDArray:
    """Values (n_rows, n_points, n_outputs) of rows whose features of one column are those along the grid."""
    others = np.setdiff1d(np.arange(rows.shape[1]), features)
    weights = source.coefficients.T  # (n_vectors, n_outputs)
    if source.is_multiplicative:
        rest, own = source.partial_values(rows, others), source.partial_values(along, features)
        curves = np.stack([(rest * each) @ own.T for each in source.coefficients], axis=2)
    else:
        rest, own = (source.partial_values(*each) @ weights for each in ((rows, others), (along, features)))
        curves = rest[:, None] + own[None]
    return curves + source.intercepts
