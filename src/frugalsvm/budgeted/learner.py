"""A learner as a value: the parts that it is made of, and the model that it has learned so far.

That is what learns, scores and is merged wherever there is no estimator around it: on the workers of a cluster, row by
row in a pipeline, in tests. An estimator has one, or one for each class (``estimators/learner.py``).

Nothing is checked here. Rows are C-contiguous or CSR, of the type of the store and relative to the model's origin;
labels are 0 and 1, or indices of classes.
"""

from typing import NamedTuple

from frugalsvm._stored import stored
from frugalsvm.budgeted.model_averaging import at_clock, combined, restarted, with_history
from frugalsvm.budgeted.policy import has_room, renewed
from frugalsvm.budgeted.projection import frozen
from frugalsvm.budgeted.sgd import Parts, learn
from frugalsvm.core.expansion import Expansion, averaging, coefficients, resized
from frugalsvm.core.predict import decision_values


@stored("budgeted-machine")
class Learner(NamedTuple):
    parts: Parts  # loss, kernel, schedule, policy, ball: what it is
    expansion: Expansion  # what it knows

    def is_sound(self, sizes) -> bool:
        """Whether there is room for the support vectors that may come."""
        return has_room(self.parts.policy, self.expansion)

    @property
    def n_seen(self) -> int:
        """Examples that it has learned from."""
        return int(self.expansion.counts[0]["n_seen"])

    @property
    def budget(self) -> int | None:
        return getattr(self.parts.policy, "budget", None)

    def learn(self, X, labels, weights=None, order=None) -> "Learner":
        """The learner after the rows of ``X``; its arrays are the same ones, changed, unless they had to grow."""
        return Learner(*learn(self.parts, self.expansion, X, labels, weights, order))

    def scores(self, X):
        """Decision values of the rows of ``X``, one column for each output."""
        expansion = self.expansion
        weights = expansion.weights.copy()
        weights[:, : expansion.counts[0]["n_slots"]] = coefficients(expansion).T
        return decision_values(self.parts.kernel, expansion._replace(weights=weights), X)

    def restarted(self, n_seen: int) -> "Learner":
        """A copy that continues from the model after ``n_seen`` examples, with all other counters at zero."""
        expansion = restarted(self.expansion, self.parts.schedule, n_seen)
        if self.budget is not None:
            expansion = resized(expansion, self.budget + 1)
        return Learner(self.parts._replace(policy=renewed(self.parts.policy)), expansion)

    def model_since(self, n_seen: int) -> Expansion:
        """A copy of the model, as one that was learned from the examples since then alone."""
        return at_clock(self.expansion, self.parts.schedule, self.n_seen - n_seen)

    def merged(self, models: list[Expansion], n_seen: int | None = None) -> Expansion:
        """The mean of models that learners like this one have learned, inside the budget.

        ``n_seen`` is the number of the example whose step size measures what is lost.
        """
        kernel, loss, schedule = self.parts.kernel, self.parts.loss, self.parts.schedule
        return combined(kernel, loss, schedule, models, self.budget, type(self.parts.policy), n_seen)

    def advanced(self, model: Expansion) -> "Learner":
        """The learner with a model that was learned from here, with counters at zero: they are added to its own."""
        return self._replace(expansion=with_history(model, self.expansion, self.parts.schedule))

    def averaging(self) -> "Learner":
        """A copy whose support vectors stay; coefficients are learned, and averaged from now on."""
        expansion = averaging(self.expansion)
        return Learner(self.parts._replace(policy=frozen(self.parts.kernel, expansion)), expansion)
