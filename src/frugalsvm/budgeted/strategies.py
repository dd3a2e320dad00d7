"""The named strategies of the budgeted perceptrons and the variants of BPA, as policies with a fresh state."""

import numpy as np

from frugalsvm.budgeted.bpa import ProjectOnAll, ProjectOnNeighbour, ProjectOnNewcomer
from frugalsvm.budgeted.neighbours import new_neighbours
from frugalsvm.budgeted.perceptrons import Forget, RemoveRandom, RemoveWeakest, Stop
from frugalsvm.budgeted.policy import NO_BUDGET, Unlimited
from frugalsvm.budgeted.projection import new_span
from frugalsvm.budgeted.projectron import NO_THRESHOLD, Projectron
from frugalsvm.budgeted.self_scored import RemoveConfident, RemoveHarmless, new_self_scores
from frugalsvm.core.rng import new_rng

__all__ = ["MULTI_CLASS", "STRATEGIES", "VARIANTS", "new_strategy", "new_variant"]

STRATEGIES = ("stop", "random", "forgetron", "budget", "tighter", "tightest", "projectron", "projectron++", "silk")
MULTI_CLASS = ("stop", "random", "projectron", "projectron++")  # those that learn several classes together
VARIANTS = ("simple", "nn", "projecting")


def new_strategy(name, budget, capacity, *, threshold=None, tolerance=0.0, seed=0):
    """The policy of a perceptron's strategy; ``budget`` None is no limit, ``capacity`` is that of the store."""
    if name in ("projectron", "projectron++"):
        limit = NO_BUDGET if budget is None else budget
        bound = NO_THRESHOLD if threshold is None else float(threshold)
        return Projectron(limit, bound, tolerance, name == "projectron++", new_span(capacity))
    if budget is None:
        return Unlimited()
    if name == "random":
        return RemoveRandom(budget, new_rng(seed))
    if name == "forgetron":
        return Forget(budget, np.zeros(1))
    if name == "budget":
        return RemoveConfident(budget, new_self_scores(capacity), np.zeros(capacity))
    if name in ("tighter", "tightest"):
        errors, counts = np.zeros(capacity), np.zeros((2, capacity))
        return RemoveHarmless(budget, new_self_scores(capacity), errors, counts, name == "tightest")
    return {"stop": Stop, "silk": RemoveWeakest}[name](budget)


def new_variant(name, budget, capacity):
    """The policy of a variant of BPA; ``budget`` None is no limit."""
    if budget is None:
        return Unlimited()
    lost = np.zeros(capacity)
    if name == "simple":
        return ProjectOnNewcomer(budget, lost)
    if name == "nn":
        return ProjectOnNeighbour(budget, lost, new_neighbours(capacity))
    return ProjectOnAll(budget, lost, new_span(capacity))
