"""
Support vectors as images
=========================

A model of thirty support vectors that tells three from eight, and the ten with the largest coefficients of
each class. Vectors that were merged are means of examples, and need not look like any of them.
"""

from sklearn.datasets import load_digits

from frugalsvm import BSGDClassifier
from frugalsvm.plots import SupportImagesDisplay

X, y = load_digits(return_X_y=True)
chosen = (y == 3) | (y == 8)
X, y = X[chosen] / 16, y[chosen]
model = BSGDClassifier(budget=30, gamma=0.1, alpha=1e-3, max_iter=5, random_state=0).fit(X[:250], y[:250])
print(f"accuracy on the other rows: {model.score(X[250:], y[250:]):.3f}")
display = SupportImagesDisplay.from_estimator(model, n_columns=10)
