"""A kernel expansion that is not learned any more."""

from typing import Annotated, NamedTuple

import numpy as np

from frugalsvm._stored import are_norms, stored
from frugalsvm.core.expansion import COUNTS, Expansion, new_expansion


@stored("predictor")
class Predictor(NamedTuple):
    """What a model that was saved for prediction has instead of its learning state."""

    rows: Annotated[np.ndarray, "x nf"]  # (n, n_features) support vectors
    norms: Annotated[np.ndarray, "x n"]  # (n,) their norms, as in the expansion
    coef: Annotated[np.ndarray, "d on"]  # (n_outputs, n)
    intercept: Annotated[np.ndarray, "d o"]  # (n_outputs,)
    counts: Annotated[np.ndarray, COUNTS, "1"]  # those of the expansion that it was

    def expansion(self) -> Expansion:
        """The support vectors as a store."""
        n, n_features = self.rows.shape
        whole = new_expansion(max(n, 1), n_features, len(self.coef), self.rows.dtype)
        whole.rows[:n], whole.norms[:n] = self.rows, self.norms
        whole.coef[:, :n], whole.weights[:, :n] = self.coef, self.coef
        whole.counts[:] = self.counts
        whole.counts[0]["n_slots"] = n
        return whole

    def is_sound(self, sizes) -> bool:
        """Whether the norms are those of the rows."""
        return are_norms(self.norms, self.rows) or are_norms(self.norms, self.rows, are_sums=True)
