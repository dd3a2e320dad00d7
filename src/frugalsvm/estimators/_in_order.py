"""Gamma for a stream that may change: chosen on its first rows in their order, each judged before it is learned.

Rows of a stream are like those just before them: judged in random order, as elsewhere (`frugalsvm.selection.widths`),
narrow kernels seem the best, and later rows are far from all that was learned. Here machines with several widths learn
the rows as they come, with all half-lives at once (`frugalsvm.core.experts`). Of those that make about as few mistakes
as the best, up to half a standard error, the widest is taken: it will know more about rows that are still to come. The
first rows, about which all of them know nothing yet, do not count.
"""

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone, is_classifier

from frugalsvm.arrays.namespace import is_torch, on_host
from frugalsvm.budgeted.maintenance import new_policy
from frugalsvm.budgeted.norm_constraint import Unconstrained
from frugalsvm.budgeted.sgd import Parts, learn
from frugalsvm.core.expansion import new_expansion
from frugalsvm.core.experts import new_experts
from frugalsvm.core.kernels import KERNELS
from frugalsvm.core.losses import MARGIN
from frugalsvm.core.schedules import Perceptron
from frugalsvm.estimators._auto import AUTO, is_auto
from frugalsvm.estimators.kernel_model import FIRST_SLOTS, bytes_per_slot
from frugalsvm.estimators.validation import gamma_value, slots_for_budget
from frugalsvm.selection.widths import Choice, has_width

__all__ = ["ENOUGH_ROWS", "LEAST_ROWS", "choice_in_order", "chooses_in_order", "for_stream", "may_follow"]

LEAST_ROWS = 500
ENOUGH_ROWS = 1500  # of fewer, ridge machines tell more (letter: 84.1 % right with 1000 rows, where this has 78.0 %)
_MOST_ROWS = 2000
_NOT_JUDGED = 0.2  # of the rows
_STANDARD_ERRORS = 0.5
_FACTORS = 2.0 ** np.arange(-6, 7)  # of what is usual


def chooses_in_order(estimator: Any) -> bool:
    """Whether an estimator chooses gamma on rows in their order."""
    forgets = getattr(estimator, "forgets", False) and is_auto(getattr(estimator, "gamma", None))
    return forgets and is_classifier(estimator)


def for_stream(estimator: Any) -> Any:
    """A copy of an estimator that is to learn a stream: with all half-lives, unless something was said about that.

    A search has no half-life: one of its candidates follows.
    """
    new = clone(estimator)
    return new.set_params(half_life=AUTO) if may_follow(estimator) and hasattr(new, "half_life") else new


def may_follow(estimator: Any) -> bool:
    """Whether an estimator can learn with all half-lives, and nobody has said how fast it is to forget."""
    return getattr(estimator, "may_follow", False)


def choice_in_order(estimator: Any, X, targets, alpha: float) -> Choice | None:
    """Gamma for the first rows, as the kernel will see them; None where they are too few, or have no width.

    ``targets()`` has signs of classes, shape (n_outputs, n).
    """
    part: Any = KERNELS.get(estimator.kernel)
    if not has_width(part) or X.shape[0] < LEAST_ROWS:
        return None
    X = on_host(X[:_MOST_ROWS]) if is_torch(X) else X[:_MOST_ROWS]
    signs = targets()[:, : X.shape[0]]
    labels = (signs[0] > 0).astype(np.int64) if len(signs) == 1 else signs.argmax(axis=0)
    usual = gamma_value("scale", X, part)
    if not issparse(X):
        X = np.ascontiguousarray(X - X.mean(axis=0))  # rounding: only differences count
    rates = [_error_rate(estimator, part(usual * factor), X, labels, len(signs), alpha) for factor in _FACTORS]
    n_judged = X.shape[0] - int(_NOT_JUDGED * X.shape[0])
    least = min(rates)
    slack = _STANDARD_ERRORS * (least * (1.0 - least) / n_judged) ** 0.5
    best = int(np.argmax(np.array(rates) <= least + slack))
    return Choice(usual * float(_FACTORS[best]), usual, 1.0, False, 1.0, rates[best])


def _error_rate(estimator, kernel, X, labels, n_outputs, alpha) -> float:
    budget = slots_for_budget(estimator.budget, bytes_per_slot(X.shape[1], n_outputs, X.dtype))
    experts, policy = new_experts(n_outputs, alpha), new_policy(estimator.maintenance, budget)
    parts = Parts(experts, kernel, Perceptron(1.0, MARGIN), policy, Unconstrained())
    n_slots = FIRST_SLOTS if budget is None else budget + 1
    model = new_expansion(n_slots, X.shape[1], experts.n_outputs, X.dtype)
    n_first = int(_NOT_JUDGED * X.shape[0])
    parts, model = learn(parts, model, X[:n_first], labels[:n_first])
    n_before = int(experts.counts[0]["n_wrong"])
    learn(parts, model, X[n_first:], labels[n_first:])
    return (int(experts.counts[0]["n_wrong"]) - n_before) / (X.shape[0] - n_first)
