"""The search for gamma and C: downhill, no farther than it pays, and away from what a type is too coarse for."""

import numpy as np

from frugalsvm.cells.choosing import best_choice
from frugalsvm.core.kernels import KERNELS

KERNEL = KERNELS["rbf"](gamma=1.0)


def found(loss, kernel=KERNEL, *, gamma=True, C=None):
    return best_choice(kernel, lambda points: [loss(point.gamma, point.C) for point in points], gamma=gamma, C=C)


def bowl(gamma, C):
    return 1.0 + np.log2(gamma / 0.25) ** 2 + np.log10(C / 3000) ** 2


def test_the_bottom_is_found():
    choice = found(bowl)
    assert 0.125 <= choice.gamma <= 0.5
    assert 1000 <= choice.C <= 10_000


def test_what_is_given_stays():
    assert found(bowl, C=7.0).C == 7.0
    assert found(bowl, gamma=False).gamma == 1.0
    assert found(lambda gamma, C: (np.log10(C) - 3) ** 2 + 1, KERNELS["linear"](), gamma=False).gamma == 0.0


def test_a_flat_valley_is_not_followed():
    """Where a larger C is hardly better, it would only cost digits."""
    assert found(lambda gamma, C: 1.0 + 1e-4 / C).C == 100.0


def test_points_that_a_type_is_too_coarse_for_are_left():
    choice = found(lambda gamma, C: np.inf if C > 0.5 else bowl(gamma, C))
    assert choice.C <= 0.5
    assert found(lambda gamma, C: np.inf).C == 100.0  # nothing is known
