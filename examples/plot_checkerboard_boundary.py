"""
A hundred support vectors against noise
=======================================

A stream of checkerboard points, in which 15 % of the labels are wrong, goes through a model of 100 support
vectors. The picture shows its decision values, its boundary, and where the support vectors ended: merged
vectors are no examples, but points between them.
"""

from frugalsvm import BSGDClassifier
from frugalsvm.datasets import make_checkerboard, stream
from frugalsvm.plots import DecisionBoundaryDisplay

model = BSGDClassifier(budget=100, gamma=5.0, alpha=1e-5, random_state=0)
for X, y in stream("noisy_checkerboard", 100_000, chunk_size=10_000, random_state=0):
    model.partial_fit(X, y)

X_test, y_test = make_checkerboard(5_000, random_state=1)
print(f"accuracy on clean labels: {model.score(X_test, y_test):.3f}, gradient error: {model.gradient_error_:.3f}")
display = DecisionBoundaryDisplay.from_estimator(model, X_test, grid_resolution=150)
