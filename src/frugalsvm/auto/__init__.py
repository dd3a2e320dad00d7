"""Estimators that choose everything themselves: one call from a table to a kernel machine."""

import frugalsvm._scikit_learn  # noqa: F401
from frugalsvm.auto._machine import KERNELS_TRIED
from frugalsvm.auto.classifier import AutoSVC
from frugalsvm.auto.regressor import AutoSVR

__all__ = ["KERNELS_TRIED", "AutoSVC", "AutoSVR"]
