"""Conformal prediction on streams: sets, intervals and alarms whose promised rates hold, also when the stream drifts.

>>> from frugalsvm import BSGDClassifier
>>> from frugalsvm.conformal import ConformalClassifier
>>> from frugalsvm.datasets import DriftStream
>>> model = ConformalClassifier(BSGDClassifier(budget=100, gamma=5.0, alpha=1e-4), coverage=0.9)
>>> for X, y in DriftStream("checkerboard", random_state=0).chunks(10_000, 100):
...     model = model.partial_fit(X, y)
>>> bool(0.895 < model.coverage_ < 0.905)
True
"""

from frugalsvm.conformal.classifier import ConformalClassifier
from frugalsvm.conformal.delay import DelayBuffer
from frugalsvm.conformal.detector import ConformalDetector
from frugalsvm.conformal.regressor import ConformalRegressor

__all__ = ["ConformalClassifier", "ConformalDetector", "ConformalRegressor", "DelayBuffer"]
