"""One-vs-rest: two classes share one output, whose positive class is the second; more have an output each."""

import numpy as np

from frugalsvm._compile import inlined

__all__ = ["sign_of", "signs"]


@inlined
def sign_of(label, output, n_outputs):
    """+1 where a class is the positive one of an output, otherwise -1."""
    return 1.0 if label == (1 if n_outputs == 1 else output) else -1.0


def signs(labels, n_outputs):
    """The same for all outputs and labels, ``(n_outputs, n_labels)``."""
    positive = np.ones(1) if n_outputs == 1 else np.arange(n_outputs)
    return np.where(labels[None] == positive[:, None], 1.0, -1.0)
