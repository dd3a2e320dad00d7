"""
Taking a corner back
====================

An exact SVM learns a checkerboard and then unlearns all examples of its lower left quarter. On the right the
model is what it would have been without them; nothing was trained again.
"""

import matplotlib.pyplot as plt
import numpy as np

from frugalsvm import IncrementalSVC
from frugalsvm.datasets import make_checkerboard
from frugalsvm.plots import DecisionBoundaryDisplay

X, y = make_checkerboard(400, random_state=0)
corner = np.flatnonzero((X < 0).all(axis=1))

figure, axes = plt.subplots(1, 2, figsize=(9, 4.4), layout="constrained")
model = IncrementalSVC(C=10.0, gamma=5.0).fit(X, y)
DecisionBoundaryDisplay.from_estimator(model, X, grid_resolution=100, ax=axes[0])
axes[0].set_title(f"{model.n_examples_} examples")

model.unlearn(corner)
never = IncrementalSVC(C=10.0, gamma=5.0).fit(np.delete(X, corner, axis=0), np.delete(y, corner))
difference = np.abs(model.decision_function(X) - never.decision_function(X)).max()
DecisionBoundaryDisplay.from_estimator(model, X, grid_resolution=100, ax=axes[1])
axes[1].set_title(f"{model.n_examples_} examples")
print(f"{len(corner)} examples unlearned; largest difference from a model that never saw them: {difference:.1e}")
