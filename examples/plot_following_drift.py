"""
A stream that changes while it is learned
=========================================

Clouds of points that move all the time, away from where they began and into each other. Every batch is predicted first
and then learned. A model that weighs all rows alike trusts what it saw long ago; ``half_life="auto"`` finds out by
itself how fast to forget. Both have 100 support vectors and read each row once. On streams that change seldom the two
are about as good.
"""

from frugalsvm import BSGDClassifier
from frugalsvm.datasets import DriftStream
from frugalsvm.plots import AccuracyCurveDisplay

stream = DriftStream("moving_rbf", "incremental", changes=10_000, random_state=0)
batches = [stream.take(200) for _ in range(200)]
models = {
    'half_life="auto"': BSGDClassifier(budget=100, gamma=5.0, half_life="auto"),
    "all rows count alike": BSGDClassifier(budget=100, gamma=5.0, alpha=1e-4),
}
display = AccuracyCurveDisplay.from_stream(models, batches, window=1_000)
