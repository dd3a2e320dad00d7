"""Training and prediction on many machines, with Dask (extra ``dask``)."""

try:
    import dask.array
    import dask.dataframe  # noqa: F401
    import distributed  # noqa: F401
except ImportError as error:
    raise ImportError("frugalsvm.dask needs Dask: install it with `pip install 'frugalsvm[dask]'`.") from error

from frugalsvm.dask._cluster import SchedulerLostError
from frugalsvm.dask.asset import DaskASSETClassifier
from frugalsvm.dask.asset_one_class import DaskASSETOneClassSVM
from frugalsvm.dask.asset_regressor import DaskASSETRegressor
from frugalsvm.dask.bsgd import DaskBSGDClassifier
from frugalsvm.dask.local_svc import DaskLocalSVC
from frugalsvm.dask.local_svr import DaskLocalSVR
from frugalsvm.dask.pipeline import DaskPipeline

__all__ = [
    "DaskASSETClassifier",
    "DaskASSETOneClassSVM",
    "DaskASSETRegressor",
    "DaskBSGDClassifier",
    "DaskLocalSVC",
    "DaskLocalSVR",
    "DaskPipeline",
    "SchedulerLostError",
]
