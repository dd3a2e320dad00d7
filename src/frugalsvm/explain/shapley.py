"""Shapley values of models: exact for kernel expansions whose kernels are products or sums, sampled for all others."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from frugalsvm.arrays.namespace import HOST, arrays_on, on_host
from frugalsvm.arrays.shapley import array_shapley_values
from frugalsvm.compiling.threads import Threads, row_blocks, thread_count
from frugalsvm.core.quadrature import new_rules
from frugalsvm.core.shapley import add_shapley_values, new_game, new_room
from frugalsvm.estimators.constraints import check_count
from frugalsvm.exceptions import ParameterError
from frugalsvm.explain.background import AUTO, background_for, own_rows
from frugalsvm.explain.columns import as_in_table, columns_for
from frugalsvm.explain.explanation import Explanation
from frugalsvm.explain.importances import by_name
from frugalsvm.explain.models import ExplainedModel, any_explained
from frugalsvm.explain.sampling import SampledModel

_LEAST_ROWS = 16  # for a thread


def shapley_values(
    model: Any,
    X: Any,
    background: Any = AUTO,
    *,
    tolerance: float = 1e-12,
    n_permutations: int = 2,
    random_state: int = 0,
    n_jobs: int | None = None,
    device: str = "cpu",
) -> Explanation:
    """Share the values of a model out among the columns of each row.

    The share of a column is its Shapley value: what the value of the model gains when the column is added to others,
    averaged over all orders in which columns can be added. There are 2^d sets of columns, but where a kernel is a
    product or a sum over features, the mean over all of them is one integral (see :doc:`/theory/shapley`), and shares
    are exact. For all other models orders are sampled, and ``standard_errors`` tells how far shares may be off.

    Parameters
    ----------
    model : estimator
        Fitted, of this library: a classifier, regressor or novelty detector, `AutoSVC`, `AutoSVR`, a `StreamPipeline`,
        a search, or a scikit-learn pipeline of scalers and one of them. Shares are exact with the kernel "rbf",
        "laplacian", "chi2", "linear" or "intersection", without a metric or with one that has a factor for each
        feature; of `LocalSVC` and `LocalSVR` if all rows are one cell, and they are sampled if there are several.
    X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        Rows to explain, as the model takes them.
    background : same as X, "auto" or None, default="auto"
        Typical rows, a few hundred at most: columns that are left out take the values of these
        (the interventional form, which shap computes). The time is proportional to their number. "auto" is up to 100
        rows that the model keeps: training rows that `AutoSVC` and `AutoSVR` keep, or else landmarks or
        support vectors. With None, columns that are not there are left out of all distances, as if they were the same
        as those of each support vector: shares are then no amounts in the unit of the target, and this is for models
        with exact shares only.
    tolerance : float, default=1e-12
        Largest error of the integrals, relative to the coefficients of the model. It decides the number of nodes.
    n_permutations : int, default=2
        Pairs of random permutations for each background row, where shares are sampled. Standard errors need two.
    random_state : int, default=0
        For these permutations.
    n_jobs : int, default=None
        Number of threads: None is one, -1 all cores.
    device : str, default="cpu"
        "cpu"; "cuda" for a GPU, or "cuda:1" for the second one; or "auto" for a GPU if there is one.

    Returns
    -------
    Explanation
        For each row and column the share of the decision value of a classifier or novelty detector, or of the value
        that a regressor predicts; with several outputs, for each of them. ``base_values`` and the shares of a row add
        up to its value. Columns that a pipeline encodes, or of which it tells that values are missing, have one share.
        Columns of a table come in its order; those that the model leaves out are not among them.

    Examples
    --------
    >>> import numpy as np
    >>> from frugalsvm import ASSETClassifier
    >>> from frugalsvm.explain import shapley_values
    >>> X = np.random.default_rng(0).normal(size=(500, 4))
    >>> model = ASSETClassifier(n_components=64, gamma=0.2, random_state=0).fit(X, X[:, 1] > 0.3 * X[:, 2])
    >>> found = shapley_values(model, X[:3], background=X[:100])
    >>> found.values.shape
    (3, 4)
    >>> sums = found.base_values + found.values.sum(axis=1)
    >>> bool(np.allclose(sums, model.decision_function(X[:3]), atol=1e-4))
    True
    """
    if not 0.0 < tolerance < 1.0:
        raise ParameterError("tolerance", tolerance, "a number between 0 and 1")
    check_count("n_permutations", n_permutations)
    threads, arrays, columns = Threads(thread_count(n_jobs)), arrays_on(device), columns_for(model)
    X = on_host(X)
    source = ExplainedModel(columns) if background is None else any_explained(columns)
    rows, usual = columns.prepared(X), background_for(model, columns, on_host(background))
    others = np.zeros((0, rows.shape[1])) if usual is None else usual.rows
    if isinstance(source, SampledModel):
        base, values, errors = source.shapley_values(rows, others, n_permutations, random_state, threads)
    else:
        base, values = _exact(source, rows, others, tolerance, threads, arrays)
        errors = None
    names = columns.names(X)
    order = as_in_table(names, X)
    return Explanation(
        _by_output(values[:, order]),
        base,
        columns.shown(X)[:, order],
        [names[place] for place in order],
        source.output_names(values.shape[2]),
        standard_errors=None if errors is None else _by_output(errors[:, order]),
        background=None if usual is None else usual.words,
        dates=columns.dates,
    )


def _exact(source, rows, others, tolerance, threads, arrays) -> tuple[NDArray, NDArray]:
    """Base values and shares (n_rows, n_columns, n_outputs) for rows of the estimator inside."""
    rows, others = source.seen(rows), source.seen(others)
    compute = _of_products if source.is_multiplicative else _of_sums
    return _base_values(source, others), compute(source, rows, others, tolerance, threads, arrays)


def _by_output(values: NDArray) -> NDArray:
    return values[:, :, 0] if values.shape[2] == 1 else values


def has_exact_shares(model: Any) -> bool:
    """Whether `shapley_values` is exact for a fitted model; otherwise it samples.

    Examples
    --------
    >>> from frugalsvm import LASVMClassifier
    >>> from frugalsvm.explain import has_exact_shares
    >>> X, y = [[0.0, 0.0], [3.0, 1.0]], ["low", "high"]
    >>> [has_exact_shares(LASVMClassifier(kernel=kernel).fit(X, y)) for kernel in ("rbf", "matern32")]
    [True, False]
    """
    return isinstance(any_explained(columns_for(model)), ExplainedModel)


def vector_importances(model: Any, *, n_vectors: int = 200, n_background: int = 30) -> dict[str, float]:
    """Mean absolute shares of columns in the values of a model at its own rows, relative to each other.

    For those who have a model and no rows: these are training rows that it keeps, or else its landmarks or support
    vectors. Support vectors are not drawn as rows are: near the boundary there are more of them.

    Returns
    -------
    dict of str to float
        Shares that sum up to 1, by the names of the columns.
    """
    columns = columns_for(model)
    source = any_explained(columns)
    rows = own_rows(model, columns, n_vectors).rows
    others = rows[np.unique(np.linspace(0, len(rows) - 1, n_background).astype(int))]
    if isinstance(source, SampledModel):
        _, values, _ = source.shapley_values(rows, others, 1, 0, Threads(1))
    else:
        _, values = _exact(source, rows, others, 1e-6, Threads(1), HOST)
    return by_name(columns.names(None), np.abs(values).mean(axis=0).sum(axis=1))


def _base_values(source: ExplainedModel, background: NDArray) -> NDArray:
    """The values when no column is there."""
    if len(background):
        return source.values(background).mean(axis=0)
    total = source.coefficients.sum(axis=1) if source.is_multiplicative else 0.0
    return source.intercepts + total


def _of_products(source, rows, background, tolerance, threads, arrays) -> NDArray:
    """Values (n_rows, n_columns, n_outputs) of a kernel that is a product."""
    counted = [p for p, features in enumerate(source.members) if len(features)]
    out = np.zeros((len(rows), len(source.coefficients), len(counted)))
    if counted:
        order = np.concatenate([source.members[p] for p in counted])
        first = np.concatenate([[0], np.cumsum([len(source.members[p]) for p in counted])])
        rules = new_rules(len(counted), tolerance)
        rows, background = (np.ascontiguousarray(each[:, order]) for each in (rows, background))
        vectors = source.vectors[:, order]
        if not arrays.is_torch:
            game = new_game(vectors, source.coefficients, first)

            def explain(part):
                room = new_room(len(counted), part.stop - part.start, len(background))
                add_shapley_values(source.kernel, rows[part], background, rules, game, room, out[part])

            threads.run(explain, row_blocks(len(rows), threads.count, _LEAST_ROWS))
        else:
            out = array_shapley_values(
                arrays, source.kernel, rows, background, vectors, source.coefficients, first, rules
            )
    values = np.zeros((len(rows), len(source.members), len(source.coefficients)))
    values[:, counted] = out.transpose(0, 2, 1)
    return values


def _of_sums(source, rows, background, tolerance, threads, arrays) -> NDArray:
    """The same for a kernel that is a sum: the share of a column is its term, less that of the background."""
    values = np.zeros((len(rows), len(source.members), len(source.coefficients)))
    for p, features in enumerate(source.members):
        for f in features:
            terms = source.terms(rows[:, f], f) @ source.coefficients.T
            usual = (source.terms(background[:, f], f) @ source.coefficients.T).mean(axis=0) if len(background) else 0.0
            values[:, p] += terms - usual
    return values
