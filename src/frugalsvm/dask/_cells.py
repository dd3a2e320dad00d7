"""What `DaskLocalSVC` and `DaskLocalSVR` share: training in four steps, and a model that travels once."""

from functools import partial
from typing import Any

import numpy as np
from dask import delayed
from sklearn.base import is_regressor

from frugalsvm.dask._base import DaskEstimator
from frugalsvm.dask._cells_training import CellsTraining, PartitionRows, looks_of, train_cells
from frugalsvm.dask._cluster import Cluster, client_for, opened_or_same
from frugalsvm.dask._collections import sources_of
from frugalsvm.estimators._validation import check_choice

__all__ = ["CellsOnCluster"]


class CellsOnCluster(DaskEstimator):
    """Base of estimators whose cells are solved where their rows are.

    Subclasses define ``_new_local``.
    """

    def _check_own_params(self) -> None:
        if self.class_weight is not None and not isinstance(self.class_weight, dict):
            check_choice("class_weight", self.class_weight, ("balanced",))

    def _begin(self, cluster: Cluster, local: Any, X, y, sample_weight, callback) -> Any:
        """Look at all partitions."""
        sources = sources_of(X, y, sample_weight, in_columns=is_regressor(self))
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        overview, filled, looks = looks_of(cluster, sources, local)
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
