"""``class_weight="balanced"`` on a stream: weights from the classes of the examples so far.

An example of class c has the weight ``(N + K) / (K (N_c + 1))``, where N_c are the examples of its class, itself
included, N those of all K classes: what scikit-learn takes for all labels, with one example more of each class. Where
the estimator forgets, old examples count less. A class that has not come for long is not weighted for ever more.
"""

import numpy as np

__all__ = ["balanced_weights", "counts_for"]

LARGEST_WEIGHT = 100.0


def counts_for(counts: np.ndarray | None, old_classes, new_classes) -> np.ndarray:
    """The counts for a larger sorted set of classes; None is none of any class."""
    made = np.zeros(len(new_classes))
    if counts is not None:
        made[np.searchsorted(new_classes, old_classes)] = counts
    return made


def balanced_weights(counts: np.ndarray, labels: np.ndarray, kept: float) -> tuple[np.ndarray, np.ndarray]:
    """Weights of examples in their order, and the counts after them; ``kept`` of a count is left after an example."""
    from scipy.signal import lfilter  # takes a while

    if not len(labels):
        return np.ones(0), counts
    is_class = (labels[:, None] == np.arange(len(counts))).astype(np.float64)
    # count = 1 or 0 + kept * count before, one after the other: it does not matter in which batches rows come.
    running, _ = lfilter([1.0], [1.0, -kept], is_class, axis=0, zi=kept * counts[None])
    own = running[np.arange(len(labels)), labels]
    weights = (running.sum(axis=1) + len(counts)) / (len(counts) * (own + 1.0))
    return np.minimum(weights, LARGEST_WEIGHT), running[-1].copy()
