"""What a class says about its objects in model files: a class attribute ``_saved``; and parts, which have `Stored`.

Loading checks all of it: files may be damaged or hostile, and compiled code checks nothing. An object that has none of
its attributes has not learned. Attributes that are not declared are not saved, and a file that has some is refused: it
is of a version that had other attributes, and what they meant would be silently lost.
"""

import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from frugalsvm._stored import Field, Stored, fields_of, is_finite, stored_as
from frugalsvm._version import __version__
from frugalsvm.core.records import as_numbers
from frugalsvm.persist.archive import ModelFileError, malformed
from frugalsvm.persist.values import Check

_DTYPES = {
    "x": ("f4", "f8"), "r": ("f4", "f8"), "e": ("f4",), "d": ("f8",), "i": ("i8",), "u": ("u8",), "t": ("i1",),
    "?": ("?",),
}  # fmt: skip
_FROM_PARTS_WITHIN = "sfox"  # sizes, and the type of rows, that a part shares with the parts within it
FOR_PREDICTION = "_for_prediction"  # the attribute of models that were saved for prediction and cannot learn on


class Saved(NamedTuple):
    """How model files hold objects of a class."""

    required: Mapping[str, Check]  # attributes that are there once it has learned, and what they may be
    optional: Mapping[str, Check] = {}  # others, where they are there
    is_sound: Callable[[Any], bool] = lambda model: True  # whether the attributes fit together
    check_parameters: Callable[[Any], None] | None = None  # raises if parameters are wrong
    # Attributes without what is for learning on, or None: save(for_prediction=True) makes no difference then.
    prediction_state: Callable[[Any], dict[str, Any]] | None = None
    predictor: "Saved | None" = None  # for models that were saved for prediction, where these have other attributes
    renamed: Mapping[str, str] = {}  # names of attributes in older files, and what they are now
    not_ready: Callable[[Any], str | None] = lambda model: None  # why it cannot be saved for prediction yet


def with_new_names(cls: Any, state: dict[str, Any]) -> dict[str, Any]:
    """The attributes of an object of a class, under the names that they have now: for files of older versions."""
    renamed = cls._saved.renamed if hasattr(cls, "_saved") else {}
    names = {**getattr(cls, "_renamed_parameters", {}), **renamed}
    return {names.get(name, name): value for name, value in state.items()}


def parameter_names(cls: Any) -> list[str]:
    """The parameters of an estimator's constructor; none for other classes."""
    return list(cls._get_param_names()) if issubclass(cls, BaseEstimator) else []


def without_undeclared(value: Any, state: dict[str, Any]) -> dict[str, Any]:
    """What files hold of the state of an object, with a warning for attributes that are left out."""
    saved: Saved = type(value)._saved
    known = {*saved.required, *saved.optional, *parameter_names(type(value)), FOR_PREDICTION}
    if saved.predictor is not None:
        known |= {*saved.predictor.required, *saved.predictor.optional}
    unknown = [key for key in sorted(state) if key in vars(value) and key not in known]
    if unknown:
        names = f"Attributes of {type(value).__name__} that it does not know"
        words = f"{names} are not saved: {', '.join(unknown)}. Pass them as metadata."
        warnings.warn(words, UserWarning, stacklevel=2)
    return {key: each for key, each in state.items() if key not in unknown}


# --- objects ------------------------------------------------------------------------------------------------------


def check_object(value: Any) -> None:
    """Check all attributes of an object whose class has ``_saved``."""
    saved, name, parameters = type(value)._saved, type(value).__name__, parameter_names(type(value))
    learned = {key: each for key, each in vars(value).items() if key not in parameters}
    only_predicts = learned.pop(FOR_PREDICTION, False)
    if only_predicts not in (True, False) or (only_predicts and not learned):
        raise malformed(f"{name} is not what it should be")
    if only_predicts and saved.predictor is not None:
        saved = saved.predictor
    checks = {**saved.required, **saved.optional}
    for key in (key for key in learned if key not in checks):
        if hasattr(type(value), key):
            raise malformed(f"{name} cannot have an attribute {key!r}")
        raise ModelFileError(
            f"The model file has an attribute {key[:80]!r} of {name}, which this frugalsvm ({__version__}) does not "
            "know. Load it with the version that wrote it, or train the model again."
        )
    if not learned:
        return
    for key, check in checks.items():
        if key in saved.required and key not in learned:
            raise malformed(f"{name} lacks its attribute {key!r}")
        if key in learned and not check(learned[key]):
            raise malformed(f"{name}.{key} is not what it should be")
    check_parameters(value)
    check_parts(name, learned)
    _check_apart(value)
    if not saved.is_sound(value):
        raise malformed(f"the attributes of {name} do not fit together")


def check_parameters(*objects: Any) -> None:
    """Let classes check the parameters of objects, which come from a file; classes of other packages have no checks."""
    for value in objects:
        cls: Any = type(value)
        check = cls._saved.check_parameters if hasattr(cls, "_saved") else None
        if check is None:
            continue
        probe = cls.__new__(cls)
        vars(probe).update({key: vars(value)[key] for key in parameter_names(cls) if key in vars(value)})
        try:
            check(probe)
        except ModelFileError:
            raise
        except Exception as error:
            raise malformed(f"the parameters of {cls.__name__} are wrong: {error}") from error


# --- parts --------------------------------------------------------------------------------------------------------


