"""Labels that users pass as indices of classes, and weights of examples, with one clear sentence when it cannot be."""

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, column_or_1d

from frugalsvm.exceptions import ParameterError

_COUNTED_LABELS = 2**16
_FIRST_LABELS = 2**12  # that may have all there are
_MANY_VALUES = 100  # different whole numbers, beyond which they are numbers
_SEVERAL_VALUES, _ROWS_OF_EACH = 20, 4  # nor if there are several, with fewer rows of each


def column_of(y) -> np.ndarray:
    """Labels in one dimension; warns of a column."""
    if type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "biufUSO":
        return np.ascontiguousarray(y)  # `column_or_1d` takes longer to find that out than to learn some rows
    return column_or_1d(y, warn=True)


def _integer_range(values) -> tuple[int, int] | None:
    """Least and largest of integers that are few enough to count, None for anything else."""
    if values.dtype.kind not in "iu" or values.size == 0:
        return None
    low, high = int(values.min()), int(values.max())
    return (low, high) if high - low < _COUNTED_LABELS and high < 2**63 else None


def distinct_labels(y) -> np.ndarray:
    """Sorted distinct values: integers by counting, text by looking for other than some rows have. Sorting is slow."""
    bounds = _integer_range(y)
    if bounds is None:
        return _distinct_text(y) if y.dtype.kind in "OUT" else np.unique(y)
    counts = np.bincount(y.astype(np.int64, copy=False) - bounds[0])
    return (np.flatnonzero(counts) + bounds[0]).astype(y.dtype, copy=False)


def _distinct_text(y) -> np.ndarray:
    known = np.unique(y[:: max(1, len(y) // _FIRST_LABELS)])
    for start in range(0, len(y), _COUNTED_LABELS):
        part = y[start : start + _COUNTED_LABELS]
        places = np.minimum(np.searchsorted(known, part), len(known) - 1)
        others = part[known[places] != part]
        if others.size:
            known = np.union1d(known, others)
    return known


def is_nothing(value: Any) -> bool:
    """Whether a value is missing: None, NaN, NaT, or pandas' NA, whose comparisons say neither yes nor no."""
    equal = value == value
    return value is None or not isinstance(equal, bool | np.bool_) or not equal


def classes_in(y) -> np.ndarray:
    """The distinct labels, sorted; refuses fractions, and objects that are not text, which cannot be classes.

    The distinct ones tell, so that scikit-learn need not look at all, which takes longer than many a training.
    """
    if y.dtype.kind in "iub":
        return distinct_labels(y)
    if y.dtype.kind == "f" and np.isnan(y).any():
        _refuse_unlike(y)
    try:
        check_classification_targets(y[:1])  # other objects may have no order
        found = distinct_labels(y)
    except (TypeError, ValueError):
        _refuse_unlike(y)
        raise
    if y.dtype.kind == "O" and any(map(is_nothing, found)):
        _refuse_unlike(y)
    check_classification_targets(y if 2 * len(found) > len(y) else np.tile(found, 2))  # it warns of many classes
    return found


def refuse_no_target(name: str, y: Any) -> None:
    """Refuse to learn without targets; ``name`` is that of the estimator."""
    if y is None:
        raise ValueError(f"{name} requires y to be passed, but the target y is None.")


def refuse_no_numbers(y: Any) -> None:
    """Refuse targets that NumPy would make nanoseconds of, and text that is not a number."""
    kind = getattr(getattr(y, "dtype", None), "kind", "")
    if kind in ("M", "m"):
        raise ValueError("y has dates or durations: make numbers of them, such as days since the first one.")
    if kind in ("O", "U"):
        for value in np.asarray(y, object).ravel():
            if isinstance(value, str) and not is_numeral(value):
                raise ValueError(f"y has text, such as {str(value)!r}, and a regressor learns numbers.")


def is_numeral(text: str) -> bool:
    """Whether text is a number as Python writes it."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _refuse_unlike(y) -> None:
    """Refuse objects that have no order, in a sentence: missing labels, numbers, and text among numbers."""
    missing = [row for row, label in enumerate(y) if is_nothing(label)]
    if missing:
        n = f"{len(missing):,} label{' is' if len(missing) == 1 else 's are'}"
        raise ValueError(f"Input y contains NaN: {n} missing, the first in row {missing[0]}. Leave out such rows.")
    if all(isinstance(label, Integral) for label in y):
        raise ValueError(f"Unknown label type: y has whole numbers as objects, such as {y[0]!r}: pass y.astype(int).")
    first = {isinstance(label, str): label for label in y[::-1]}
    if len(first) > 1:
        raise ValueError(
            f"y has text and other labels, such as {first[True]!r} and {first[False]!r}: make text of all of them."
        )


def encoded_labels(y, seen, classes, *, may_grow: bool) -> np.ndarray:
    """Positions of the labels in ``classes``, all of which must be there; ``seen`` are the distinct labels."""
    try:
        indices = np.searchsorted(classes, seen)
    except TypeError:  # text and numbers have no order
        raise ValueError(
            f"Labels like {seen[:1].tolist()[0]!r} do not mix with the classes {_listed(classes)}."
        ) from None
    indices[indices == len(classes)] = 0
    unknown = np.flatnonzero(classes[indices] != seen)
    if unknown.size:
        row = np.flatnonzero(y == seen[unknown[0]])[0]
        label = seen[unknown].tolist()[0]
        raise ValueError(
            f"Label {label!r} (row {row}) is not one of the classes {_listed(classes)} that the model knows; "
            "pass all of them as `classes` to the first call of partial_fit"
            f"{', or set new_classes=' + repr('grow') if may_grow else ''}."
        )
    bounds = _integer_range(seen)
    if bounds is None:
        return indices[np.searchsorted(seen, y)].astype(np.int64, copy=False)
    table = np.zeros(bounds[1] - bounds[0] + 1, np.int64)
    table[seen.astype(np.int64, copy=False) - bounds[0]] = indices
    return table[y.astype(np.int64, copy=False) - bounds[0]]


def _listed(classes) -> str:
    shown = ", ".join(repr(c) for c in classes[:10].tolist())
    return f"[{shown}{', ...' if len(classes) > 10 else ''}]"


def example_weights(sample_weight, class_weight, X, classes, labels):
    """Weight of every example, or None where all are 1."""
    if sample_weight is None and class_weight is None:
        return None
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    if class_weight is not None:
        per_class = compute_class_weight(class_weight, classes=classes, y=classes[labels])
        if not (np.isfinite(per_class).all() and (per_class >= 0).all()):
            raise ParameterError("class_weight", class_weight, "non-negative numbers")
        weights = weights * per_class[labels]
    return np.ascontiguousarray(weights)


def check_two_classes(classes) -> None:
    """Refuse labels that leave nothing to tell apart."""
    if len(classes) < 2:
        raise ValueError(
            f"Training needs at least two classes, but all labels are {classes[:1].tolist()[0]!r}: one class."
        )


def check_classes_have_weight(weights, classes, labels):
    """Refuse weights that leave a class of a whole training without any row."""
    if weights is None or not weights.any():  # which is refused, or not, elsewhere
        return
    refuse_empty_classes(classes, np.bincount(labels, weights, minlength=len(classes)) == 0)


def refuse_empty_classes(classes, empty):
    """Refuse classes whose rows all have weight 0."""
    if empty.any():
        raise ValueError(
            f"All rows of class {classes[empty].tolist()[0]!r} have weight 0 (sample_weight, class_weight): there is "
            "nothing to learn of it. Leave these rows out, or give them a weight."
        )


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
