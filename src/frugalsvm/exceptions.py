"""Errors and warnings of this library; a solver that stops at its limit gives scikit-learn's `ConvergenceWarning`.

Errors name parameters as fields, not in their words alone: Python says ``n_features=3``, and the command line
``--features 3``.
"""

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from string import Formatter
from typing import Any

__all__ = [
    "ManyClassesWarning",
    "Naming",
    "ParameterError",
    "PoorFitWarning",
    "Sentence",
    "TaskError",
    "UnknownValuesWarning",
]

_PACKAGE = str(Path(__file__).parent)

# How an interface writes a parameter and its value (None: the name alone); None if it has no such parameter.
Naming = Callable[[str, Any], str | None]


def _python_name(parameter: str, value: Any) -> str:
    return f"{parameter}=" if value is None else f"{parameter}={value!r}"


class Sentence(str):
    """A sentence whose end is about parameters; as a string it has the names that they have in Python.

    Parameters
    ----------
    words : str
        The beginning, in which nothing is replaced: it may quote the user's data.
    about : str, default=""
        The end, in which ``{n_features}`` stands for the parameter of that name.
    remedies : tuple of str, default=()
        Parameters of whoever reads the data that would make it acceptable, with values ("ignore=age") where it takes
        others than the usual ones.
    **values
        Values of parameters that ``about`` names; of the others the name alone is meant.

    Examples
    --------
    >>> from frugalsvm.exceptions import Sentence
    >>> sentence = Sentence("rows.txt, line 3: feature '4' is", " beyond {n_features}", n_features=3)
    >>> print(sentence)
    rows.txt, line 3: feature '4' is beyond n_features=3
    >>> sentence.named(lambda parameter, value: f"--{parameter.removeprefix('n_')} {value}")
    "rows.txt, line 3: feature '4' is beyond --features 3"
    """

    words: str
    about: str
    remedies: tuple[str, ...]
    values: dict[str, Any]

    def __new__(cls, words: str, about: str = "", remedies: tuple[str, ...] = (), **values: Any) -> "Sentence":
        values = {name: values.get(name) for _, name, _, _ in Formatter().parse(about) if name is not None}
        end = about.format(**{name: _python_name(name, value) for name, value in values.items()})
        made = super().__new__(cls, words + end)
        made.words, made.about, made.remedies, made.values = words, about, remedies, values
        return made

    def named(self, names: Naming) -> str:
        """The sentence with the names of another interface; without its end if that lacks one of the parameters."""
        found = {name: names(name, value) for name, value in self.values.items()}
        return self.words if None in found.values() else self.words + self.about.format(**found)


class ParameterError(ValueError):
    """A value that a parameter cannot have.

    Parameters
    ----------
    parameter : str
        Its name in Python.
    value : object
        What was given.
    expected : str, default=""
        What it must be: "a positive number".
    problem : str, default=""
        Or else what is wrong with it: "is not a size such as '64KB'".

    Examples
    --------
    >>> from frugalsvm.exceptions import ParameterError
    >>> error = ParameterError("n_features", 0, "an integer of at least 1")
    >>> print(error)
    n_features must be an integer of at least 1, not 0.
    >>> error.named(lambda parameter, value: "--features" if value is None else f"--features {value}")
    '--features must be an integer of at least 1, not 0.'
    """

    def __init__(self, parameter: str, value: Any, expected: str = "", problem: str = ""):
        super().__init__(parameter, value, expected, problem)
        self.parameter, self.value, self.expected, self.problem = parameter, value, expected, problem

    def __str__(self) -> str:
        if self.expected:
            return f"{self.parameter} must be {self.expected}, not {self.value!r}."
        return f"{self.parameter}={self.value!r} {self.problem}."

    def named(self, names: Naming) -> str:
        """The sentence with the name that the parameter has in another interface, if it has one there."""
        if self.expected:
            name = names(self.parameter, None)
            return str(self) if name is None else f"{name} must be {self.expected}, not {self.value!r}."
        given = names(self.parameter, self.value)
        return str(self) if given is None else f"{given} {self.problem}."


class TaskError(ValueError):
    """Labels of a file that cannot be learned as what they were said to be: classes, or numbers.

    Parameters
    ----------
    sentence : Sentence
    """

    def __init__(self, sentence: Sentence) -> None:
        super().__init__(sentence)
        self.sentence = sentence


class ManyClassesWarning(UserWarning):
    """A classifier is given very many different numbers, each of which it takes for a class."""


class PoorFitWarning(UserWarning):
    """A classifier is no better on the rows that it has just learned than one that always says the largest class."""


class UnknownValuesWarning(UserWarning):
    """Rows to predict have categories that training has not seen, or lack values of which training had all."""


def warn_caller(message: str, category: type[Warning]) -> None:
    """A warning that points at the first caller outside of this package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
