"""Which classes a model file may name, and how their objects are taken apart and made again.

The classes are an explicit list, loaded class by class when a file needs them. A name that is not on it is an error;
nothing is imported because a file says so.
"""

import inspect
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from frugalsvm._homes import AUTOMATIC, CONFORMAL, ESTIMATORS, PIPELINES, SEARCHES
from frugalsvm._locks import ThreadSafe
from frugalsvm._stored import stored_as, stored_under
from frugalsvm.persist.archive import ModelFileError, file_errors, malformed
from frugalsvm.persist.legacy import name_today
from frugalsvm.persist.savable import (
    Saved,
    check_object,
    check_parts,
    parameter_names,
    with_new_names,
    without_undeclared,
)
from frugalsvm.persist.sklearn_steps import (
    PIPELINE,
    SKLEARN_CLASSES,
    check_pipeline,
    check_transformer,
    refuse_unknown_steps,
)

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
        return Adapter(name, _sklearn_class(name), get_state, lambda value, state: vars(value).update(state))
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
            if name.rpartition(".")[2] == cls.__name__ and _sklearn_class(name) is cls:
                return class_named(name)
    return class_named(cls.__name__) if _is_at_home(cls.__name__, cls) else None


def _sklearn_class(name: str) -> type:
    module, _, class_name = name.rpartition(".")
    return getattr(import_module(module), class_name)


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
        declared = stored_under(name_today(name))
        if declared is not None:
            return declared.cls
        if name in _ADAPTERS and issubclass(_ADAPTERS[name].cls, tuple):
            return _ADAPTERS[name].cls
    raise ModelFileError(f"The model file names a part {str(name)[:80]!r} that frugalsvm does not know.")


# --- states of objects --------------------------------------------------------------------------------------------


def state_of(
    value: Any, adapter: Adapter, *, caches: bool, for_prediction: bool = False
) -> tuple[dict[str, Any], bool]:
    """The attributes of an object that files hold, and whether they are all of them.

    Without ``caches``, or for classes other than the estimators here, it is what ``__getstate__`` tells.
    """
    saved = _saved_of(adapter)
    prediction_state = None if saved is None else saved.prediction_state
    why = saved.not_ready(value) if for_prediction and saved is not None else None
    if why is not None:
        raise ModelFileError(f"This {adapter.name} {why}, or save it with for_prediction=False.")
    state, complete = vars(value), True
    if for_prediction and prediction_state is not None and len(state) > len(parameter_names(adapter.cls)):
        state = prediction_state(value)
    elif adapter.get_state is not None:
        state, complete = adapter.get_state(value), False
    elif _defines_state(adapter.cls) and not (caches and prediction_state is not None):
        state, complete = value.__getstate__(), False
        if type(state) is not dict:
            raise ModelFileError(f"The state of a {adapter.name} cannot be saved: it is not a dict.")
    return state if saved is None else without_undeclared(value, state), complete


def restored(adapter: Adapter, state: dict[str, Any], complete: bool) -> Any:
    """An object with these attributes."""
    cls: Any = adapter.cls
    if any(not name.isidentifier() or name.startswith("__") for name in state):
        raise malformed(f"{adapter.name} has an impossible attribute")
    state = with_new_names(cls, state)
    if issubclass(cls, BaseEstimator) and cls.__module__.startswith(("frugalsvm.", "sklearn.")):
        _complete_parameters(adapter, state)
    value = cls.__new__(cls)
    if adapter.set_state is not None:
        adapter.set_state(value, state)
    elif complete or not hasattr(cls, "__setstate__"):
        vars(value).update(state)
    else:
        check_parts(adapter.name, state)  # before anything is computed from it
        with file_errors(f"the state of {adapter.name} is not as it should be"):
            value.__setstate__(state)
    with file_errors(f"{adapter.name} is not as it should be"), np.errstate(all="ignore"):
        _check(adapter, value)
    return value


def _check(adapter: Adapter, value: Any) -> None:
    if adapter.name == PIPELINE:
        check_pipeline(value)
    elif adapter.cls.__module__.startswith("sklearn."):
        check_transformer(adapter.name, value, parameter_names(adapter.cls))
    elif _saved_of(adapter) is not None:
        check_object(value)
    else:
        check_parts(adapter.name, vars(value))


def _saved_of(adapter: Adapter) -> Saved | None:
    """What a class of this package says about its objects in files; subclasses of others have their own rules."""
    return getattr(adapter.cls, "_saved", None) if adapter.cls.__module__.startswith("frugalsvm.") else None


def _defines_state(cls: type) -> bool:
    """Whether a class itself says what its state is."""
    known = (object, ThreadSafe, *BaseEstimator.__mro__)
    return any("__getstate__" in vars(base) for base in cls.__mro__ if base not in known)


def _complete_parameters(adapter: Adapter, state: dict[str, Any]) -> None:
    """Give parameters that came after the file was written their defaults; refuse attributes nobody knows."""
    names = set(parameter_names(adapter.cls))
    unknown = [name for name in state if name not in names and not (name.startswith("_") or name.endswith("_"))]
    if unknown:
        raise malformed(f"{adapter.name} has no parameter {unknown[0][:80]!r}")
    for name in names - set(state):
        default = inspect.signature(adapter.cls).parameters[name].default
        if default is inspect.Parameter.empty:
            raise malformed(f"{adapter.name} lacks its parameter {name!r}")
        state[name] = default
