"""
What a budget costs
===================

The error on test rows against the number of support vectors, for merging and for removal, with the same gamma
and alpha. In this run, 40 vectors with merging have a smaller error than 320 with removal. Beyond 80
vectors merging gains nothing more here.
"""

from frugalsvm import BSGDClassifier
from frugalsvm.datasets import make_checkerboard
from frugalsvm.plots import ErrorVsSupportDisplay

X, y = make_checkerboard(30_000, random_state=0)
X_test, y_test = make_checkerboard(5_000, random_state=1)
budgets = (10, 20, 40, 80, 160, 320)
models = {
    maintenance: [
        BSGDClassifier(maintenance=maintenance, budget=budget, gamma=5.0, alpha=1e-5, random_state=0).fit(X, y)
        for budget in budgets
    ]
    for maintenance in ("merge", "remove")
}
display = ErrorVsSupportDisplay.from_estimators(models, X_test, y_test)
