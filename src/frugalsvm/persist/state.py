"""Taking objects of registered classes apart, and making them again."""

import inspect
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from frugalsvm._locks import ThreadSafe
from frugalsvm.persist.errors import ModelFileError, file_errors, malformed
from frugalsvm.persist.registry import Adapter
from frugalsvm.persist.savable import Saved, check_object, check_parts, with_new_names
from frugalsvm.persist.sklearn_steps import PIPELINE, check_pipeline, check_transformer

__all__ = ["parameter_names", "restored", "saved_of", "state_of"]


def parameter_names(cls: Any) -> list[str]:
    """The parameters of an estimator's constructor; none for other classes."""
    return list(cls._get_param_names()) if issubclass(cls, BaseEstimator) else []


def state_of(
    value: Any, adapter: Adapter, *, caches: bool, for_prediction: bool = False
) -> tuple[dict[str, Any], bool]:
    """The attributes of an object, and whether they are all of them.

    Without ``caches``, or for classes other than the estimators here, it is what ``__getstate__`` tells.
    """
    saved = saved_of(adapter)
    if for_prediction and saved is not None:
        why = saved.not_ready(value)
        if why is not None:
            raise ModelFileError(f"This {adapter.name} {why}, or save it with for_prediction=False.")
        if saved.prediction_state is not None and len(vars(value)) > len(parameter_names(adapter.cls)):
            return saved.prediction_state(value), True
    if adapter.get_state is not None:
        return adapter.get_state(value), False
    if not _defines_state(adapter.cls) or (caches and saved is not None and saved.prediction_state is not None):
        return vars(value), True
    state = value.__getstate__()
    if type(state) is not dict:
        raise ModelFileError(f"The state of a {adapter.name} cannot be saved: it is not a dict.")
    return state, False


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
    module, names = adapter.cls.__module__, parameter_names(adapter.cls)
    if adapter.name == PIPELINE:
        check_pipeline(value)
    elif module.startswith("sklearn."):
        check_transformer(adapter.name, value, names)
    elif saved_of(adapter) is not None:
        check_object(adapter.name, value, names)
    else:
        check_parts(adapter.name, vars(value))


def saved_of(adapter: Adapter) -> Saved | None:
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
        raise ModelFileError(f"The model file is malformed: {adapter.name} has no parameter {unknown[0][:80]!r}.")
    for name in names - set(state):
        default = inspect.signature(adapter.cls).parameters[name].default
        if default is inspect.Parameter.empty:
            raise ModelFileError(f"The model file is malformed: {adapter.name} lacks its parameter {name!r}.")
        state[name] = default
