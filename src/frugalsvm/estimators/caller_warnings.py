"""Warnings that point at the line of a user's program, however deep in the package they come from."""

import sys
import warnings
from pathlib import Path

__all__ = ["is_compared", "warn_caller"]

_PACKAGE = str(Path(__file__).parents[1])


def is_compared() -> bool:
    """Whether a search or cross-validation of scikit-learn is fitting one of its candidates."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_name != "_fit_and_score":
        frame = frame.f_back  # type: ignore[assignment]
    return frame is not None


def warn_caller(message: str, category: type[Warning]) -> None:
    """A warning that points at the first caller outside of this package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
