"""When a curve is long enough."""

from benchopt.stopping_criterion import StoppingCriterion

__all__ = ["Enough"]


class Enough(StoppingCriterion):
    """End a curve at a fixed length of the run: after so many iterations, or at a tolerance as small as ``last``.

    The criteria of benchopt end a curve that makes no progress. Online learners often begin with a rise, some of them
    minimise something else than the objective, and others have no value at all: none of that is a reason to end.
    """

    def __init__(self, last, strategy=None, key_to_monitor=None, minimize=True):
        self.last = last
        super().__init__(strategy=strategy, key_to_monitor=key_to_monitor, minimize=minimize, last=last)

    def check_convergence(self, objective_list):
        reached = objective_list[-1]["stop_val"]
        if self.strategy == "tolerance":
            return reached <= self.last, min(1.0, self.last / reached)
        return reached >= self.last, min(1.0, reached / self.last)
