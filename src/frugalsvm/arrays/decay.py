"""Exponentials of kernels that decay, for arrays of any library: zero where those of `frugalsvm.core.fastmath` are."""

from typing import Any

from frugalsvm.core.fastmath import FARTHEST

__all__ = ["decayed"]

_LEAST = 2.0**-FARTHEST


def decayed(xp: Any, exponents: Any) -> Any:
    """``exp(exponents)``, exactly 0 up to ``2^-FARTHEST``; in place after the exponential, because blocks are large."""
    values = xp.exp(exponents)
    values *= values > _LEAST
    return values
