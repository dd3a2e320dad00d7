"""Every constant of the solver, in one place. Defaults are those of the compiled back end; others replace a few."""

import math
from collections.abc import Callable
from typing import NamedTuple

ALL_ROWS = 10**9  # more rows for each feature than there are


class Options(NamedTuple):
    """What a fit may choose, and how each stage goes."""

    # --- what a fit chooses
    tolerance: float = 5e-3  # relative reduction of the objective that is not worth another step
    max_iter: int = 30  # steps of a stage
    unit: float = 1.0  # of the targets: smoothing is in units of it
    tell: Callable | None = None  # called with the problem, the point and the step after each step

    # --- continuation
    subsamples: tuple = ((4, 0.5), (16, 0.25), (64, 0.15))  # rows for each column, smoothing
    least_subsamples: int = 0  # stages on subsamples even where data is small: 0 or 1
    max_share: float = 0.5  # larger subsamples than this share of all rows gain nothing
    smoothings: tuple = (0.1, 0.03)  # on all rows
    rough: float = 0.05  # tolerance of all stages but the last
    max_excess: float = 2.0  # share of the objective that may come from smoothing, in units of the tolerance
    narrower: int = 4  # times that smoothing may be lowered further to get there
    max_total: float = math.inf  # steps on all rows
    stops_early: bool = False  # whether the best of a watched fit is certified here, without further stages
    small: int = 0  # features of all rows: passes over fewer take no longer than launching their operations

    # --- Newton steps
    together: bool = False  # whether the outputs are done when their sum is, not when each is
    cut: float = 1e-4  # slopes below this count as zero: most rows are far on the good side
    near: float = 1e-3  # rows with less than this share of the largest curvature have none
    sample: int = 40  # rows of the Hessian for each feature
    several: int = 2  # with several outputs, which share them, this many times fewer
    most_sample_numbers: int = 2**62  # features of these rows
    cg_steps: int = 25  # conjugate gradients take no more than these
    forcing: float = 0.1  # and stop at this share of the residual
    forcing_several: float = 0.3  # with several outputs
    factor_sample: int = 6  # rows of the preconditioner for each feature
    patience: int = 10  # a preconditioner that needs this many steps more than when it was new is made again
    kept_above: float = math.inf  # features: with more of them, it serves for the next smoothing too

    # --- line search
    line_steps: int = 20
    line_tolerance: float = 1e-2  # of a length, relatively
    line_slope: float = 0.0  # a length is good where the slope is this share of that at the start
    longest: float = math.inf  # step, in units of the one that the curvature suggests

    # --- careful steps, at the end: they also give the bound
    careful_steps: int = 4  # with one output; one with several, or with more features than these
    careful_features: float = math.inf
    careful_gain: float = 0.1  # a careful step that gains this share of the tolerance is followed by another
    careful_cut: float = 1e-6
    careful_sample: int = 2  # times as many rows
    careful_keeps: bool = False  # whether the preconditioner is that of the steps before
    # For losses with a kink, whose dual variables are only as good as the whole linear system is solved, from all
    # rows: a factor for the number of steps, and a share of the residual. None: as for other losses.
    careful_solve: tuple | None = None

    def careful(self, loss) -> "Options":
        """For steps that give a bound."""
        options = self._replace(cut=self.careful_cut, sample=self.careful_sample * self.sample)
        if self.careful_solve is None or loss.is_smooth:
            return options
        times, forcing = self.careful_solve
        return options._replace(
            sample=ALL_ROWS, cg_steps=times * self.cg_steps, forcing=forcing, forcing_several=forcing
        )
