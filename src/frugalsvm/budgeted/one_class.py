"""A one-class SVM on a stream: the steps of BSGD, and a window of the latest scores that thresholds are taken from.

Scores are those of rows before they are learned (``core/one_class.py``). After every `INTERVAL` rows two quantiles of
the last scores are taken:

* the threshold rho of the loss, the nu-quantile, which decides what is learned from then on. Where Schoelkopf et al.
  (2001) solve for it, and NORMA (Kivinen, Smola & Williamson 2004) takes gradient steps, this is its minimum given the
  model, up to the age of the scores;
* the offset, below which a row is an alarm. Its level begins at the promised rate and follows what happened:

      level = rate (1 + due / PATIENCE),      due = sum over rows of (rate - [the row was an alarm])

  so that alarms that were too many, or too few, are made up for (the idea of Gibbs & Candes 2021, for quantiles of a
  window). On a stationary stream ``due`` has a standard deviation of ``sqrt(PATIENCE / 2)`` alarms, whatever the rate,
  where without that it would grow like the square root of the time.

Until the first look every row is learned, with the weight nu: scores are as high as they will be when the share nu is
learned.

The rank of a score among those of the window is a p-value (Vovk, Gammerman & Shafer 2005): of normal rows that come in
random order, as many are below p as p says.
"""

from typing import Annotated, NamedTuple

import numpy as np

from frugalsvm._stored import COUNTED, stored
from frugalsvm.budgeted.sgd import learn
from frugalsvm.core.one_class import EVERY_ROW, OneClass
from frugalsvm.core.records import float_record, integer_record
from frugalsvm.core.score_reservoir import p_values_among

INTERVAL = 256  # rows between two looks at the window
PATIENCE = 25.0  # alarms
_MOST = 5.0  # times the rate, or a part of it, is as far as the level goes

COUNTS = integer_record("n_scores", "n_looks")  # scores so far; how often thresholds were taken
SCALARS = float_record("threshold", "offset", "due")


@stored("score-window")
class ScoreWindow(NamedTuple):
    """The last scores, in a ring, and what was taken from them; all arrays are changed in place."""

    scores: Annotated[np.ndarray, "d w"]  # (n,)
    counts: Annotated[np.ndarray, COUNTS, "1", COUNTED]
    scalars: Annotated[np.ndarray, SCALARS, "1"]

    def is_sound(self, sizes) -> bool:
        """Whether there is a window."""
        return sizes["w"] > 0


def new_window(n_scores):
    """An empty window."""
    return ScoreWindow(np.zeros(n_scores), np.zeros(1, COUNTS), np.zeros(1, SCALARS))


def learn_watching(parts, expansion, window, X, weights, nu, rate):
    """Learn rows in their order; returns the parts and the expansion as `learn` does. Weights are positive, or None."""
    start, n_rows = 0, X.shape[0]
    while start < n_rows:
        # Looks are at multiples of the interval: batches of any size give the same model.
        n_seen = int(window.counts[0]["n_scores"])
        stop = min(n_rows, start + INTERVAL - n_seen % INTERVAL)
        scores = np.zeros((stop - start, 1))
        parts = parts._replace(loss=OneClass(threshold_of(window)))
        own, factor = None if weights is None else weights[start:stop], factor_of(window, nu)
        if factor != 1.0:
            own = np.full(stop - start, factor) if own is None else factor * own
        parts, expansion = learn(parts, expansion, X[start:stop], scores, own)
        note_scores(window, scores[:, 0], nu, rate)
        start = stop
    return parts, expansion


def factor_of(window, nu) -> float:
    """What weights are multiplied by: nu until the first look."""
    return 1.0 if window.counts[0]["n_looks"] else float(nu)


def note_scores(window, scores, nu, rate) -> bool:
    """Take in scores of rows before they were learned, up to the next look; whether it was time for that."""
    _take(window, scores, rate)
    is_due = int(window.counts[0]["n_scores"]) % INTERVAL == 0
    if is_due:
        _look(window, nu, rate)
    return is_due


def refill(window, scores, nu, rate):
    """Take scores of a model that has learned, in place of those on the way; thresholds are theirs."""
    kept = scores[-len(window.scores) :]
    window.scores[: len(kept)] = kept
    window.counts[0]["n_scores"] = len(kept)
    window.scalars[0]["due"] = 0.0
    _look(window, nu, rate)


def threshold_of(window) -> float:
    """The threshold of the loss: until the first look, every row is learned."""
    return float(window.scalars[0]["threshold"]) if window.counts[0]["n_looks"] else EVERY_ROW


def offset_of(window, rate) -> float:
    """The score below which rows are alarms."""
    if window.counts[0]["n_looks"]:
        return float(window.scalars[0]["offset"])
    known = _known(window)
    return float(np.quantile(known, rate)) if len(known) else 0.0


def p_values_of(window, scores):
    """The share of scores in the window that are not above each of these, itself among them."""
    return p_values_among(np.sort(_known(window)), scores)


def _known(window):
    return window.scores[: min(int(window.counts[0]["n_scores"]), len(window.scores))]


def _take(window, scores, rate):
    """Note the scores of rows, and whether they were alarms."""
    if window.counts[0]["n_looks"]:
        n_alarms = np.count_nonzero(scores < window.scalars[0]["offset"])
        window.scalars[0]["due"] += rate * len(scores) - n_alarms
    position = int(window.counts[0]["n_scores"])
    window.scores[np.arange(position, position + len(scores)) % len(window.scores)] = scores
    window.counts[0]["n_scores"] += len(scores)


def _look(window, nu, rate):
    """Take thresholds from the window."""
    level = rate * (1.0 + window.scalars[0]["due"] / PATIENCE)
    level = min(max(level, rate / _MOST), rate * _MOST, 1.0)
    threshold, offset = np.quantile(_known(window), (nu, level))
    window.scalars[0]["threshold"], window.scalars[0]["offset"] = threshold, offset
    window.counts[0]["n_looks"] += 1
