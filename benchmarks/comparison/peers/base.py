"""What a peer declares.

A peer in ten lines, in a file that ``--add`` names::

    from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
    from benchmarks.comparison.peers import Peer, add_peer

    class Neighbors(Peer):
        name, label, columns = "neighbors", "nearest neighbors", "scaled"

        def new(self, task, settings):
            kind = KNeighborsRegressor if task.is_regression else KNeighborsClassifier
            return kind(n_jobs=task.n_threads, **settings)

        def draw(self, task, rng):
            return {"n_neighbors": int(rng.integers(1, 50))}

    add_peer(Neighbors())
"""

from importlib.util import find_spec
from typing import NamedTuple

import numpy as np

__all__ = ["Peer", "Task", "log_uniform"]


class Task(NamedTuple):
    """What a peer must know of the data and of the machine."""

    is_regression: bool
    n_columns: int
    n_threads: int
    seed: int = 0
    device: str = "cpu"


class Peer:
    """A learner: ``new`` makes an estimator with `fit`, `predict` and, if it has them, probabilities or quantiles."""

    name = ""  # in results and on the command line
    label = ""  # on the page
    package: str | None = None  # that it needs, as it is imported
    install = ""  # what installs it
    columns = "numbers"  # see columns.py
    has_draws = True  # whether there are settings to choose
    tunes_itself = False  # whether ``new`` has the setting "seconds"
    is_single_threaded = False  # settings are then compared side by side
    uses_device = False

    def new(self, task, settings):
        raise NotImplementedError

    def draw(self, task, rng):
        """Random settings."""
        raise NotImplementedError

    def missing(self):
        """Why it cannot be measured here, or None."""
        if self.package and find_spec(self.package) is None:
            return f"{self.package} is not installed: {self.install or 'pip install ' + self.package}"
        return None


def log_uniform(rng, low, high):
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))
