"""Least-squares support vector machines in cells on a Dask cluster: a classifier."""

from frugalsvm.dask._cells import CellsOnCluster
from frugalsvm.estimators.local_svc import LocalSVC
from frugalsvm.estimators.parameters import documented


@documented
class DaskLocalSVC(CellsOnCluster, local=LocalSVC, without=["budget", "tree", "ranges"]):
    """`LocalSVC` for data on many machines: the model that its `fit_batches` makes of the same rows, bit for bit.

    The metric and the first divisions of each tree come from a sample, with the client. Then all rows travel once, so
    that those of a cell are on one worker, which solves it. The model does not depend on partitions, workers or
    threads, and those that are lost are replaced. It has all rows, and `fit` collects it: the client needs memory for
    them, and so does every worker that predicts. What is "auto" is chosen by the workers, on some of the cells.

    Parameters
    ----------
    calibrate : {"platt", "spline", "isotonic"} or None, default="spline"
        How to calibrate `predict_proba` with leave-one-out scores, see :ref:`calibration`.

    Attributes
    ----------
    classes_, n_features_in_, history_

    See Also
    --------
    to_local : The ordinary estimator, with ``loo_scores_`` in the order of the partitions, and all other attributes.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from frugalsvm.dask import DaskLocalSVC
    >>> from frugalsvm.datasets import make_checkerboard
    >>> X, y = (da.from_array(part, chunks=5000) for part in make_checkerboard(20_000, random_state=0))
    >>> with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=":0") as client:
    ...     model = DaskLocalSVC(C=10.0, gamma=8.0, cell_size=500, random_state=0).fit(X, y)
    ...     bool(model.score(X, y).compute() > 0.98)
    True
    >>> model.to_local().n_cells_
    40
    """
