"""Named levels of processors that machine code in wheels is made for, and which of them a processor reaches."""

import platform
from collections.abc import Collection
from typing import NamedTuple


class Baseline(NamedTuple):
    """A level of processors, by the names that LLVM has for it and for its features."""

    name: str
    cpu: str
    features: str  # beyond those of the cpu; without any, Numba would take those of the processor that compiles
    needs: frozenset[str]

    def lacking(self, features: Collection[str]) -> list[str]:
        """The features that a processor with these does not have."""
        return sorted(self.needs.difference(features))

    @property
    def environment(self) -> dict[str, str]:
        """What has Numba compile for it."""
        return {"NUMBA_CPU_NAME": self.cpu, "NUMBA_CPU_FEATURES": self.features}


_V2 = {"cmov", "cx16", "cx8", "fxsr", "mmx", "popcnt", "sahf", "sse", "sse2", "sse3", "sse4.1", "sse4.2", "ssse3"}
_V3 = frozenset(_V2 | {"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave"})
_V4 = _V3 | {"avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"}
_X86 = (Baseline("x86-64-v4", "x86-64-v4", "+avx512f", _V4), Baseline("x86-64-v3", "x86-64-v3", "+avx2", _V3))
# What every 64-bit ARM processor has: code with the instructions of newer ones was not faster.
_ARM = (Baseline("arm64", "generic", "+neon", frozenset()),)
# By the architecture as Python names it; the best one first.
BASELINES = {"x86_64": _X86, "AMD64": _X86, "aarch64": _ARM, "arm64": _ARM}


def baselines_here() -> tuple[Baseline, ...]:
    """Those of this architecture, the best one first."""
    return BASELINES.get(platform.machine(), ())
