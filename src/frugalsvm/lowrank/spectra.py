"""The frequencies of kernels other than the Gaussian one, as factors of those of the Gaussian one.

By Bochner's theorem, a kernel of differences is the mean of ``cos(nu (x - z))`` over frequencies nu from its spectrum:

* rbf: normal, with variance ``2 gamma``;
* Matern of order c/2: Student's t with c degrees of freedom, which is a normal vector of variance gamma divided by
  ``sqrt(chi2_c / c)``, so that each frequency has a factor;
* laplacian: a Cauchy number of scale gamma for each feature, the quotient of two normal ones; each number has a factor.
"""

import numpy as np

from frugalsvm.core.capabilities import offers
from frugalsvm.core.matern import steepness

_LEAST = 1e-4  # of the divisors: one in 12 500 is smaller, and turns in float32 would have no digits left


def frequency_factors(kernel, n_features, n_components, rng):
    """What normal frequencies of variance ``2 gamma`` are multiplied with; None where they are right as they are.

    Of shape (n_components,), or (n_features, n_components) where features have factors of their own.
    """
    if offers(kernel, "gaussian"):
        return None
    if offers(kernel, "l1"):
        divisors = np.abs(rng.standard_normal((n_features, n_components)))
        return np.sqrt(kernel.gamma / 2.0) / np.maximum(divisors, _LEAST)
    c = steepness(kernel)
    return np.sqrt(0.5) / np.maximum(np.sqrt(rng.chisquare(c, n_components) / c), _LEAST)
