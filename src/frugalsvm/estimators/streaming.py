"""Which estimators learn streams."""

from typing import Any

__all__ = ["learns_streams"]


def learns_streams(model: Any) -> bool:
    """Whether a model can learn a stream batch by batch, from its first rows on.

    Machines in cells have `partial_fit` as well, which adds rows to what a fit has made.
    """
    return hasattr(model, "partial_fit") and not getattr(model, "_first_batch_decides", False)
