"""
Accuracy along a stream that drifts
===================================

Every batch is predicted first and then learned. The concept changes in the middle: from there on all labels
are swapped. Both learners come back within some three thousand examples. One might expect Pegasos, whose steps
become smaller with the number of examples, to be left behind by the margin perceptron, whose steps do not: in
this stream it is not. It is one run of one stream, not a comparison of the two.
"""

import itertools

from frugalsvm import BSGDClassifier
from frugalsvm.datasets import stream
from frugalsvm.plots import AccuracyCurveDisplay

before = stream("checkerboard", 10_000, chunk_size=500, random_state=0)
after = ((X, -y) for X, y in stream("checkerboard", 10_000, start=10_000, chunk_size=500, random_state=0))
models = {
    "Pegasos": BSGDClassifier("pegasos", budget=100, gamma=5.0, alpha=1e-4),
    "margin perceptron": BSGDClassifier("perceptron", budget=100, gamma=5.0),
}
display = AccuracyCurveDisplay.from_stream(models, itertools.chain(before, after), window=1000, drifts=[10_000])
