"""AutoSVC and AutoSVR, which make all choices by themselves."""

import numpy as np

from benchmarks.comparison.peers.base import Peer
from frugalsvm import AutoSVC, AutoSVR

__all__ = ["Auto"]


class _WithQuantiles(AutoSVR):
    """The middle quantile is the prediction; the others are the ends of an interval that has 80 % of the rows."""

    def predict_quantiles(self, X, quantiles):
        ends = self.predict_interval(X, coverage=quantiles[-1] - quantiles[0])
        return np.column_stack([ends[:, 0], self.predict(X), ends[:, 1]])


class Auto(Peer):
    name = "auto"
    label = "AutoSVC, AutoSVR"
    columns = "as they are"
    tunes_itself = True
    uses_device = True

    def new(self, task, settings):
        kind = _WithQuantiles if task.is_regression else AutoSVC
        own = {"time_budget" if name == "seconds" else name: value for name, value in settings.items()}
        return kind(device=task.device, n_jobs=task.n_threads, random_state=task.seed, **own)
