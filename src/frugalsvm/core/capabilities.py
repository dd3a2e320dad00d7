"""What parts offer and need, declared as class attributes, and the one refusal where the two do not meet.

A kernel says what it offers (nothing, unless it says so):

=================== =================================================================================================
``shift_invariant`` K(x, z) depends on x - z only: rows may be relative to an origin (``core/seen_rows.py``)
``gaussian``        K(x, z) = exp(-gamma ||x - z||^2): vectors can be merged
``spectral``        Fourier features can be drawn (``lowrank/spectra.py``); a Gaussian kernel offers it anyway
``by_feature``      K(x, z) is a function of a sum over features (``core/feature_sums.py``); what does not say so is one
                    of inner products or Euclidean distances, and offers ``products``
``l1``              that sum is sum_f |x_f - z_f|, and gamma is a factor of it
``nonnegative``     K(x, z) is a kernel for features that are not negative only
``multiplicative``  K(x, z) is a product of factors in (0, 1], one for each feature (``core/shapley.py``)
``additive``        K(x, z) is a sum of terms, one for each feature
=================== =================================================================================================

A part that works with some kernels only has ``needs``, the names of what it needs. Estimators ask `check_kernel`, so
that a kernel or a policy of somebody's own is refused, or not, like those of the library.
"""

from collections.abc import Callable

from frugalsvm.core.kernels import KERNELS

_WORDS = {
    "shift_invariant": "a kernel of differences",
    "gaussian": "a Gaussian kernel",
    "spectral": "a kernel whose spectrum is known",
    "products": "a kernel of inner products or Euclidean distances",
}

_IMPLIED = {"spectral": "gaussian", "by_feature": "l1"}  # who offers the second offers the first


def offers(kernel, name: str) -> bool:
    """Whether a kernel, the part or its class, offers something."""
    part = kernel if isinstance(kernel, type) else type(kernel)
    if name == "products":
        return not offers(part, "by_feature")
    return bool(getattr(part, name, False)) or (name in _IMPLIED and offers(part, _IMPLIED[name]))


def needs_of(part) -> tuple[str, ...]:
    """What a part, or its class, needs of the kernel."""
    return getattr(part, "needs", ())


def kernels_that_offer(needs) -> list[str]:
    """The registered kernels that have all of it."""
    return [name for name, kernel in KERNELS.items() if all(offers(kernel, need) for need in needs)]


def check_kernel(parameter: str, value: str | bool, needs, kernel: str, instead: str | Callable[[], str]) -> None:
    """Refuse a registered kernel that does not offer what ``parameter=value`` needs; ``instead`` says what to do."""
    for need in needs:
        if not offers(KERNELS[kernel], need):
            able = " or ".join(f"kernel={name!r}" for name in kernels_that_offer(needs)) or "no kernel"
            advice = instead if isinstance(instead, str) else instead()
            raise ValueError(
                f"{parameter}={value!r} works with {able} only, not with {kernel!r}; {advice} "
                f"({value} needs {_WORDS[need]})."
            )
