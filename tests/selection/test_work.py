"""What fits into a limit of time: by what was measured before."""

import math

from frugalsvm.selection.task import Clock, fit_work, largest_within


class Time:
    def __init__(self):
        self.seconds = 0.0

    def __call__(self):
        return self.seconds


def test_without_a_limit_all_fits():
    clock = Clock()
    assert clock.left == math.inf
    assert clock.fits(1e9, reserve=1e9)


def test_a_reserve_is_kept():
    now = Time()
    clock = Clock(10.0, now)
    now.seconds = 4.0
    assert clock.spent == 4.0
    assert clock.fits(5.0, reserve=1.0)
    assert not clock.fits(5.0, reserve=1.5)


def test_estimates_learn_how_fast_the_machine_is():
    clock = Clock(10.0)
    assert clock.seconds_for("ridge", 2.0) == 2.0
    for seconds in (90.0, 6.0, 6.0):  # at first, code is compiled
        clock.measure("ridge", 2.0, seconds)
    assert clock.seconds_for("ridge", 2.0) == 6.0
    assert clock.seconds_for("solved", 2.0) == 6.0  # for lack of anything better
    clock.measure("solved", 1.0, 2.0)
    assert clock.seconds_for("solved", 2.0) == 4.0


def test_the_largest_size_within_a_limit():
    sizes = (64, 128, 256)
    assert largest_within(sizes, float, 200.0) == 128
    assert largest_within(sizes, float, 10.0) == 64
    assert fit_work(1000, 128, 1) < fit_work(1000, 256, 1) < fit_work(1000, 256, 5)
