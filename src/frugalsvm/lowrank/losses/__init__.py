"""The losses of low-rank machines, by the names that users give them; ``base`` says what a loss is.

================================ ==================================== ==========================
loss                             value                                for
================================ ==================================== ==========================
``Hinge``                        ``max(0, 1 - t f)``                  targets t = -1 and +1
``SquaredHinge``                 ``max(0, 1 - t f)^2``                targets t = -1 and +1
``EpsilonInsensitive``           ``max(0, |t - f| - epsilon)``        any targets
``SquaredEpsilonInsensitive``    ``max(0, |t - f| - epsilon)^2``      any targets
``Huber``                        a square up to epsilon, then a line  any targets
``Squared``                      ``(t - f)^2``                        any targets
``Pinball``                      ``q (t - f)`` or ``(1 - q) (f - t)`` any targets, and quantiles q
================================ ==================================== ==========================
"""

from frugalsvm.lowrank.losses.epsilon_insensitive import EpsilonInsensitive, SquaredEpsilonInsensitive
from frugalsvm.lowrank.losses.hinge import Hinge, SquaredHinge
from frugalsvm.lowrank.losses.pinball import Pinball
from frugalsvm.lowrank.losses.squared import Huber, Squared

__all__ = [
    "LOSSES",
    "EpsilonInsensitive",
    "Hinge",
    "Huber",
    "Pinball",
    "Squared",
    "SquaredEpsilonInsensitive",
    "SquaredHinge",
    "losses_for",
]

LOSSES: dict[str, type] = {
    "hinge": Hinge,
    "squared_hinge": SquaredHinge,
    "epsilon_insensitive": EpsilonInsensitive,
    "squared_epsilon_insensitive": SquaredEpsilonInsensitive,
    "huber": Huber,
    "squared": Squared,
    "pinball": Pinball,
}


def losses_for(*, classes: bool) -> dict[str, type]:
    """The losses of classifiers, or those of regressors."""
    return {name: loss for name, loss in LOSSES.items() if loss.for_classes == classes}
