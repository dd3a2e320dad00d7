"""The compiled online dual SVMs do what the oracles do, example after example, in later passes and in FINISH."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from oracles.lasvm import LASVMOracle, hinge_primal, ramp_dual, ramp_primal
from oracles.lasvm import dual as hinge_dual
from oracles.lasvm_biased import BiasedLASVMOracle
from support import blobs, kernel_part

from frugalsvm.core.expansion import N_MAINTENANCE, N_SEEN, N_SLOTS
from frugalsvm.dual.biased import Biased
from frugalsvm.dual.learn import finished, learn, new_machine, remembered
from frugalsvm.dual.online import HINGE_LOSS, RAMP_FILTER, RAMP_LOSS, Online
from frugalsvm.dual.state import (
    ADMITTED,
    ADMITTED_LEFT,
    ADMITTED_RIGHT,
    BIAS,
    CLEANED_LEFT,
    CLEANED_RIGHT,
    HINGE,
    N_MEMBERS,
    N_REPROCESS,
    N_SUPPORT,
    OVERLAP,
)

N_ROWS = 150
TOL = 1e-9  # gradients are of the order of 1
LOSSES = {"g": HINGE_LOSS, "full": HINGE_LOSS, "nc": RAMP_LOSS, "i": RAMP_FILTER}


@dataclass(frozen=True)
class Setting:
    """Parameters of a learner without a bias, for the engine and for its oracle."""

    variant: str = "g"
    pairs: bool = True
    C: float = 2.0
    s: float = -0.5
    tau: float = 1e-3
    clean_every: int = 20
    max_idle: int = 10
    warm_up: int = 5
    kernel: str = "rbf"
    gamma: float = 0.5
    coef0: float = 1.0
    degree: int = 2

    def learner(self):
        every = 0 if self.variant == "full" else self.clean_every
        return Online(
            kernel_part(self), self.C, LOSSES[self.variant], self.s, self.warm_up, self.tau, self.pairs, every,
            self.max_idle
        )

    def oracle(self):
        return LASVMOracle(
            self.variant,
            C=self.C,
            s=self.s,
            kernel=self.kernel,
            gamma=self.gamma,
            degree=self.degree,
            coef0=self.coef0,
            steps="pair" if self.pairs else "single",
            tau=self.tau,
            clean_every=self.clean_every,
            max_non_sv=self.max_idle,
            warm_up=self.warm_up,
        )


@dataclass(frozen=True)
class BiasedSetting:
    """The same for LASVM."""

    pairs: bool = True
    C: float = 2.0
    tau: float = 1e-3
    kernel: str = "rbf"
    gamma: float = 0.5
    coef0: float = 1.0
    degree: int = 2

    def learner(self):
        return Biased(kernel_part(self), self.C, self.tau, self.pairs)

    def oracle(self):
        return BiasedLASVMOracle(
            self.C, self.kernel, self.gamma, self.degree, self.coef0, self.tau, second_order=self.pairs
        )


class Race:
    """An engine that started with few slots and an oracle on the same stream, compared after every example.

    The engine numbers examples by when they were seen, over all passes; so does the oracle, but for members that are
    seen again.
    """

    def __init__(self, setting, seed=1, n_rows=N_ROWS, n_features=2):
        self.X, self.labels = blobs(n_rows, n_features, 2, seed)
        self.setting, self.learner, self.oracle = setting, setting.learner(), setting.oracle()
        self.machine = new_machine(n_features, 1, float, 0, n_slots=16)
        self.boxes = np.full(n_rows, setting.C)
        self.slot_of_row = remembered(n_rows)
        self.row_of_id = {}  # which row an example of the oracle is
        self.n_seen = self.n_reprocess = self.n_gone = 0

    def visit(self, row):
        """Both learn a row; returns the oracle's step, and whether it was a member already."""
        order = np.array([row])
        self.machine = learn(self.learner, self.machine, self.X, self.labels, self.boxes, order, self.slot_of_row)
        self.n_seen += 1
        known = [id for id in self.oracle.ids if self.row_of_id[id] == row]
        if known:
            step = self.oracle.relearn(known[0])
        else:
            step = self.oracle.learn_one(self.X[row], 2 * int(self.labels[row]) - 1)
            self.row_of_id[self.oracle.t] = row
        self.compare()
        return step, bool(known)

    def members(self):
        """The engine's members by row, in increasing order, and their slots."""
        dual = self.machine.dual
        slots = np.flatnonzero(dual.bound[0, : dual.members.counts[N_SLOTS]])
        order = np.argsort(dual.row[slots])
        return dual.row[slots][order], slots[order]

    def compare(self):
        oracle, dual = self.oracle, self.machine.dual
        rows, slots = self.members()
        theirs = np.array([self.row_of_id[id] for id in oracle.ids], int)
        order = np.argsort(theirs)
        np.testing.assert_array_equal(rows, theirs[order])
        np.testing.assert_array_equal(dual.members.rows[slots], self.X[rows])
        np.testing.assert_array_equal(dual.truth[0, slots], oracle.y[order])
        np.testing.assert_allclose(dual.members.coef[0, slots], oracle.alpha[order], rtol=0, atol=TOL)
        np.testing.assert_allclose(dual.gradient[0, slots], oracle.g[order], rtol=0, atol=TOL)
        np.testing.assert_array_equal(dual.bound[0, slots], (oracle.low + oracle.high)[order])
        assert dual.members.counts[N_SEEN] == self.n_seen
        assert dual.tallies[0, N_SUPPORT] == oracle.n_sv
        assert dual.tallies[0, N_MEMBERS] == len(oracle.ids)
        if isinstance(self.setting, BiasedSetting):
            assert dual.sums[0, BIAS] == pytest.approx(oracle.b, abs=TOL)
            assert abs(dual.members.coef[0].sum()) <= TOL
        else:
            self.compare_gap()

    def compare_gap(self):
        oracle, dual, C = self.oracle, self.machine.dual, self.setting.C
        gap = dual.sums[0, HINGE] - dual.sums[0, OVERLAP]
        assert gap == pytest.approx(oracle.duality_gap, rel=TOL, abs=TOL)
        model = oracle.gram, oracle.y, oracle.alpha
        direct = hinge_primal(*model, C) - hinge_dual(*model)
        if self.setting.variant == "nc":
            ramp = C, self.setting.s, oracle.flipped
            direct = ramp_primal(*model, *ramp) - ramp_dual(*model, *ramp)
        assert gap == pytest.approx(direct, rel=TOL, abs=TOL)
        names = "n_admitted", "admitted_left", "admitted_right", "cleaned_left", "cleaned_right"
        places = ADMITTED, ADMITTED_LEFT, ADMITTED_RIGHT, CLEANED_LEFT, CLEANED_RIGHT
        assert [dual.tallies[0, place] for place in places] == [getattr(oracle, name) for name in names]
