"""A one-class SVM on a budget in plain numpy: the learner of ``bsgd.py`` with another loss.

One step, for the row x_t of weight s:

1. the score f(x_t) of the model as it is;
2. w <- (1 - 1/t) w, and w <- w + s/t Phi(x_t) if the score is below the threshold; budget maintenance. There is no
   threshold before the first ``interval`` rows are over: all are learned, with s nu in place of s;
3. after every ``interval`` rows, the threshold is the nu-quantile of the last ``n_scores`` scores, and the offset the
   quantile at ``rate (1 + due / patience)``, within a factor of five, where ``due`` is how many alarms there should
   have been since the first offset, less those that there were.
"""

import numpy as np

from .bsgd import BSGDOracle


class OneClassOracle(BSGDOracle):
    def __init__(self, nu, rate, n_scores, *, interval=256, patience=25.0, **machine):
        super().__init__(learner="pegasos", alpha=1.0, n_outputs=1, **machine)
        self.nu, self.rate, self.n_scores, self.interval, self.patience = nu, rate, n_scores, interval, patience
        self.scores, self.threshold, self.offset = [], np.inf, None
        self.due = 0.0

    def learn_one(self, x, weight=1.0):
        """Returns the score, and whether the row was learned."""
        x = np.array(x, dtype=np.float64)
        score = float(self.decision(x[None, :])[0])
        self.t += 1
        self.coef *= 1.0 - 1.0 / self.t
        is_learned = score < self.threshold
        if is_learned:
            first = self.nu if self.offset is None else 1.0
            self._add(x, np.array([first * weight / self.t]))
            self._maintain()
        self.scores.append(score)
        if self.offset is not None:
            self.due += self.rate - (score < self.offset)
        if self.t % self.interval == 0:
            self._look()
        return score, is_learned

    def _look(self):
        last = self.scores[-self.n_scores :]
        level = self.rate * (1.0 + self.due / self.patience)
        level = np.clip(level, self.rate / 5.0, min(5.0 * self.rate, 1.0))
        self.threshold = float(np.quantile(last, self.nu))
        self.offset = float(np.quantile(last, level))
