"""Least-squares support vector machines in cells on a Dask cluster: a regressor."""

from frugalsvm.dask._cells import CellsOnCluster
from frugalsvm.estimators.local_svr import LocalSVR
from frugalsvm.estimators.parameters import documented


@documented
class DaskLocalSVR(CellsOnCluster, local=LocalSVR, without=["budget", "tree", "ranges"]):
    """`LocalSVR` for data on many machines: the model that its `fit_batches` makes of the same rows, bit for bit.

    The metric and the first divisions of each tree come from a sample, with the client. Then all rows travel once, so
    that those of a cell are on one worker, which solves it. The model does not depend on partitions, workers or
    threads, and those that are lost are replaced. It has all rows, and `fit` collects it: the client needs memory for
    them, and so does every worker that predicts. What is "auto" is chosen by the workers, on some of the cells.

    Parameters
    ----------

    Attributes
    ----------
    n_features_in_, history_

    See Also
    --------
    to_local : The ordinary estimator, with ``loo_scores_`` in the order of the partitions, and all other attributes.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from distributed import Client
    >>> from frugalsvm.dask import DaskLocalSVR
    >>> X = np.random.default_rng(0).uniform(-3, 3, size=(5000, 2))
    >>> y = da.from_array(np.sin(X[:, 0]) * X[:, 1], chunks=1000)
    >>> X = da.from_array(X, chunks=(1000, 2))
    >>> with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=":0") as client:
    ...     model = DaskLocalSVR(kernel="rbf", C=100.0, gamma=0.5, cell_size=500, random_state=0).fit(X, y)
    ...     bool(model.score(X, y).compute() > 0.99)
    True
    """
