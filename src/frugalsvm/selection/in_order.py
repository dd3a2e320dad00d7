"""Gamma for a stream that may change: chosen on its first rows in their order, each judged before it is learned.

Rows of a stream are like those just before them: judged in random order, as elsewhere (`frugalsvm.selection.widths`),
narrow kernels seem the best, and later rows are far from all that was learned. Here machines with several widths learn
the rows as they come, with all half-lives at once (`frugalsvm.core.experts`). Of those that make about as few mistakes
as the best, up to half a standard error, the widest is taken: it will know more about rows that are still to come. The
first rows, about which all of them know nothing yet, do not count.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import issparse

from frugalsvm.arrays.namespace import is_torch, on_host
from frugalsvm.budgeted.norm_constraint import Unconstrained
from frugalsvm.budgeted.sgd import Parts, learn
from frugalsvm.core.experts import new_experts
from frugalsvm.core.losses import MARGIN
from frugalsvm.core.moments import moments_of, scale_gamma
from frugalsvm.core.schedules import Perceptron
from frugalsvm.selection.widths import Choice, has_width

_LEAST_ROWS = 500
ENOUGH_ROWS = 1500  # of fewer, ridge machines tell more (letter: 84.1 % right with 1000 rows, where this has 78.0 %)
_MOST_ROWS = 2000
_NOT_JUDGED = 0.2  # of the rows
_STANDARD_ERRORS = 0.5
_FACTORS = 2.0 ** np.arange(-6, 7)  # of what is usual


def choice_in_order(
    kernel: Any, X: Any, targets: Callable[[], np.ndarray], alpha: float, new_store: Callable[..., tuple]
) -> Choice | None:
    """Gamma for the first rows, as the kernel will see them; None where they are too few, or have no width.

    Parameters
    ----------
    kernel : type
    X : array or CSR matrix
    targets : callable
        Returns signs of classes, shape (n_outputs, n).
    alpha : float
        Strength of the regularization.
    new_store : callable
        ``new_store(n_features, n_outputs, dtype, n_experts=)`` returns a policy and a model that has learned nothing.
    """
    if not has_width(kernel) or X.shape[0] < _LEAST_ROWS:
        return None
    X = on_host(X[:_MOST_ROWS]) if is_torch(X) else X[:_MOST_ROWS]
    signs = targets()[:, : X.shape[0]]
    labels = (signs[0] > 0).astype(np.int64) if len(signs) == 1 else signs.argmax(axis=0)
    usual = scale_gamma(moments_of(X), kernel)
    if not issparse(X):
        X = np.ascontiguousarray(X - X.mean(axis=0))  # rounding: only differences count
    rates = [_error_rate(kernel(usual * factor), X, labels, len(signs), alpha, new_store) for factor in _FACTORS]
    n_judged = X.shape[0] - int(_NOT_JUDGED * X.shape[0])
    least = min(rates)
    slack = _STANDARD_ERRORS * (least * (1.0 - least) / n_judged) ** 0.5
    best = int(np.argmax(np.array(rates) <= least + slack))
    return Choice(usual * float(_FACTORS[best]), usual, 1.0, 1.0, rates[best])


def _error_rate(kernel, X, labels, n_outputs, alpha, new_store) -> float:
    experts = new_experts(n_outputs, alpha)
    policy, model = new_store(X.shape[1], n_outputs, X.dtype, n_experts=len(experts.clocks))
    parts = Parts(experts, kernel, Perceptron(1.0, MARGIN), policy, Unconstrained())
    n_first = int(_NOT_JUDGED * X.shape[0])
    parts, model = learn(parts, model, X[:n_first], labels[:n_first])
    n_before = int(experts.counts[0]["n_wrong"])
    learn(parts, model, X[n_first:], labels[n_first:])
    return (int(experts.counts[0]["n_wrong"]) - n_before) / (X.shape[0] - n_first)
