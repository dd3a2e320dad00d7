"""The problem (13) of the paper: a regularized risk over rows of features, for one or several outputs.

``penalty / 2 ||w||^2 + 1/n sum_i weight_i loss(target_i, w . v_i + b)``, minimized over w and the unpenalized b of each
output. Where features are whitened kernel values, ``v_i = W' k_i``, nobody needs them as such: scores are
``k_i . (W w)``, and a gradient is W' times a sum of rows ``k_i``. Rows stay raw, and W is applied to vectors.

Parameters and gradients of an output are one array of ``d + 1`` numbers, the intercept last; without an intercept that
number stays zero. Rows know their back end (`frugalsvm.lowrank.backends`), which has the loops over them.
"""

from typing import Any, NamedTuple

import numpy as np

from frugalsvm.lowrank.duality import lower_bounds
from frugalsvm.lowrank.hessian import Hessian


class Point(NamedTuple):
    parameters: Any  # (n_outputs, d + 1) float64, changed in place
    scores: Any  # (n_outputs, n_rows) float32, changed in place


class Slopes(NamedTuple):
    first: Any  # (n_outputs, n_rows) weighted slopes of the losses
    second: Any  # and their curvatures


class Sample(NamedTuple):
    """Rows with their targets and weights: in random order and in memory, where they are to begin with."""

    rows: Any
    targets: Any
    weights: Any


def regularized(risks, parameters, penalty):
    """Objectives from mean losses."""
    return 0.5 * penalty * (parameters[:, :-1] ** 2).sum(axis=1) + risks


class Problem(NamedTuple):
    rows: Any
    targets: Any  # (n_outputs, n_rows) float32
    weights: Any  # (n_rows,) float32
    loss: Any
    penalty: float
    whitening: Any  # see `frugalsvm.lowrank.whitening`
    intercept: bool

    @property
    def backend(self):
        return self.rows.backend

    @property
    def arrays(self):
        return self.rows.backend.arrays

    @property
    def n_rows(self):
        return self.rows.n_rows

    @property
    def n_outputs(self):
        return self.targets.shape[0]

    @property
    def n_features(self):
        return self.whitening.n_features

    def subsample(self, sample, n_rows):
        """The problem on the first rows of a sample; the same C makes for a larger penalty on fewer rows."""
        return self._replace(
            rows=sample.rows.subsample(n_rows),
            # A copy: those of an output lie together then, and so do the outputs.
            targets=self.arrays.xp.asarray(sample.targets[:, :n_rows], copy=True),
            weights=sample.weights[:n_rows],
            penalty=self.penalty * self.n_rows / n_rows,
        )

    def subsample_options(self, options):
        """How subsamples are solved: as all rows are."""
        return options

    def careful(self):
        """The problem whose solution is certified: this one."""
        return self

    # --- values, slopes and curvature -----------------------------------------------------------------------------

    def scores(self, parameters):
        """Scores of all rows; of a direction, how it changes them."""
        scores = self.rows.scores(self.whitening.raw(parameters[:, :-1]))
        if self.intercept:
            self.backend.add_constants(scores, self.arrays.single(parameters[:, -1]))
        return scores

    def point_at(self, parameters):
        parameters = self.arrays.xp.asarray(parameters, copy=True)
        return Point(parameters, self.scores(parameters))

    def objectives(self, point) -> np.ndarray:
        """The objective of each output, with the loss as it is."""
        risks = self.backend.total(self, point.scores) / self.n_rows
        return self.arrays.host(regularized(risks, point.parameters, self.penalty))

    def excess(self, point, smoothing) -> np.ndarray:
        """What smoothing adds to the objective of each output."""
        return self.arrays.host(self.backend.excess(self, point.scores, smoothing)) / self.n_rows

    def slopes(self, point, smoothing, options) -> Slopes:
        """Slopes and curvatures of all smoothed losses; slopes up to ``options.cut`` count as zero."""
        return Slopes(*self.backend.slopes(self, point.scores, smoothing, options.cut))

    def gradient(self, parameters, slopes):
        """Gradient of the smoothed objective, ``(n_outputs, d + 1)``."""
        sums = self.whitening.features(self.rows.gradient(slopes.first)) / self.n_rows
        totals = self.backend.totals(slopes.first) / self.n_rows if self.intercept else 0 * parameters[:, -1:]
        return self.arrays.xp.concat((sums + self.penalty * parameters[:, :-1], totals), axis=1)

    def hessian(self, slopes, options, rng):
        """The curvature of the objective, from a sample of the rows."""
        return Hessian(self, slopes.second, options, rng)

    # --- steps ----------------------------------------------------------------------------------------------------

    def along(self, point, changes, smoothing, start, lengths, active):
        """Sums, over all rows, of slopes and curvatures of the losses along a step, one for each output, on the host.

        Outputs that are not ``active`` may be left out. ``start``, the sum at the beginning, is for back ends that see
        some rows only.
        """
        return self.backend.along(self, point.scores, changes, smoothing, lengths, active)

    def move(self, point, step):
        """Take a step."""
        lengths = self.arrays.asarray(step.lengths)
        point.parameters[:] += lengths[:, None] * step.directions
        self.backend.add_scaled(point.scores, self.arrays.single(lengths), step.changes)

    def gains(self, before, reached, step):
        """What a step has made of the objectives."""
        return before - reached

    def certify(self, point, step, reached):
        """Objectives after a careful step, and what no model can be below.

        After a full Newton step from slopes g with curvatures h along changes c of the scores, slopes would be
        ``g + h c`` if losses were quadratic. These, negated, are nearly optimal dual variables: their weighted rows
        sum to what the weight vector is, as far as the linear system was solved. Uses up the step.
        """
        duals = step.changes
        duals *= step.slopes.second
        duals += step.slopes.first
        duals *= -1
        return reached, np.minimum(lower_bounds(self, duals), reached)
