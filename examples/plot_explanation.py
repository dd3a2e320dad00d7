"""
Why did it say that?
====================

A kernel machine learns to tell two kinds of wine apart, class 1 from the others. Exact Shapley values share each
decision value out among the columns: on the left those of one wine, from the value of a usual wine to its own; on the
right those of all test wines, a point for each, whose color tells whether the value in the column is high or low.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from frugalsvm import LASVMClassifier
from frugalsvm.explain import shapley_values
from frugalsvm.plots import ExplanationDisplay

wine = load_wine(as_frame=True)
X = wine.data.rename(columns=lambda name: name.replace("_", " "))
X_train, X_test, y_train, y_test = train_test_split(X, wine.target == 1, random_state=0)
model = make_pipeline(StandardScaler(), LASVMClassifier(C=1.0, gamma=0.03, random_state=0)).fit(X_train, y_train)

found = shapley_values(model, X_test, background=X_train[:100])
figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.2), layout="constrained")
ExplanationDisplay(found).plot(left, kind="waterfall", row=0, n_features=7)
ExplanationDisplay(found).plot(right, kind="beeswarm", n_features=8)
print(f"accuracy {model.score(X_test, y_test):.3f}")
print(found.text(0, n_features=5))
