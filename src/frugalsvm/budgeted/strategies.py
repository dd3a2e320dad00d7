"""The named strategies of the budgeted perceptrons and the variants of BPA, as policies with a fresh memory.

A new one is a policy (``policy.py``) and a line in ``STRATEGIES`` or ``VARIANTS``.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from frugalsvm.budgeted.bpa import ProjectOnAll, ProjectOnNeighbor, ProjectOnNewcomer
from frugalsvm.budgeted.budget_perceptrons import RemoveConfident, RemoveHarmless, new_self_scores
from frugalsvm.budgeted.neighbors import new_neighbors
from frugalsvm.budgeted.perceptrons import Forget, RemoveRandom, RemoveWeakest, Stop
from frugalsvm.budgeted.policy import NO_BUDGET, Unlimited
from frugalsvm.budgeted.projection import new_span
from frugalsvm.budgeted.projectron import NO_THRESHOLD, Projectron
from frugalsvm.core.rng import new_rng
from frugalsvm.core.schedules import Implicit, Perceptron


class _Settings(NamedTuple):
    """What a strategy may be made with."""

    budget: int
    capacity: int  # of the store
    threshold: float | None
    tolerance: float
    seed: int


class Strategy(NamedTuple):
    """A perceptron with a budget: its policy, and what it has to say about steps."""

    policy: Any
    new: Callable[[_Settings], Any]
    schedule: Any = Perceptron
    eta0: float | None = None  # the step size that its bounds are made for; None is the user's
    margin: float | None = None  # it learns below this margin; None is the user's
    has_threshold: bool = False


def _projectron(settings, *, on_margin_errors=False):
    threshold = NO_THRESHOLD if settings.threshold is None else float(settings.threshold)
    span = new_span(settings.capacity)
    return Projectron(settings.budget, threshold, settings.tolerance, on_margin_errors, span)


def _confident(settings):
    return RemoveConfident(settings.budget, new_self_scores(settings.capacity), np.zeros(settings.capacity))


def _harmless(settings, *, summarizes=False):
    errors, counts = np.zeros(settings.capacity), np.zeros((2, settings.capacity))
    return RemoveHarmless(settings.budget, new_self_scores(settings.capacity), errors, counts, summarizes)


STRATEGIES = {
    "stop": Strategy(Stop, lambda s: Stop(s.budget)),
    "random": Strategy(RemoveRandom, lambda s: RemoveRandom(s.budget, new_rng(s.seed))),
    "forgetron": Strategy(Forget, lambda s: Forget(s.budget, np.zeros(1)), eta0=1.0),
    "budget": Strategy(RemoveConfident, _confident),
    "tighter": Strategy(RemoveHarmless, _harmless),
    "tightest": Strategy(RemoveHarmless, lambda s: _harmless(s, summarizes=True)),
    "projectron": Strategy(Projectron, _projectron, has_threshold=True),
    "projectron++": Strategy(
        Projectron, lambda s: _projectron(s, on_margin_errors=True), eta0=1.0, margin=1.0, has_threshold=True
    ),
    "silk": Strategy(RemoveWeakest, lambda s: RemoveWeakest(s.budget), schedule=Implicit),
}
# Those that learn several classes together
MULTI_CLASS = tuple(name for name, strategy in STRATEGIES.items() if not getattr(strategy.policy, "one_output", False))

VARIANTS: dict[str, Callable[[int, int], Any]] = {
    "simple": lambda budget, capacity: ProjectOnNewcomer(budget, np.zeros(capacity)),
    "nn": lambda budget, capacity: ProjectOnNeighbor(budget, np.zeros(capacity), new_neighbors(capacity)),
    "projecting": lambda budget, capacity: ProjectOnAll(budget, np.zeros(capacity), new_span(capacity)),
}


def new_strategy(name, budget, capacity, *, threshold=None, tolerance=0.0, seed=0):
    """The policy of a perceptron's strategy; ``budget`` None is no limit, ``capacity`` is that of the store."""
    strategy = STRATEGIES[name]
    if budget is None:
        if not hasattr(strategy.policy, "with_room"):
            return Unlimited()
        budget = NO_BUDGET
    return strategy.new(_Settings(budget, capacity, threshold, tolerance, seed))


def new_variant(name, budget, capacity):
    """The policy of a variant of BPA; ``budget`` None is no limit."""
    return Unlimited() if budget is None else VARIANTS[name](budget, capacity)