def check_parts(name: str, state: dict[str, Any]) -> None:
    """Check the parts of an object, each in itself, and that all have the same number of features."""
    n_features, metric = state.get("n_features_in_"), state.get("_metric")
    if metric is not None:  # the kernel may see another number of features than the rows have
        sizes = check_part(metric)
        if sizes.get("n", sizes.get("f")) != n_features:
            raise malformed(f"the arrays of {name}._metric do not fit together")
        n_features = sizes["f"]
    arrays = [id(array) for value in state.values() for array in _arrays_in(value)]
    if len(set(arrays)) < len(arrays):  # learning would change two at once, and count the one with the other
        raise malformed(f"two arrays of {name} are the same")
    for attribute, value in state.items():
        for each in value if type(value) in (list, tuple) else [value]:
            if isinstance(each, tuple) and hasattr(each, "_fields"):
                found = check_part(each).get("f", n_features)
                if type(n_features) is int and found != n_features:
                    raise malformed(f"the arrays of {name}.{attribute} do not fit together")


def _check_apart(value: Any) -> None:
    """Check that parts of an object have no array with parts of the objects inside it: each learns in its own."""
    own = {id(array) for each in vars(value).values() for array in _arrays_of_parts(each)}
    inner = (id(array) for each in _inside(value) for part in vars(each).values() for array in _arrays_of_parts(part))
    if not own.isdisjoint(inner):
        raise malformed(f"{type(value).__name__} has an array of an object inside it")


def _inside(value: Any) -> Iterator[Any]:
    """The objects with ``_saved`` that are attributes of an object, or of those."""
    for each in vars(value).values():
        if hasattr(type(each), "_saved"):
            yield each
            yield from _inside(each)


def _arrays_of_parts(value: Any) -> Iterator[np.ndarray]:
    """The arrays of a part, or of several; other arrays are only read, and may be those of others."""
    if isinstance(value, list | tuple):
        if hasattr(value, "_fields"):
            yield from _arrays_in(value)
        else:
            for each in value:
                yield from _arrays_of_parts(each)


def _arrays_in(value: Any) -> Iterator[np.ndarray]:
    """All arrays in parts, tuples and lists."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _arrays_in(each)


def check_part(part: tuple) -> dict[str, Any]:
    """Check a NamedTuple and all within; returns its sizes, and the type of its rows as ``x``."""
    declared = stored_as(type(part))
    if declared is None:  # registered by somebody else, who checks it
        return {}
    sizes: dict[str, Any] = {}
    for name, field in fields_of(type(part)).items():
        _check_field(declared, name, field, getattr(part, name), sizes)
    is_sound = getattr(part, "is_sound", None)
    if is_sound is not None and not is_sound(sizes):
        raise malformed(f"numbers of {declared.name} are out of range")
    return sizes


def _check_field(declared: Stored, name: str, field: Field, value: Any, sizes: dict[str, Any]) -> None:
    where = f"{declared.name}.{name}"
    if name in declared.checked_within or (value is None and field.may_be_none):
        return
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        _check_choice(name, field.hint, value, where)
        within = check_part(value)
        _agree(sizes, {letter: n for letter, n in within.items() if letter in _FROM_PARTS_WITHIN}, declared.name)
    elif field.element is not None:
        _agree(sizes, _matched(value, field, where), declared.name)
    else:
        _check_number(field.hint, value, field.limits, where)


def _agree(sizes: dict[str, Any], others: dict[str, Any], where: str) -> None:
    for letter, size in others.items():
        if sizes.setdefault(letter, size) != size:
            raise malformed(f"the arrays of {where} do not fit together")


def _matched(array: Any, field: Field, where: str) -> dict[str, Any]:
    """The sizes that a declared array has."""
    element, shape, (least, most) = field.element, field.shape, field.limits
    dtypes = _DTYPES[element] if isinstance(element, str) else (element,)
    if type(array) is not np.ndarray or array.ndim != len(shape):
        raise malformed(f"{where} is not an array of the right dimension")
    if array.dtype not in dtypes or not (array.flags.c_contiguous or array.size == 0):
        raise malformed(f"{where} is an array of {array.dtype}, which is not its type")
    if not is_finite(array):
        raise malformed(f"{where} has values that are not finite")
    numbers = array if array.dtype.names is None else as_numbers(array)
    if numbers.size and not (least <= numbers.min() and numbers.max() <= most):
        raise malformed(f"{where} is out of range")
    sizes: dict[str, Any] = {"x": array.dtype.str} if isinstance(element, str) and element == "x" else {}
    for letter, size in zip(shape, array.shape, strict=True):
        if letter.isdigit() and int(letter) != size:
            raise malformed(f"{where} has a wrong shape")
        if letter.isalpha():
            _agree(sizes, {letter: size}, where)
    return sizes


def _check_choice(field: str, hint: Any, value: tuple, where: str) -> None:
    """Check that a part is one of those that may be there: of the declared class, or of the kind of its field."""
    cls, declared = type(value), stored_as(type(value))
    if isinstance(hint, type) and issubclass(hint, tuple):
        allowed = cls is hint
    else:
        allowed = declared is None or declared.kind == field
    if not allowed:
        raise malformed(f"{where} cannot be a {cls.__name__}")


def _check_number(hint: Any, value: Any, limits: tuple[float, float], where: str) -> None:
    kinds = {float: (float,), int: (int,), bool: (bool,)}.get(hint)
    if kinds is None or type(value) not in kinds:
        raise malformed(f"{where} cannot be {str(value)[:40]!r}")
    if not math.isfinite(value) or not limits[0] <= value <= limits[1] or (hint is int and abs(value) > 2**63 - 1):
        raise malformed(f"{where} is out of range")
