"""C files with places to fill in: ``@place@``, and names of the model, ``name_x`` and ``NAME_X``.

A line that begins with ``@place?`` is there if the place has a value, one with ``@!place?`` if it has none.
"""

import re
from collections.abc import Iterable
from functools import cache
from importlib import resources
from typing import Any

from frugalsvm.export._c_tables import NUMBERS_IN_A_LINE, Names, c_string
from frugalsvm.export.models import labels_of

LABELS = "@labels@"  # where the table of labels comes: after names are replaced, which may be part of a label
_OPTIONAL = re.compile(r"@(!?)(\w+)\?(.*)")
# What C promises of its types: a label has the smallest that holds all of them on every machine.
_INTEGERS = {"int": 2**15 - 1, "long": 2**31 - 1, "long long": 2**63 - 1}


@cache
def c_file(package: str, path: str) -> str:
    """A file in the folder ``source`` of a package of `frugalsvm.export`."""
    return (resources.files(f"frugalsvm.export.{package}") / "source" / path).read_text().rstrip("\n")


def named(text: str, name: str) -> str:
    """The text with the names of the model: ``name_x`` is a function or type, ``NAME_X`` a constant."""
    text = re.sub(r"\bname(?=_|\.h)", name, text)
    return re.sub(r"\bNAME(?=_)", name.upper(), text)


def filled(text: str, **places: Any) -> str:
    """The text with its ``@places@`` filled; a line with nothing to be filled in goes."""
    lines = []
    for line in text.split("\n"):
        found = _OPTIONAL.fullmatch(line)
        if found is None:
            lines.append(line)
        elif bool(places[found[2]]) != bool(found[1]):
            lines.append(found[3])
    text = "\n".join(lines)
    for place, value in places.items():
        text = text.replace(f"@{place}@" if value else f"@{place}@\n", str(value or ""))
    return text


def written(names: Names, path: str, **places: Any) -> str:
    """A file of a model that predicts, with its names and its type of numbers, which is ``real`` in files."""
    ready = {"row": names.row, "passed": names.passed, "one": names.literal(1.0), "zero": names.literal(0.0)}
    text = filled(c_file("predictor_c", path).replace("@f@", names.suffix), **ready, **places)
    return named(re.sub(r"\breal\b", names.real, text), names.prefix)


def label_table(model: Any, name: str, *, is_defined: bool) -> str:
    """The declaration of the table of labels, or its definition; nothing without classes."""
    if model.classes is None:
        return ""
    kind, labels = labels_of(model)
    largest = 0 if kind in ("str", "float") else max(abs(label) for label in labels)
    if kind == "str":
        kind, literals = "char *const", [c_string(label) for label in labels]
    elif kind == "float":
        kind, literals = "double", [repr(label) for label in labels]
    else:
        kind = next((each for each, limit in _INTEGERS.items() if largest <= limit), "")
        if not kind:
            raise ValueError(f"The label {largest} is too large for C.")
        literals = [f"{int(label)}{'LL' if largest > _INTEGERS['long'] else ''}" for label in labels]
    declaration = f"const {kind} {name}_labels[{name.upper()}_N_CLASSES]"
    return f"{declaration} = {{{', '.join(literals)}}};" if is_defined else f"extern {declaration};"


def table(kind: str, name: str, literals: Iterable[str], in_a_line: int = NUMBERS_IN_A_LINE) -> str:
    """The definition of a constant array."""
    literals = list(literals)
    lines = (", ".join(literals[k : k + in_a_line]) for k in range(0, len(literals), in_a_line))
    inner = ",\n    ".join(lines)
    return f"static const {kind} {name}[{len(literals)}] = {{\n    {inner}\n}};"
