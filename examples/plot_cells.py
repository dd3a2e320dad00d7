"""
A kernel machine in every cell
==============================

`LocalSVC` cuts the plane into cells of about as many rows each, and has a kernel machine in every one of them. Cells
are small where there are many rows. On the left is one tree: the boundary breaks where two cells meet, since the two
machines know nothing of each other. On the right is the average of three trees, which cut elsewhere: the breaks become
small. Leave-one-out errors, which come with the fit, say what that is worth: nothing in this plane, where few rows are
near a break. In tables of many columns more rows are near a border. C and gamma are given for the sake of the picture;
without them, the model chooses.
"""

import matplotlib.pyplot as plt
import numpy as np

from frugalsvm import LocalSVC
from frugalsvm.plots import CellsDisplay

rng = np.random.default_rng(0)
arm, turn = rng.integers(2, size=3000), 3 * np.pi * np.sqrt(rng.uniform(0.03, 1, size=3000))
angle = turn + np.pi * arm
X = turn[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]) + 0.6 * rng.normal(size=(3000, 2))
y = np.array(["first arm", "second arm"])[arm]

figure, axes = plt.subplots(1, 2, figsize=(10, 5), layout="constrained", sharey=True)
for ax, n_trees, name in zip(axes, (1, 3), ("One tree", "Three trees"), strict=True):
    model = LocalSVC(C=3.0, gamma=0.05, cell_size=100, n_trees=n_trees, random_state=0).fit(X, y)
    CellsDisplay.from_estimator(model, X, y=y, ax=ax, colorbar=False, plot_points=1000, point_kw={"s": 6})
    ax.set(title=f"{name}: leave-one-out error {model.loo_error_:.1%}", aspect="equal")
    print(f"{name}: {model.n_cells_} cells")
axes[1].set_ylabel("")
