"""
Asking for the right labels
===========================

Two models learn from the same pool, ten labels at a time: one takes the next rows as they come, the other
asks for those that it is least sure of.
"""

import numpy as np

from frugalsvm import LASVMClassifier
from frugalsvm.datasets import make_checkerboard
from frugalsvm.plots import AccuracyCurveDisplay

pool, hidden = make_checkerboard(4_000, random_state=0)
X_test, y_test = make_checkerboard(2_000, random_state=1)


def curve(asks):
    """Numbers of labels and accuracies of a model that asks, or does not."""
    model, unlabeled = LASVMClassifier(C=100.0, gamma=5.0, random_state=0), np.arange(len(pool))
    n_labels, accuracies = [], []
    for round_ in range(40):
        chosen = model.query(pool[unlabeled], n=10) if asks and round_ >= 5 else np.arange(10)
        rows = unlabeled[chosen]
        unlabeled = np.delete(unlabeled, chosen)
        model.teach(pool[rows], hidden[rows], classes=[-1, 1])
        n_labels.append(model.t_)
        accuracies.append(model.score(X_test, y_test))
    return n_labels, accuracies


curves = {"as they come": curve(asks=False), "those it asks for": curve(asks=True)}
display = AccuracyCurveDisplay(
    {name: labels for name, (labels, _) in curves.items()}, {name: values for name, (_, values) in curves.items()}
).plot()
display.ax_.set_xlabel("labels")
