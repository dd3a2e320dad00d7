"""What a training costs, ahead of it: kernel values, seconds and bytes from rows, features and budget.

Bytes of models are exact. Seconds come from constants that were fitted to ``docs/measured/benchmarks.json`` (one
thread of a 2-core ARM machine, float32 rows, when everything is compiled): take them as right within a factor of two.
"""

from typing import NamedTuple

from frugalsvm.exceptions import ParameterError

__all__ = ["TrainingCost", "training_cost"]

# Seconds on the reference machine.
_PER_KERNEL_VALUE = 2.1e-9  # the kernel function, and the sum over support vectors
_PER_PRODUCT = 0.055e-9  # a product of two features
_PER_OUTPUT = 0.22e-9  # a kernel value in the decision value of a further class
_PER_NEWTON = 20e-9  # all passes of a low-rank fit over a kernel value that is kept
_PER_CUBE = 0.1e-9  # eigenvalues of the landmarks, to the third power
# Those of `AutoSVC`, measured on one x86-64 core on synthetic rows: for factors and inverses, of a kernel value and
# a row of its cell; for a search with nothing chosen, which has its full size from this number of rows on.
_PER_ROW_OF_CELL = 0.01e-9
_AUTO_SEARCH, _AUTO_ROWS = 9.0, 5_000
_ONE_CELL, _CELL = 4096, 2048  # rows
_BYTES = {"float32": 4, "float64": 8}


class TrainingCost(NamedTuple):
    """What a training costs."""

    kernel_values: int
    seconds: float
    model_bytes: int
    training_bytes: int  # beside the rows


def training_cost(
    algorithm: str,
    n_rows: int,
    n_features: int,
    *,
    budget: int = 500,
    n_classes: int = 2,
    n_passes: int = 1,
    dtype: str = "float32",
    speed: float = 1.0,
) -> TrainingCost:
    """What it costs to train a budgeted or a low-rank model.

    Parameters
    ----------
    algorithm : {"bsgd", "asset", "auto"}
        `BSGDClassifier` and its relatives, `ASSETClassifier` with Nystroem features, or `AutoSVC` and `AutoSVR`, which
        keep all rows: ``budget`` is not used.
    n_rows, n_features : int
        Size of the training set.
    budget : int, default=500
        Maximum number of support vectors, or number of landmarks.
    n_classes : int, default=2
    n_passes : int, default=1
        Passes over the data, for "bsgd".
    dtype : {"float32", "float64"}, default="float32"
        Type of the rows. Products in float64 take twice as long.
    speed : float, default=1.0
        How many times faster your machine is than the reference; `seconds` is divided by it.

    Returns
    -------
    TrainingCost
        ``kernel_values``, ``seconds``, ``model_bytes`` and ``training_bytes``, a named tuple.

    Examples
    --------
    >>> from frugalsvm.cost import training_cost
    >>> cost = training_cost("bsgd", n_rows=10_000_000, n_features=50, budget=500)
    >>> cost.kernel_values, cost.model_bytes
    (5000000000, 104000)
    >>> 10 < cost.seconds < 60
    True
    """
    for name, value in (("n_rows", n_rows), ("n_features", n_features), ("n_passes", n_passes)):
        if value < 1:
            raise ParameterError(name, value, "an integer of at least 1")
    if budget < 2:
        raise ParameterError("budget", budget, "an integer of at least 2")
    if n_classes < 2:
        raise ParameterError("n_classes", n_classes, "an integer of at least 2")
    if not speed > 0:
        raise ParameterError("speed", speed, "a positive number")
    if dtype not in _BYTES:
        raise ParameterError("dtype", dtype, "'float32' or 'float64'")
    n_outputs = 1 if n_classes == 2 else n_classes
    if algorithm == "bsgd":
        cost = _bsgd(n_rows * n_passes, n_features, budget, n_outputs, _BYTES[dtype])
    elif algorithm == "asset":
        cost = _asset(n_rows, n_features, budget, n_outputs)
    elif algorithm == "auto":
        cost = _auto(n_rows, n_features, n_outputs)
    else:
        raise ParameterError("algorithm", algorithm, "'bsgd', 'asset' or 'auto'")
    return cost._replace(seconds=cost.seconds / speed)


def _bsgd(n_rows: int, n_features: int, budget: int, n_outputs: int, n_bytes: int) -> TrainingCost:
    """A row takes kernel values with all support vectors; memory does not depend on the rows."""
    n_values = n_rows * budget
    per_value = _PER_KERNEL_VALUE + _PER_PRODUCT * n_features * n_bytes / 4 + _PER_OUTPUT * (n_outputs - 1)
    model = budget * n_bytes * (n_features + 1 + n_outputs)
    # Support vectors are kept twice (by rows and by features), coefficients in float64; a look-ahead block of 64 rows.
    training = 2 * budget * n_bytes * (n_features + 1) + 8 * budget * n_outputs + 64 * n_bytes * (n_features + budget)
    return TrainingCost(n_values, n_values * per_value, model, training)


def _asset(n_rows: int, n_features: int, n_landmarks: int, n_outputs: int) -> TrainingCost:
    """Kernel values of all rows with all landmarks are computed once, in float32, and kept within ``memory=``."""
    n_values = n_rows * n_landmarks
    per_value = _PER_KERNEL_VALUE + _PER_PRODUCT * n_features + _PER_NEWTON * n_outputs
    model = 4 * n_landmarks * (n_features + 1) + 4 * (n_landmarks + 1) * n_outputs
    training = 4 * n_values + 8 * n_landmarks**2 * (2 + n_outputs)
    return TrainingCost(n_values, n_values * per_value + _PER_CUBE * n_landmarks**3, model, training)


def _auto(n_rows: int, n_features: int, n_outputs: int) -> TrainingCost:
    """A search among some thousand rows, and machines of all rows: in one cell, or in cells of three trees.

    Cells are larger where that is more accurate, which takes longer, and has fewer trees.
    """
    n_trees, size = (1, n_rows) if n_rows <= _ONE_CELL else (3, _CELL)
    n_values = n_trees * n_rows * size
    per_value = _PER_KERNEL_VALUE + _PER_PRODUCT * n_features + _PER_ROW_OF_CELL * size
    seconds = _AUTO_SEARCH * min(1.0, n_rows / _AUTO_ROWS) + n_values * per_value
    model = 4 * n_rows * n_features + n_trees * n_rows * (4 * n_outputs + 8)
    return TrainingCost(n_values, seconds, model, model + 8 * size**2)
