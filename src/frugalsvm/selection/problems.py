"""Problems for a comparison: kernel values of rows with landmarks, computed and whitened once, on either back end."""

from typing import Any, NamedTuple

import numpy as np

from frugalsvm.arrays.namespace import HOST
from frugalsvm.arrays.sources import dense_rows
from frugalsvm.lowrank.backends.compiled import CompiledStorage
from frugalsvm.lowrank.backends.torch import TorchStorage
from frugalsvm.lowrank.nystroem import bare_nystroem, new_nystroem
from frugalsvm.lowrank.options import Options
from frugalsvm.lowrank.passes import Passes
from frugalsvm.lowrank.problem import Problem
from frugalsvm.lowrank.training import Data
from frugalsvm.selection.task import Machinery

__all__ = ["Examples", "new_problem"]

THRESHOLD = 1e-7  # share of the largest eigenvalue that is kept, as in estimators


class Examples(NamedTuple):
    """Rows in a random order: the first of them become landmarks."""

    X: Any  # (n, d) array or CSR matrix, as a kernel sees it
    targets: np.ndarray  # (n_outputs, n) float32: signs of classes, or values
    weights: np.ndarray  # (n,) float32


def new_problem(
    kernel: Any, examples: Examples, n_landmarks: int, loss: Any, machinery: Machinery
) -> tuple[Problem, Options]:
    """A problem whose penalty is yet to be set, and the options of its solver."""
    X, targets, weights = examples
    arrays = machinery.arrays
    storage = _storage(machinery, kernel, dense_rows(X[:n_landmarks]))
    rows, whitening = storage.stored(Data(lambda: iter((X,)), X, targets, weights), np.arange(X.shape[0]))
    targets, weights = (arrays.asarray(each, "float32") for each in (targets, weights))
    return Problem(rows, targets, weights, loss, 0.0, whitening, True), storage.options(True)


def _storage(machinery: Machinery, kernel, landmarks):
    if machinery.arrays is HOST:
        feature_map = new_nystroem(kernel, landmarks, THRESHOLD, None, Passes(machinery.threads))
        return CompiledStorage(feature_map, machinery.memory, threads=machinery.threads)
    feature_map, memory = bare_nystroem(kernel, landmarks), machinery.arrays.free_bytes()
    return TorchStorage(machinery.arrays, feature_map, threshold=THRESHOLD, rank=None, memory=memory, dtype="float32")
