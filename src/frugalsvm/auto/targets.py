"""What labels are: classes, or numbers to predict. One rule for `AutoSVC` and for the command line."""

import numpy as np

__all__ = ["looks_continuous"]

_MANY_VALUES = 100  # different whole numbers, beyond which they are not classes
_SEVERAL_VALUES, _ROWS_OF_EACH = 20, 4  # nor if there are several, with fewer rows of each


def looks_continuous(y: np.ndarray, distinct: np.ndarray | None = None) -> bool:
    """Whether labels are numbers rather than classes: fractions, or very many whole numbers.

    ``distinct`` are the distinct ones, where they are known.

    Examples
    --------
    >>> import numpy as np
    >>> looks_continuous(np.array([1.5, 2.0])), looks_continuous(np.arange(10) % 3), looks_continuous(np.arange(999))
    (True, False, True)
    """
    if y.dtype.kind not in "iuf":
        return False
    distinct = np.unique(y) if distinct is None else distinct
    if not (distinct == np.floor(distinct)).all():
        return True
    n_values = len(distinct)
    return n_values > _MANY_VALUES or (n_values > _SEVERAL_VALUES and _ROWS_OF_EACH * n_values > len(y))
