"""What machines in cells warn of."""

from operator import mul

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from frugalsvm.cells.solver import Cells
from frugalsvm.core.capabilities import offers
from frugalsvm.estimators.caller_warnings import warn_caller

__all__ = ["warn_if_coefficients_cancel"]

_LARGEST_NOISE = 0.3


def warn_if_coefficients_cancel(estimator, trees) -> None:
    """Warn of machines in cells whose sums of terms are larger than what is left of them, in units of -1 and +1.

    Kernel values are at most 1, and each has an error of about the last digit of its type, independent of the others.
    """
    trees = [cells for cells in trees if isinstance(cells, Cells)]
    if not trees or not offers(estimator._kernel, "shift_invariant"):
        return
    sizes = [float(max(cells.coef.max(), -cells.coef.min())) for cells in trees]
    digits = [np.finfo(cells.coef.dtype).eps * float(cells.tree.sizes.max()) ** 0.5 for cells in trees]
    if max(map(mul, sizes, digits)) > _LARGEST_NOISE:
        largest = max(sizes)
        wider = "" if estimator.dtype == "float64" else ", or set dtype='float64'"
        warn_caller(
            f"{type(estimator).__name__} has coefficients as large as {largest:.1e} with C={estimator.C_:g}, so that "
            f"predictions have few right digits: lower C{wider}.",
            ConvergenceWarning,
        )
