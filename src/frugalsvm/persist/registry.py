"""Which classes a model file may name: an explicit list, loaded class by class when a file needs them.

A name that is not on the list is an error; nothing is imported because a file says so.
"""

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

from frugalsvm._homes import AUTOMATIC, CONFORMAL, ESTIMATORS, PIPELINES, SEARCHES
from frugalsvm._stored import stored_as, stored_under
from frugalsvm.persist.errors import ModelFileError
from frugalsvm.persist.legacy import PARTS_OF_VERSION_1
from frugalsvm.persist.sklearn_steps import PIPELINE, SKLEARN_CLASSES, refuse_unknown_steps, sklearn_class

__all__ = ["HOMES", "Adapter", "adapter_of", "class_named", "name_of_part", "part_named", "register"]

# Where classes are defined: all estimators, and classes of the edges that files hold
HOMES = {
    **ESTIMATORS,
    **PIPELINES,
    **AUTOMATIC,
    **SEARCHES,
    **CONFORMAL,
    # Feature maps of pipelines: plain attributes, of which nothing is run before somebody predicts
    "AdditiveChi2Sampler": "sklearn.kernel_approximation",
    "Nystroem": "sklearn.kernel_approximation",
    "PolynomialCountSketch": "sklearn.kernel_approximation",
    "PolynomialFeatures": "sklearn.preprocessing",
    "RBFSampler": "sklearn.kernel_approximation",
    "SkewedChi2Sampler": "sklearn.kernel_approximation",
}


class Adapter(NamedTuple):
    """How objects of a class are taken apart and made again."""

    name: str
    cls: type
    get_state: Callable[[Any], dict] | None  # None: by `__getstate__` if the class defines one, or `vars`
    set_state: Callable[[Any, dict], None] | None  # None: by `__setstate__`, or into `__dict__`


_ADAPTERS: dict[str, Adapter] = {}
_NAMES: dict[type, str] = {}


def register(
    cls: type,
    *,
    name: str | None = None,
    get_state: Callable[[Any], dict] | None = None,
    set_state: Callable[[Any, dict], None] | None = None,
) -> type:
    """Let model files hold objects of a class. Can be used as a decorator.

    Parameters
    ----------
    cls : type
        Objects are made with ``cls.__new__(cls)``; ``__init__`` is not called. NamedTuples are made from their fields.
    name : str, default=None
        What files call it; None is the name of the class. It must stay the same for files to stay readable.
    get_state : callable, default=None
        From an object to a dict with keys of type str. None is what ``__getstate__`` returns if the class has one,
        and otherwise all attributes.
    set_state : callable, default=None
        Gives a new object such a state. None is ``__setstate__`` if the class has one, and otherwise sets attributes.

    Returns
    -------
    type
        The class.

    Examples
    --------
    >>> from frugalsvm.persist import register
    >>> @register
    ... class Offset:
    ...     def __init__(self, by):
    ...         self.by = by
    """
    name = cls.__name__ if name is None else name
    known = _ADAPTERS.get(name)
    if known is not None and (known.cls.__module__, known.cls.__qualname__) != (cls.__module__, cls.__qualname__):
        raise ValueError(f"The name {name!r} is registered for another class, {known.cls.__qualname__}.")
    if known is None and name in HOMES and not _is_at_home(name, cls):
        raise ValueError(f"The name {name!r} belongs to a class of {HOMES[name]}.")
    if issubclass(cls, tuple) and not hasattr(cls, "_fields"):
        raise ValueError(f"{cls.__qualname__} is a tuple without names: only NamedTuples can be registered.")
    _ADAPTERS[name] = Adapter(name, cls, get_state, set_state)
    _NAMES[cls] = name
    return cls


def class_named(name: Any) -> Adapter:
    """The class that a file names."""
    if isinstance(name, str) and name in SKLEARN_CLASSES:
        get_state = _pipeline_state if name == PIPELINE else None
        return Adapter(name, sklearn_class(name), get_state, lambda value, state: vars(value).update(state))
    if not isinstance(name, str) or (name not in _ADAPTERS and name not in HOMES):
        raise ModelFileError(f"The model file names a class {str(name)[:80]!r} that frugalsvm does not know.")
    if name not in _ADAPTERS:
        register(getattr(import_module(HOMES[name]), name))
    return _ADAPTERS[name]


def adapter_of(value: Any) -> Adapter | None:
    """How to take an object apart; None if its class is not registered."""
    cls = type(value)
    if cls in _NAMES:
        return _ADAPTERS[_NAMES[cls]]
    if cls.__module__.startswith("sklearn."):
        for name in SKLEARN_CLASSES:
            if name.rpartition(".")[2] == cls.__name__ and sklearn_class(name) is cls:
                return class_named(name)
    return class_named(cls.__name__) if _is_at_home(cls.__name__, cls) else None


def _pipeline_state(pipeline: Any) -> dict:
    """The attributes of a pipeline of scikit-learn, all of whose steps can be saved."""
    refuse_unknown_steps(pipeline, lambda step: adapter_of(step) is not None)
    return vars(pipeline)


def _is_at_home(name: str, cls: type) -> bool:
    """Whether it is the class that the list means: what its home calls so, wherever it was defined."""
    home = sys.modules.get(HOMES.get(name, ""))
    return getattr(home, name, None) is cls


def name_of_part(cls: type) -> str:
    """What files call a NamedTuple."""
    declared = stored_as(cls)
    if declared is not None:
        return declared.name
    if cls in _NAMES:
        return _NAMES[cls]
    raise ModelFileError(f"{cls.__qualname__} of {cls.__module__} cannot be saved: it is not in the registry.")


def part_named(name: Any) -> type:
    """The NamedTuple that a file names."""
    if isinstance(name, str):
        declared = stored_under(PARTS_OF_VERSION_1.get(name, name))
        if declared is not None:
            return declared.cls
        if name in _ADAPTERS and issubclass(_ADAPTERS[name].cls, tuple):
            return _ADAPTERS[name].cls
    raise ModelFileError(f"The model file names a part {str(name)[:80]!r} that frugalsvm does not know.")
