"""From decision values to probabilities that agree with predictions, learned from rows that a model has not learned.

`platt`     sigmoids or softmax of decision values, with a slope on each side of zero: a few numbers that learn on
`isotonic`  any increasing function, from the decision values that came last
`agreement` the predicted class is the most probable one, in every single row
`intervals` widths of intervals, from errors of regressors on rows left out
"""

from typing import Any

from frugalsvm.calibration.isotonic import IsotonicCalibration
from frugalsvm.calibration.platt import PlattCalibration

__all__ = ["METHODS", "MOST_ROWS", "IsotonicCalibration", "PlattCalibration", "calibration_for"]

_METHODS: dict[str, Any] = {"platt": PlattCalibration, "isotonic": IsotonicCalibration}
METHODS = tuple(_METHODS)
MOST_ROWS = 4096  # that a model is calibrated with: more make no difference


def calibration_for(method: str) -> Any:
    """A calibration that has not learned anything: "platt" or "isotonic"."""
    return _METHODS[method]()
