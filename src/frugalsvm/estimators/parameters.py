"""What estimators share of their constructors and docstrings, so that each parameter is described once.

The docstring of a base class describes the parameters and attributes that its subclasses have in common. `documented`
adds them to the docstring of an estimator: parameters in the order of the constructor and with its defaults, attributes
where a line consists of their names. What an estimator describes itself takes precedence. One that is made after
another (``_ordinary``, on many machines) takes what neither it nor its bases describe from that.
"""

import inspect
import re
from functools import cache
from typing import Any, TypeVar

from sklearn.utils.validation import check_is_fitted

__all__ = ["documented", "keep_parameters", "learned"]

_Estimator = TypeVar("_Estimator", bound=type)
_SECTION = re.compile(r"^(Parameters|Attributes)\n-+$(.*?)(?=\n\n\w[\w ]*\n-+$|\Z)", re.DOTALL | re.MULTILINE)


def keep_parameters(estimator: Any, arguments: dict[str, Any]) -> None:
    """Give an estimator what its constructor was called with: ``arguments`` are the ``locals()`` of that."""
    for name, value in arguments.items():
        if value is not estimator:
            setattr(estimator, name, value)


class learned(property):
    """A property of what was learned: reading it before `fit` is scikit-learn's `NotFittedError`."""

    def __get__(self, estimator: Any, owner: Any = None) -> Any:
        if estimator is not None:
            check_is_fitted(estimator)
        return super().__get__(estimator, owner)


def documented(cls: _Estimator) -> _Estimator:
    """An estimator whose docstring describes all parameters and attributes."""
    if cls.__doc__ is not None:  # it is None with python -OO
        cls.__doc__ = _SECTION.sub(lambda found: _completed(cls, found), inspect.cleandoc(cls.__doc__))
    return cls


def _completed(cls: type, section: re.Match) -> str:
    title, body = section.groups()
    entries = _parameters(cls) if title == "Parameters" else _attributes(cls, body)
    return "\n".join([title, "-" * len(title), *entries])


def _parameters(cls: Any) -> list[str]:
    parameters = list(inspect.signature(cls.__init__).parameters.values())[1:]  # without self
    found = []
    for parameter in parameters:
        head, *text = _described(cls, parameter.name).split("\n")
        head = head if "default=" in head else f"{head}, default={_shown(parameter.default)}"
        found += [head, *text]
    return found


def _attributes(cls: type, body: str) -> list[str]:
    found: list[str] = []
    for entry in _entries(body):
        found += [entry] if " : " in entry else [_described(cls, name) for name in entry.split(", ")]
    return found


def _described(cls: type, name: str) -> str:
    """The nearest description, in the order in which Python looks for methods."""
    for each in (*cls.__mro__, *getattr(cls, "_ordinary", object).__mro__):
        if name in _descriptions(each):
            return _descriptions(each)[name]
    raise TypeError(f"No docstring of {cls.__name__} and its bases describes {name}.")


@cache
def _descriptions(cls: type) -> dict[str, str]:
    """The entries of all sections of a docstring, by the first name of each."""
    text = inspect.cleandoc(vars(cls).get("__doc__") or "")
    entries = [entry for _, body in _SECTION.findall(text) for entry in _entries(body) if " : " in entry]
    return {re.split(", | : ", entry, maxsplit=1)[0]: entry for entry in entries}


def _entries(body: str) -> list[str]:
    return [entry for entry in re.split(r"\n(?=\S)", body) if entry]


def _shown(default: Any) -> str:
    """A default as it is written in code."""
    if isinstance(default, str):
        return f'"{default}"'
    if isinstance(default, float) and 0.0 < default < 0.01:
        return f"{default:.0e}".replace("e-0", "e-")
    return repr(default)
