"""Constructors and docstrings of estimators, so that each parameter is declared and described once.

What is annotated in the body of a class under `parameters` is a parameter: its name, type and default, what it may be
(`frugalsvm.estimators.constraints`), and whether it can be passed by its position. Bases of estimators share such
classes. One under `estimator` gets a constructor of all parameters in its bases, which type checkers know as well; a
nearer declaration takes precedence.

The docstring of a base class describes the parameters and attributes that its subclasses have in common. `documented`
adds them to the docstring of an estimator: parameters in the order of the constructor and with its defaults, attributes
where a line consists of their names. An attribute without a text has that of its property. What an estimator describes
itself takes precedence. One that is made after another (``_ordinary``, on many machines) takes what neither it nor its
bases describe from that.
"""

import dataclasses
import inspect
import re
from collections.abc import Callable
from functools import cache
from typing import Any, Literal, NamedTuple, TypeVar, dataclass_transform

from sklearn.utils.validation import check_is_fitted

_Estimator = TypeVar("_Estimator", bound=type)
# The order of constructors: what an estimator declares itself, the kernel, what it shares with its family, and these.
_KERNEL = ("kernel", "gamma", "metric", "degree", "coef0")
_LAST = ("max_iter", "shuffle", "class_weight", "warm_start", "calibrate", "n_jobs", "verbose", "random_state")
_SECTION = re.compile(r"^(Parameters|Attributes)\n-+$(.*?)(?=\n\n\w[\w ]*\n-+$|\Z)", re.DOTALL | re.MULTILINE)


class _Declared(NamedTuple):
    default: Any
    check: Callable[[str, Any], Any] | None = None
    kw_only: bool = True
    init: bool = True


def parameter(*, default: Any, check: Callable[[str, Any], Any] | None = None, kw_only: bool = True) -> Any:
    """A parameter with a constraint, or one that can be passed by its position."""
    return _Declared(default, check, kw_only)


def fixed(value: Any, *, init: Literal[False] = False) -> Any:
    """What bases have a parameter for, and this class does not."""
    return _Declared(value, init=init)


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(parameter, fixed))
def parameters(cls: _Estimator) -> _Estimator:
    """A class whose annotated attributes are parameters of estimators that inherit it."""
    own: Any = cls
    own._declared = {}
    for name, kind in inspect.get_annotations(cls).items():
        if not (name.startswith("_") or name.endswith("_")):
            value = vars(cls)[name]
            declared = value if isinstance(value, _Declared) else _Declared(value)
            own._declared[name] = kind, declared
            setattr(cls, name, declared.default)
    checks = {name: each.check for name, (_, each) in own._declared.items() if each.check is not None}
    own._constraints = {**vars(cls).get("_constraints", {}), **checks}
    return cls


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(parameter, fixed))
def estimator(cls: _Estimator) -> _Estimator:
    """An estimator with a constructor of all its parameters, which its docstring describes."""
    own: Any = parameters(cls)
    found: dict[str, tuple[Any, _Declared]] = {}
    for each in cls.__mro__:
        for name, declared in vars(each).get("_declared", {}).items():
            found.setdefault(name, declared)
    fields = [
        (name, kind, dataclasses.field(default=each.default, kw_only=each.kw_only))
        for name, (kind, each) in sorted(found.items(), key=lambda item: _rank(item[0], own._declared))
        if each.init
    ]
    init: Any = vars(dataclasses.make_dataclass(cls.__name__, fields, repr=False, eq=False))["__init__"]
    init.__annotations__ = {name: kind for name, kind, _ in fields if kind is not Any}
    own.__init__ = init
    return documented(cls)


def _rank(name: str, own: Any) -> tuple[int, int]:
    if name in _KERNEL:
        return 1, _KERNEL.index(name)
    if name in _LAST:
        return 3, _LAST.index(name)
    return (0, 0) if name in own else (2, 0)


class learned(property):
    """A property of what was learned: reading it before `fit` is scikit-learn's `NotFittedError`."""

    def __init__(self, fget: Callable[[Any], Any], doc: str | None = None):
        super().__init__(fget)
        self.__doc__ = doc or fget.__doc__  # which Python 3.11 has in properties only, not in what inherits them

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
        named = [entry] if " : " in entry else [_described(cls, name) for name in entry.split(", ")]
        found += [_with_text(cls, each) for each in named]
    return found


def _with_text(cls: type, entry: str) -> str:
    """The entry of an attribute; where it has no text, with that of the property."""
    known = getattr(cls, entry.split(" : ")[0], None)
    if "\n" in entry or not isinstance(known, property) or known.__doc__ is None:
        return entry
    return f"{entry}\n    {inspect.cleandoc(known.__doc__)}"


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
