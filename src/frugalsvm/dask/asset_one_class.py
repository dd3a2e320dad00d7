"""Novelty detection by ASSET on a Dask cluster."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from frugalsvm.dask._asset_tasks import Shared, feature_sums, rows_below, sample_problem
from frugalsvm.dask._base import Training
from frugalsvm.dask._preparing import shares
from frugalsvm.dask.asset import LowRankRounds
from frugalsvm.estimators.asset_one_class import ASSETOneClassSVM
from frugalsvm.estimators.parameters import documented
from frugalsvm.lowrank.backends.partition_sums import summed
from frugalsvm.lowrank.landmarks import SAMPLE_PER_LANDMARK, place_landmarks
from frugalsvm.lowrank.maps import n_candidates
from frugalsvm.lowrank.one_class import mean_of_sums, share_at_border


@documented
class DaskASSETOneClassSVM(LowRankRounds, local=ASSETOneClassSVM, persist="auto"):
    """`ASSETOneClassSVM` for data on many machines: the same problem, solved to the same accuracy.

    One pass finds the mean of all features; then rounds are those of `DaskASSETClassifier`, Newton steps on all rows.

    Parameters
    ----------
    landmarks : {"border", "uniform", "kmeans++", "kmeans"}, default="border"
        As in `ASSETOneClassSVM`. "border" learns twice, with one more pass between, in which all partitions tell rows
        with low scores.
    max_iter : int, default=None
        Rounds at most, each time; None is 30.

    Attributes
    ----------
    offset_, n_features_in_, n_iter_, history_, last_model_

    See Also
    --------
    to_local : The ordinary estimator, with landmarks and all other attributes.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from distributed import Client
    >>> from frugalsvm.dask import DaskASSETOneClassSVM
    >>> X = da.from_array(np.random.default_rng(0).normal(size=(8000, 2)), chunks=(2000, 2))
    >>> with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=":0") as client:
    ...     model = DaskASSETOneClassSVM(nu=0.05, n_components=64, random_state=0).fit(X)
    >>> model.to_local().predict([[0.0, 0.0], [5.0, 5.0]])
    array([ 1, -1])
    """

    # What other low-rank machines have parameters for; without labels there is nothing to validate
    C, alpha, solver = 1.0, None, "newton"
    validation_fraction, n_iter_no_change = 0.0, 5

    @property
    def _is_at_border(self) -> bool:
        return not self._has_own_landmarks and self.landmarks == "border"

    def _n_candidates(self, n_rows):
        return n_candidates("kmeans++" if self._is_at_border else self.landmarks, self.n_components, n_rows)

    # --- rounds ---------------------------------------------------------------------------------------------

    def _solve(self, local, training: Training, candidates) -> None:
        shared, sources = self._solve_once(local, training, candidates)
        n_rows = int(training.overview.n_rows.sum())
        if self._is_at_border and self.feature_map == "nystroem" and self.n_components < n_rows:
            n_spread = self.n_components // 2
            rows = self._rows_at_border(local, training, shared, sources, self.n_components - n_spread)
            landmarks = np.concatenate([shared.feature_map.landmarks[:n_spread], rows])
            self._solve_once(local, training, landmarks)

    def _solve_once(self, local, training: Training, candidates) -> tuple[Shared, list[tuple]]:
        """Solve with a feature map of some rows; returns what partitions knew then, and partitions with features."""
        shared, sources = self._begun(local, training, candidates)
        sums = training.cluster.reduced(feature_sums, summed, sources, training.cluster.broadcast(shared))
        mean = mean_of_sums(shared.feature_map, sums.features, sums.weights)
        shared = shared._replace(center=mean, weight_factor=sums.n_rows / sums.weights)
        self._solve_with(local, training, shared, sources)
        local.objective_ = local.objective_ / self.nu - 0.5 * float(mean @ mean)
        local.suboptimality_bound_ /= self.nu
        return shared, sources

    def _rows_at_border(self, local, training: Training, shared: Shared, sources, n_landmarks: int) -> np.ndarray:
        """Landmarks that are spread out among rows with low scores, from all partitions."""
        n_rows, weights = training.overview.n_rows, local.coef_
        parameters = np.hstack([weights, local.intercept_[:, None]])
        values = sample_problem(training.sample, shared).scores(parameters)[0]
        score = float(np.quantile(values, share_at_border(float(self.nu), n_landmarks, int(n_rows.sum()))))
        wanted = shares(n_rows, min(SAMPLE_PER_LANDMARK * n_landmarks, int(n_rows.sum())))
        sources = [(*each, int(n)) for each, n in zip(sources, wanted, strict=True)]
        broadcast = training.cluster.broadcast
        parts = training.cluster.each(rows_below, sources, broadcast(shared), broadcast(parameters), score)
        found = training.rng.permutation(np.concatenate(parts))
        return place_landmarks("kmeans++", found, min(n_landmarks, len(found)), training.rng)

    # --- what was learned -----------------------------------------------------------------------------------

    @property
    def offset_(self):
        """Rows with scores below are outliers."""
        check_is_fitted(self)
        return self._local.offset_
