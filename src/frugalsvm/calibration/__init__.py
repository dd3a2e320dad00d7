"""From decision values to probabilities that agree with predictions, learned from rows that a model has not learned.

`platt`     sigmoids or softmax of decision values, with a slope on each side of zero: a few numbers that learn on
`spline`    the same with more slopes: a curve of straight pieces
`isotonic`  any increasing function, from the decision values that came last
`agreement` the predicted class is the most probable one, in every single row
`intervals` widths of intervals, from errors of regressors on rows left out
"""

from typing import Any

from frugalsvm.calibration.isotonic import IsotonicCalibration
from frugalsvm.calibration.platt import PlattCalibration
from frugalsvm.calibration.spline import SplineCalibration

__all__ = ["METHODS", "MOST_ROWS", "IsotonicCalibration", "PlattCalibration", "SplineCalibration", "calibration_for"]

_METHODS: dict[str, Any] = {"platt": PlattCalibration, "spline": SplineCalibration, "isotonic": IsotonicCalibration}
METHODS = ("platt", "isotonic")  # that follow streams, too
MOST_ROWS = 4096  # that a model is calibrated with: more make no difference


def calibration_for(method: str) -> Any:
    """A calibration that has not learned anything, by the name of its method."""
    return _METHODS[method]()
