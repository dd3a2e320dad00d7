"""A search on a stream: several candidates learn the same rows side by side, and the best continues."""

import frugalsvm._scikit_learn  # noqa: F401
from frugalsvm.stream_search.tuner import StreamTuner

__all__ = ["StreamTuner"]
