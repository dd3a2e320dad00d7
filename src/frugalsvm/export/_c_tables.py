"""Constant arrays in C99, and what things are called."""

from typing import NamedTuple

import numpy as np

from frugalsvm.export.models import PlainModel, as_type

NUMBERS_IN_A_LINE = 8


class Names(NamedTuple):
    """What things are called in the code."""

    prefix: str
    macro: str
    real: str  # the type of numbers
    suffix: str  # of literals and of functions of <math.h>
    predicted: str  # the type of predictions
    n_scores: int
    dtype: np.dtype
    row: str  # the parameters that a row is
    passed: str  # the same, where they are passed on

    @classmethod
    def of(cls, model: PlainModel, name: str, dtype: np.dtype) -> "Names":
        real, suffix = ("float", "f") if dtype == np.float32 else ("double", "")
        predicted = real if model.decision == "value" else "int"
        n_scores = len(model.coefficients)
        if model.decision == "votes" and model.classes is not None:
            n_scores = len(model.classes)
        row, passed = f"const {real} *x", "x"
        if model.encoder is not None:
            row, passed = f"{row}, const char *const *text", "x, text"
        return cls(name, name.upper(), real, suffix, predicted, n_scores, dtype, row, passed)

    def literal(self, value) -> str:
        """The shortest decimals that give the same number back."""
        return f"{as_type(value, self.dtype)[()]}{self.suffix}"


def vector(names, what, size, values):
    return f"static const {names.real} {names.prefix}_{what}{size} = {_braced(values, names)};"


def matrix(names, what, size, values):
    rows = ",\n".join(_braced(row, names) for row in values)
    return f"static const {names.real} {names.prefix}_{what}{size} = {{\n{rows}\n}};"


def integers(names, what, size, values):
    return f"static const int {names.prefix}_{what}{size} = {{{_in_lines(list(map(str, values)))}}};"


def strings(values) -> str:
    """The values of a table of strings."""
    return "{" + _in_lines([c_string(value) for value in values]) + "}"


def _braced(values, names):
    return "{" + _in_lines([f"{value}{names.suffix}" for value in as_type(values, names.dtype)]) + "}"


def _in_lines(literals):
    lines = (", ".join(literals[k : k + NUMBERS_IN_A_LINE]) for k in range(0, len(literals), NUMBERS_IN_A_LINE))
    return ",\n".join(lines)


def c_string(text):
    """A C string of UTF-8; all but letters, digits and the like are octal, which also keeps trigraphs out."""
    plain = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _-+.,:;/()[]<>=*#@!&%"
    return '"' + "".join(chr(byte) if byte in plain else f"\\{byte:03o}" for byte in text.encode()) + '"'
