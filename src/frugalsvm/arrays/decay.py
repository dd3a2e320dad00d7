"""Exponentials of kernels that decay, for arrays of any library: zero where those of `frugalsvm.core.fastmath` are."""

from typing import Any

from frugalsvm.core.fastmath import FARTHEST

_LEAST = 2.0**-FARTHEST


def decayed(xp: Any, exponents: Any) -> Any:
    """``exp(exponents)``, exactly 0 up to ``2^-FARTHEST``; in place after the exponential, because blocks are large."""
    values = xp.exp(exponents)
    values *= values > _LEAST
    return values


def matern_value(xp: Any, order: int, s: Any) -> Any:
    """The Matern kernel of order ``order / 2`` for scaled distances."""
    decay = decayed(xp, -s)
    if order == 1:
        return decay
    return (1.0 + s) * decay if order == 3 else (1.0 + s + s * s / 3.0) * decay
