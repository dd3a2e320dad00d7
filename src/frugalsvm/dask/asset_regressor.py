"""Regression by ASSET on a Dask cluster."""

from frugalsvm.dask.asset import LowRankRounds
from frugalsvm.estimators.asset_regressor import ASSETRegressor
from frugalsvm.estimators.parameters import documented


@documented
class DaskASSETRegressor(
    LowRankRounds, local=ASSETRegressor, without=["dtype"], validation_fraction=0.05, persist="auto"
):
    """`ASSETRegressor` for data on many machines: the same problem, solved to the same accuracy.

    Rounds are those of `DaskASSETClassifier`: Newton steps on all rows, or epochs of subgradient steps. They end when a
    step promises little, or when the score of the validation rows does not grow any more.

    Parameters
    ----------
    C : float or list of floats, default=1.0
        Of a list, the best value is taken: by the validation rows, or by cross-validation with ``cv``. All values and
        folds share every pass over the rows, and `to_local` has ``C_`` and ``path_``.

    Attributes
    ----------
    n_features_in_, n_iter_, history_, last_model_

    See Also
    --------
    to_local : The ordinary estimator, with landmarks and all other attributes.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from distributed import Client
    >>> from frugalsvm.dask import DaskASSETRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, size=(8000, 2))
    >>> y = da.from_array(np.sin(X[:, 0]) * X[:, 1] + 0.1 * rng.normal(size=8000), chunks=2000)
    >>> X = da.from_array(X, chunks=(2000, 2))
    >>> with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=":0") as client:
    ...     model = DaskASSETRegressor(n_components=128, C=10.0, gamma=0.5, random_state=0).fit(X, y)
    ...     bool(model.score(X, y).compute() > 0.98)
    True
    """
