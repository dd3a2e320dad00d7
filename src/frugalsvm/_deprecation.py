"""Names that go away: they work for two more minor versions, with a `FutureWarning` that says what to use instead.

``docs/policy.rst`` is what users are promised. Whatever is deprecated is declared with its version here, so that a test
can find what is overdue.
"""

import functools
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple, ParamSpec, TypeVar

__all__ = ["DECLARED", "Deprecation", "deprecated", "renamed_argument"]

_Parameters, _Result = ParamSpec("_Parameters"), TypeVar("_Result")

GRACE = 2  # minor versions in which a deprecated name still works


class Deprecation(NamedTuple):
    """A name that goes away.

    Parameters
    ----------
    name : str
        As users write it: ``"BSGDClassifier.fit_stream"``.
    since : str
        The version that deprecates it: ``"0.2"``.
    instead : str
        What to use instead, as it is written in code.
    """

    name: str
    since: str
    instead: str

    @property
    def removal(self) -> str:
        """The first version without it."""
        major, minor = map(int, self.since.split(".")[:2])
        return f"{major}.{minor + GRACE}"

    def is_due(self, version: str) -> bool:
        """Whether a version should no longer have it."""
        present, last = (tuple(map(int, words.split(".")[:2])) for words in (version, self.removal))
        return present >= last

    def warn(self, stacklevel: int = 2) -> None:
        """Warn whoever called the function that calls this."""
        warnings.warn(
            f"{self.name} is deprecated since version {self.since} and will be removed in version {self.removal}. "
            f"Use {self.instead} instead.",
            FutureWarning,
            stacklevel=stacklevel + 1,
        )


DECLARED: list[Deprecation] = []


def _declared(name: str, since: str, instead: str) -> Deprecation:
    DECLARED.append(Deprecation(name, since, instead))
    return DECLARED[-1]


def deprecated(
    name: str, *, since: str, instead: str
) -> Callable[[Callable[_Parameters, _Result]], Callable[_Parameters, _Result]]:
    """A function or method that warns when it is called; its docstring says the same.

    Examples
    --------
    >>> import warnings
    >>> from frugalsvm._deprecation import DECLARED, deprecated
    >>> @deprecated("halve", since="0.2", instead="x / 2")
    ... def halve(x):
    ...     return x / 2
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     halve(3)
    1.5
    >>> print(caught[0].message)
    halve is deprecated since version 0.2 and will be removed in version 0.4. Use x / 2 instead.
    >>> del DECLARED[-1]  # an example, not a name of this library
    """
    deprecation = _declared(name, since, instead)

    def decorated(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
        @functools.wraps(function)
        def warning(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
            deprecation.warn()
            return function(*args, **kwargs)

        first, _, rest = (function.__doc__ or "").partition("\n")
        note = f".. deprecated:: {since}\n   Use ``{instead}`` instead; removed in version {deprecation.removal}.\n"
        indent = " " * (len(rest.lstrip("\n")) - len(rest.lstrip("\n").lstrip(" ")))
        warning.__doc__ = f"{first}\n\n" + "".join(f"{indent}{line}\n" for line in note.splitlines()) + rest
        return warning

    return decorated


def renamed_argument(
    old: str, new: str, *, of: str, since: str
) -> Callable[[Callable[..., _Result]], Callable[..., _Result]]:
    """A function that takes a keyword argument under its old name, too, with a warning.

    Parameters of estimators are renamed with ``_renamed_parameters`` instead, which model files know as well.
    """
    deprecation = _declared(f"The argument {old!r} of {of}", since, f"{new!r}")

    def decorated(function: Callable[..., _Result]) -> Callable[..., _Result]:
        @functools.wraps(function)
        def with_old_name(*args: Any, **kwargs: Any) -> _Result:
            if old in kwargs:
                if new in kwargs:
                    raise TypeError(f"{of} got both {old!r} and {new!r}, its new name; pass {new!r} only.")
                deprecation.warn()
                kwargs[new] = kwargs.pop(old)
            return function(*args, **kwargs)

        return with_old_name

    return decorated
