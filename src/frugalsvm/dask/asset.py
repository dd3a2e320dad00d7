"""ASSET on a Dask cluster."""

from typing import Any

import numpy as np

from frugalsvm.arrays.sources import dense_rows
from frugalsvm.compiling.threads import blas_threads
from frugalsvm.dask._asset_path import path_rounds
from frugalsvm.dask._asset_rounds import Rounds, epochs, newton_rounds
from frugalsvm.dask._asset_tasks import Shared, features_kept
from frugalsvm.dask._base import DaskEstimator, Training
from frugalsvm.estimators.asset import ASSETClassifier
from frugalsvm.estimators.calibrated import is_calibrated
from frugalsvm.estimators.constraints import is_path, parsed_bytes, values_of_path
from frugalsvm.estimators.parameters import documented
from frugalsvm.lowrank.backends.partitions import rows_to_begin_with
from frugalsvm.lowrank.maps import n_candidates, width_of
from frugalsvm.lowrank.passes import Passes

_FEATURES_SHARE = 0.3  # of the cluster's memory, for features


class LowRankRounds(DaskEstimator):
    """The rounds of low-rank machines, whatever they predict.

    Parameters
    ----------
    C : float, "auto" or list of floats
        Of a list, the best value is taken: by the validation rows, or by cross-validation with ``cv``. All values and
        folds share every pass over the rows, and `to_local` has ``C_`` and ``path_``. "auto", as of ``gamma``, is
        chosen by the client, on some thousands of rows of all partitions.
    cv : int
        Number of folds, to choose C from a list; up to 100 000 rows, from all partitions, judge.
    solver : {"newton", "asset", "asset*"}
        What a round is.
    max_iter : int
        Rounds at most; None is 30 Newton steps, or 20 epochs.
    tol : float
        Newton steps end when the next would reduce the objective by a smaller share than this.
    n_iter_no_change : int
        Rounds without a better score on the validation rows after which training ends.
    memory : str
        Limit for features that a worker keeps between rounds, and never more than 30 % of its memory. If all features
        take more, they are computed again in every round.
    """

    C: Any
    cv: int | None = None
    alpha: Any
    feature_map: str
    landmarks: Any
    max_iter: int | None
    memory: str
    n_components: int
    solver: str

    def _check_own_params(self):
        super()._check_own_params()
        if is_path(self.C) and self.cv is None and not self.validation_fraction:
            raise ValueError("A list of C needs validation rows, or cv=5: validation_fraction must be above 0.")
        if is_calibrated(self) and self.solver == "newton" and self.max_iter == 1:
            raise ValueError("calibrate needs max_iter=2 or more: the last round learns the validation rows, too.")

    def _n_sample(self, local, overview):
        n_rows = int(overview.n_rows.sum())
        if not self._has_own_landmarks:
            return max(self._n_candidates(n_rows), rows_to_begin_with(self.n_components, n_rows))
        return rows_to_begin_with(len(self.landmarks), n_rows)

    @property
    def _has_own_landmarks(self) -> bool:
        """Whether landmarks are rows that were passed."""
        return not isinstance(self.landmarks, str)

    def _n_candidates(self, n_rows):
        return n_candidates(self.landmarks, self.n_components, n_rows)

    def _rounds(self, local, training: Training):
        local.begin(local.kernel_, training.is_sparse, training.rng)
        self._solve(local, training, self._candidates(local, training))

    def _candidates(self, local, training: Training):
        """Rows that landmarks are made of."""
        if self._has_own_landmarks:
            return local.given_landmarks()
        return dense_rows(training.sample.X[: self._n_candidates(int(training.overview.n_rows.sum()))])

    def _begun(self, local, training: Training, candidates) -> tuple[Shared, list[tuple]]:
        """What partitions have to know, with a feature map that is made of some rows; and partitions with features.

        Workers compute features while the client whitens the map: landmarks are all that they need for it.
        """
        plan, is_whitened = local.map_plan(), self.feature_map == "nystroem"
        feature_map = plan.new(candidates, training.rng, sparse=training.is_sparse, for_device=is_whitened)
        sources = self._sources(training, feature_map)
        if is_whitened:
            with blas_threads(None):
                feature_map = plan.whitened(feature_map.landmarks, Passes(training.cluster.free_threads()))
        scale = local.take_scale(training.sample.labels, training.sample.weights)
        loss, n_classes = local.new_loss(), len(getattr(local, "classes_", ()))
        n_outputs = len(getattr(loss, "quantile", ())) or int(np.prod(training.overview.target_shape or ()))
        return Shared(feature_map, loss, local.fit_intercept, n_classes, n_outputs, scale), sources

    def _solve(self, local, training: Training, candidates) -> None:
        self._solve_with(local, training, *self._begun(local, training, candidates))

    def _solve_with(self, local, training: Training, shared: Shared, sources) -> None:
        C = values_of_path(self.C)[0] if is_path(self.C) else getattr(local, "C_", self.C)
        penalty = local.penalty_for(C, int(training.overview.n_rows.sum()))
        rounds = Rounds(self, local, training, shared, sources, penalty)
        if is_path(self.C):
            path_rounds(rounds)
        else:
            (newton_rounds if self.solver == "newton" else epochs)(rounds)

    def _sources(self, training, feature_map):
        """Partitions, with their features where these can be kept."""
        needed = 4 * int(training.overview.n_rows.sum()) * width_of(feature_map)
        memory, n_workers = training.cluster.memory(), training.cluster.n_workers()
        rows = [(part,) for part in training.rows]
        if needed > min(_FEATURES_SHARE * memory, n_workers * parsed_bytes("memory", self.memory)):
            return [(part, None) for (part,) in rows]
        kept = training.cluster.kept_beside(features_kept, rows, training.cluster.broadcast(feature_map))
        return [(part, features) for (part,), features in zip(rows, kept, strict=True)]


@documented
class DaskASSETClassifier(
    LowRankRounds, local=ASSETClassifier, without=["dtype"], validation_fraction=0.05, persist="auto"
):
    """`ASSETClassifier` for data on many machines: the same problem, solved to the same accuracy.

    Landmarks are drawn from all partitions, and the feature map goes to all workers once. A round is then a Newton step
    on all rows: every partition tells sums of the size of the model, slopes and curvature of its own loss, and the
    client makes one step of them. Rounds end when a step promises little, or when the accuracy on validation rows
    does not grow any more; a last step is made with the validation rows.

    With ``solver="asset"`` or ``"asset*"`` a round is an epoch of subgradient steps in every partition by itself, from
    the mean of the round before, and the results are averaged by examples.

    The result does not depend on the number of workers, nor on which of them does what, to the last bit; and it hardly
    depends on how rows are divided into partitions.

    Parameters
    ----------

    Attributes
    ----------
    classes_, n_features_in_, n_iter_, history_, last_model_

    See Also
    --------
    to_local : The ordinary estimator, with landmarks and all other attributes.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from frugalsvm.dask import DaskASSETClassifier
    >>> from frugalsvm.datasets import make_checkerboard
    >>> X, y = (da.from_array(part, chunks=5000) for part in make_checkerboard(20_000, random_state=0))
    >>> with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=":0") as client:
    ...     model = DaskASSETClassifier(n_components=128, C=10.0, gamma=8.0, random_state=0).fit(X, y)
    ...     bool(model.score(X, y).compute() > 0.97)
    True
    >>> model.to_local().landmarks_.shape
    (128, 2)
    """
