"""
Speed against accuracy
======================

The same 8 000 rows for kernel machines of this library, scikit-learn's ``SVC``, boosted trees, and a tree of river
that learns row by row. Farther to the left is faster, farther up is more accurate, on 10 000 rows with clean labels.
Seconds are those of one run on the machine that built this page, when everything is compiled.

The rows are a checkerboard that is turned by 30 degrees, 15 % of the labels wrong. Trees cut along the axes: without
the turn, boosted trees are the most accurate. Real tables are in :doc:`/comparison`.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.svm import SVC

from frugalsvm import ASSETClassifier, BSGDClassifier, LASVMClassifier
from frugalsvm.datasets import make_checkerboard

turn = np.array([[np.cos(np.pi / 6), -np.sin(np.pi / 6)], [np.sin(np.pi / 6), np.cos(np.pi / 6)]])
X, y = make_checkerboard(8_000, noise=0.15, random_state=0)
X_test, y_test = make_checkerboard(10_000, random_state=1)
X, X_test = X @ turn, X_test @ turn


class RiverTree:
    """A Hoeffding tree of river, which takes a row at a time."""

    def __init__(self):
        from river.tree import HoeffdingTreeClassifier

        self.tree = HoeffdingTreeClassifier()

    def fit(self, X, y):
        for row, label in zip(X.tolist(), y.tolist(), strict=True):
            self.tree.learn_one(dict(enumerate(row)), label)
        return self

    def score(self, X, y):
        labels = (self.tree.predict_one(dict(enumerate(row))) for row in X.tolist())
        return sum(label == found for label, found in zip(y.tolist(), labels, strict=True)) / len(y)


models = {
    "BSGDClassifier, 100 SVs": lambda: BSGDClassifier(budget=100, gamma=3.0, alpha=1e-3, random_state=0),
    "ASSETClassifier": lambda: ASSETClassifier(n_components=200, C=10.0, gamma=3.0, random_state=0),
    "LASVMClassifier, nc": lambda: LASVMClassifier("nc", C=10.0, gamma=3.0, random_state=0),
    "SVC": lambda: SVC(C=10.0, gamma=3.0),
    "boosted trees": lambda: HistGradientBoostingClassifier(random_state=0),
    "river's Hoeffding tree": RiverTree,
}
_, axes = plt.subplots(figsize=(4.8, 4), layout="constrained")
for (name, make), marker in zip(models.items(), "os^DvX", strict=True):
    try:
        if name.endswith(("SVs", "ASSETClassifier", "nc")):
            make().fit(X[:300], y[:300])  # compiles, the first time on a machine
        model = make()
    except ImportError:  # river is optional
        continue
    start = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - start
    accuracy = model.score(X_test, y_test)
    print(f"{name:<24} {seconds:7.2f} s {accuracy:7.1%}")
    ours = name.split(",")[0].endswith("Classifier")
    color = "#0072B2" if ours else "#D55E00"
    axes.scatter(seconds, 100 * accuracy, marker=marker, s=70, color=color, label=name, zorder=3)
axes.set(xscale="log", xlabel="seconds to learn 8 000 rows", ylabel="% of clean labels right")
axes.legend(loc="lower left")
axes.grid(alpha=0.3)
