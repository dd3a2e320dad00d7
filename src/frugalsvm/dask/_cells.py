"""What `DaskLocalSVC` and `DaskLocalSVR` share: training in four steps, and a model that travels once."""

from functools import partial
from typing import Any

import numpy as np
from dask import delayed

from frugalsvm.dask._base import DaskEstimator
from frugalsvm.dask._cells_training import CellsTraining, PartitionRows, looks_of, train_cells
from frugalsvm.dask._cluster import Cluster, client_for, opened_or_same

__all__ = ["CellsOnCluster"]


class CellsOnCluster(DaskEstimator):
    """Base of estimators whose cells are solved where their rows are."""

    def _check_own_params(self) -> None:
        self._check_class_weight()

    def _begin(self, cluster: Cluster, local: Any, X, y, sample_weight, callback) -> Any:
        """Look at all partitions."""
        overview, filled, looks = looks_of(cluster, self._partitions(X, y, sample_weight), local)
        if overview.sparse:
            raise ValueError(
                f"{type(self).__name__} takes dense rows, and X has sparse ones: project them first, or use "
                "DaskASSETClassifier or DaskASSETRegressor."
            )
        local.n_features_in_ = overview.n_features
        if overview.names is not None:
            local.feature_names_in_ = overview.names
        rows = PartitionRows(cluster, filled, [len(look.y) for look in looks], local)
        weights = None if looks[0].weight is None else np.concatenate([look.weight for look in looks])
        targets = np.concatenate([look.y for look in looks])
        return CellsTraining(cluster, overview, rows, targets, weights, self._teller(callback))

    def _rounds(self, local: Any, training: Any) -> None:
        train_cells(local, training)

    def _look_back(self, local: Any, validation: Any) -> None:
        if hasattr(local, "classes_"):
            self.classes_ = local.classes_

    def _sent(self, function: Any) -> Any:
        """A function that has the model, as one that is delayed; it travels to each worker once.

        Without a client, as that of a model from a file is, Dask computes in this process, and nothing travels.
        """
        try:
            client = client_for(self.client)
        except ValueError:
            return super()._sent(function)
        return partial(delayed(_called, pure=False), Cluster(client).broadcast(function))


def _called(function: Any, *arguments: Any) -> Any:
    return opened_or_same(function)(*arguments)
