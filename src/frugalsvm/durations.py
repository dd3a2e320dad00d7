"""Durations as users write them: 90, "90s", "5min", "1h"."""

import numbers
import re
from typing import Any

from frugalsvm.exceptions import ParameterError

__all__ = ["parsed_seconds"]

_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_A_TIME = "a number of seconds, or a time such as '90s', '5min' or '1h'"


def parsed_seconds(name: str, value: Any) -> float | None:
    """The seconds behind a limit such as 60 or "5min"; None is no limit.

    >>> parsed_seconds("time_budget", "2min")
    120.0
    """
    if value is None:
        return None
    if isinstance(value, numbers.Real) and not isinstance(value, bool) and 0 < float(value) < float("inf"):
        return float(value)
    match = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*(s|m|min|h|)\s*", value) if isinstance(value, str) else None
    if match is None or not float(match[1]) > 0:
        raise ParameterError(name, value, _A_TIME)
    return float(match[1]) * _UNITS[match[2]]
