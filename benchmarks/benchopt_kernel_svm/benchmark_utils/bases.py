"""What the solvers share. They differ in how a longer run comes about, and count it alike.

The unit of work of a learner that goes through rows is a sixteenth of a pass. Runs get longer by doubling: 1, 2, 4, 8,
16 (one pass), 32 (two passes) and so on, up to 16 passes.
"""

import numpy as np
from benchopt import BaseSolver

from benchmark_utils.stopping import Enough
from benchmark_utils.threads import use_one_thread

__all__ = ["PARTS", "ByPasses", "ByTolerance", "IterativeSolver", "OnlineSolver"]

PARTS = 16  # of a pass
MOST_PASSES = 16
LEAST_TOLERANCE = 1e-5


class IterativeSolver(BaseSolver):
    """Base of all solvers: they remember the problem, its rows in random order, and what was learned last.

    Subclasses set ``max_rows`` where more would take hours, and define ``run`` and ``learned()``, which returns what
    ``Objective.evaluate_result`` takes; ``self.model`` is None before anything was learned.
    """

    max_rows = None

    def skip(self, X, y, C, gamma):
        if self.max_rows is not None and len(y) > self.max_rows:
            return True, f"more than {self.max_rows} rows: time or memory grows with the square of their number"
        return False, None

    def set_objective(self, X, y, C, gamma):
        use_one_thread()
        self.seed = self.get_seed(use_repetition=True) % 2**31
        order = np.random.default_rng(self.seed).permutation(len(y))
        self.X, self.y, self.C, self.gamma = X[order], y[order], C, gamma
        self.model = None

    @property
    def alpha(self):
        """The penalty lambda that corresponds to C."""
        return 1.0 / (self.C * len(self.y))

    def learned(self):
        raise NotImplementedError

    def get_result(self):
        if self.model is None:
            return {"vectors": self.X[:0], "coefficients": np.zeros(0), "intercept": 0.0}
        return self.learned()

    def get_next(self, stop_val):
        return max(1, 2 * stop_val)


class OnlineSolver(IterativeSolver):
    """Base of learners with ``partial_fit``: one run, which is looked at from time to time.

    Subclasses define ``new_model()``. A new pass takes the sixteenths in another order.
    """

    sampling_strategy = "callback"
    stopping_criterion = Enough(MOST_PASSES * PARTS)
    max_passes = MOST_PASSES

    def new_model(self):
        raise NotImplementedError

    def warm_up(self):
        self.run_once(1)

    def rows(self):
        """What the model learns from; a solver on explicit features maps the rows here."""
        return self.X

    def run(self, callback):
        self.model, model, rows = None, self.new_model(), self.rows()
        bounds = np.linspace(0, len(self.y), PARTS + 1).astype(int)
        rng, parts = np.random.default_rng(self.seed), []
        n_left = self.max_passes * PARTS
        while callback() and n_left > 0:
            if not parts:
                parts = rng.permutation(PARTS).tolist()
            k = parts.pop()
            part = slice(bounds[k], bounds[k + 1])
            if part.start < part.stop:  # there may be fewer rows than parts
                model.partial_fit(rows[part], self.y[part], classes=[-1, 1])
                self.model = model
            n_left -= 1


class ByPasses(IterativeSolver):
    """Base of learners that begin anew for every longer run: on the first sixteenths of the rows, or in several passes.

    Subclasses define ``new_model(n_passes)`` with a ``fit``.
    """

    sampling_strategy = "iteration"
    stopping_criterion = Enough(MOST_PASSES * PARTS)

    def new_model(self, n_passes):
        raise NotImplementedError

    def warm_up(self):
        self.run_once(1)

    def run(self, n_parts):
        self.model = None
        n_rows = len(self.y) * min(n_parts, PARTS) // PARTS
        if len(np.unique(self.y[:n_rows])) == 2:
            self.model = self.new_model(max(1, n_parts // PARTS)).fit(self.X[:n_rows], self.y[:n_rows])


class ByTolerance(IterativeSolver):
    """Base of batch solvers, which are run with smaller and smaller tolerances.

    Subclasses define ``new_model(tol)`` with a ``fit``.
    """

    sampling_strategy = "tolerance"
    stopping_criterion = Enough(LEAST_TOLERANCE)

    def new_model(self, tol):
        raise NotImplementedError

    def warm_up(self):
        self.run_once(0.5)

    def run(self, tol):
        # The first tolerance of benchopt is infinite: nothing is learned.
        self.model = None if tol > 1 else self.new_model(tol).fit(self.X, self.y)

    def get_next(self, stop_val):
        return min(0.5, stop_val / 4)
