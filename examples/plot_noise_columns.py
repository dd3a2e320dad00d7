"""
Columns of noise
================

Three columns decide the class, and more and more columns of noise are added to them. A kernel that takes all columns
alike drowns in the noise: rows of one kind are no longer close to each other. With ``metric="diag"`` the model learns
a factor for each column, and the factors of the noise become small. Boosted trees, which choose one column at a time,
mind the noise far less than the plain kernel. Without noise there is nothing to gain here, and the plain kernel has
the smallest error. The picture is of one run on generated rows; on the right are the importances of columns in the last
table.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from frugalsvm import ASSETClassifier
from frugalsvm.plots import MetricDisplay

N_TRAIN, N_TRUE, NOISE = 2000, 3, (0, 10, 20, 40)
rng = np.random.default_rng(0)
X = rng.normal(size=(N_TRAIN + 3000, N_TRUE + max(NOISE)))
score = np.sin(2 * X[:, 0] + X[:, 1]) + 0.7 * X[:, 1] * X[:, 2]
y = (score + 0.3 * rng.normal(size=len(X)) > 0).astype(int)
names = [f"true {i}" for i in range(1, N_TRUE + 1)] + [f"noise {i}" for i in range(1, max(NOISE) + 1)]

strengths = [1.0, 10.0, 100.0]  # the best is chosen on training rows
models = {
    "plain": ASSETClassifier(n_components=256, C=strengths, random_state=0),
    'metric="diag"': ASSETClassifier(n_components=256, C=strengths, metric="diag", random_state=0),
    "boosted trees": HistGradientBoostingClassifier(random_state=0),
}
errors = {name: [] for name in models}
for n_noise in NOISE:
    columns = X[:, : N_TRUE + n_noise]
    for name, model in models.items():
        model.fit(columns[:N_TRAIN], y[:N_TRAIN])
        errors[name].append(100 * (1 - model.score(columns[N_TRAIN:], y[N_TRAIN:])))

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained", width_ratios=(3, 2))
styles = (("#D55E00", "s", "--"), ("#0072B2", "o", "-"), ("0.45", "^", ":"))
for (name, values), (color, marker, dashes) in zip(errors.items(), styles, strict=True):
    left.plot(NOISE, values, color=color, marker=marker, linestyle=dashes, label=name)
left.set(xlabel="Columns of noise", ylabel="Test error, %", ylim=(0, None), xticks=NOISE)
left.grid(alpha=0.3, linewidth=0.6)
left.legend(frameon=False)

MetricDisplay.from_estimator(models['metric="diag"'], feature_names=names, n_features=5, ax=right)
for name, values in errors.items():
    print(f"{name:14} {values[0]:.1f} % without noise, {values[-1]:.1f} % with {NOISE[-1]} columns of it")
