"""What a class says about its objects in model files: a class attribute ``_saved``.

Loading checks all of it: files may be damaged or hostile, and compiled code checks nothing. An object that has none of
its attributes has not learned. Attributes that are not declared are not saved, and a file that has some is refused: it
is of a version that had other attributes, and what they meant would be lost without a word.
"""

import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from frugalsvm._version import __version__
from frugalsvm.persist.errors import ModelFileError, malformed
from frugalsvm.persist.parts import check_part
from frugalsvm.persist.values import Check

__all__ = [
    "FOR_PREDICTION",
    "Saved",
    "check_object",
    "check_parameters",
    "check_parts",
    "with_new_names",
    "without_undeclared",
]

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


def check_parts(name: str, state: dict[str, Any]) -> None:
    """Check the parts of an object, each in itself, and that all have the same number of features."""
    n_features = _width_of(name, state)
    arrays = [id(array) for value in state.values() for array in _arrays_in(value)]
    if len(set(arrays)) < len(arrays):  # learning would change two at once, and count the one with the other
        raise malformed(f"two arrays of {name} are the same")
    for attribute, value in state.items():
        for each in value if type(value) in (list, tuple) and not hasattr(value, "_fields") else [value]:
            if isinstance(each, tuple) and hasattr(each, "_fields"):
                found = check_part(each).get("f", n_features)
                if type(n_features) is int and found != n_features:
                    raise malformed(f"the arrays of {name}.{attribute} do not fit together")


def _width_of(name: str, state: dict[str, Any]) -> Any:
    """The number of features that the kernel sees: a metric may have another one than the rows."""
    n_features, metric = state.get("n_features_in_"), state.get("_metric")
    if metric is None:
        return n_features
    sizes = check_part(metric)
    if sizes.get("n", sizes.get("f")) != n_features:
        raise malformed(f"the arrays of {name}._metric do not fit together")
    return sizes["f"]


def _arrays_in(value: Any) -> Iterator[np.ndarray]:
    """All arrays in parts, tuples and lists."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _arrays_in(each)


def check_object(name: str, value: Any, parameters: list[str]) -> None:
    """Check all attributes of an object whose class has ``_saved``."""
    saved: Saved = type(value)._saved
    learned = {key: each for key, each in vars(value).items() if key not in parameters}
    only_predicts = learned.pop(FOR_PREDICTION, False)
    if only_predicts not in (True, False) or (only_predicts and not learned):
        raise malformed(f"{name} is not what it should be")
    if only_predicts and saved.predictor is not None:
        saved = saved.predictor
    for key in learned:
        if key in saved.required or key in saved.optional:
            continue
        if hasattr(type(value), key):
            raise malformed(f"{name} cannot have an attribute {key!r}")
        raise ModelFileError(
            f"The model file has an attribute {key[:80]!r} of {name}, which this frugalsvm ({__version__}) does not "
            "know. Load it with the version that wrote it, or train the model again."
        )
    if not learned:
        return
    for checks, required in ((saved.required, True), (saved.optional, False)):
        for key, check in checks.items():
            if required and key not in learned:
                raise malformed(f"{name} lacks its attribute {key!r}")
            if key in learned and not check(learned[key]):
                raise malformed(f"{name}.{key} is not what it should be")
    check_parameters(name, value, parameters)
    check_parts(name, learned)
    if not saved.is_sound(value):
        raise malformed(f"the attributes of {name} do not fit together")


def without_undeclared(name: str, value: Any, state: dict[str, Any], parameters: list[str]) -> dict[str, Any]:
    """What files hold of the state of an object, with a warning for attributes that are left out."""
    saved: Saved = type(value)._saved
    known = {*saved.required, *saved.optional, *parameters, FOR_PREDICTION}
    if saved.predictor is not None:
        known |= {*saved.predictor.required, *saved.predictor.optional}
    unknown = [key for key in sorted(state) if key in vars(value) and key not in known]
    if unknown:
        warnings.warn(
            f"Attributes of {name} that it does not know are not saved: {', '.join(unknown)}. Pass them as metadata.",
            UserWarning,
            stacklevel=2,
        )
    return {key: each for key, each in state.items() if key not in unknown}


def check_parameters(name: str, value: Any, parameters: list[str]) -> None:
    """Let a class check the parameters of an object, which come from a file."""
    cls: Any = type(value)
    probe = cls.__new__(cls)
    vars(probe).update({key: vars(value)[key] for key in parameters if key in vars(value)})
    check = cls._saved.check_parameters
    try:
        if check is not None:
            check(probe)
    except ModelFileError:
        raise
    except Exception as error:
        raise malformed(f"the parameters of {name} are wrong: {error}") from error
