"""C files with places to fill in: ``@place@``, and names of the model, ``name_x`` and ``NAME_X``."""

import re
from collections.abc import Iterable
from functools import cache
from importlib import resources
from types import SimpleNamespace
from typing import Any

from frugalsvm.export._c_code import label_declaration, label_literals
from frugalsvm.export._c_tables import NUMBERS_IN_A_LINE

LABELS = "@labels@"  # where the table of labels comes: after names are replaced, which may be part of a label


@cache
def c_file(package: str, path: str) -> str:
    """A file in the folder ``source`` of a package of `frugalsvm.export`."""
    return (resources.files(f"frugalsvm.export.{package}") / "source" / path).read_text().rstrip("\n")


def named(text: str, name: str) -> str:
    """The text with the names of the model: ``name_x`` is a function or type, ``NAME_X`` a constant."""
    text = re.sub(r"\bname(?=_|\.h)", name, text)
    return re.sub(r"\bNAME(?=_)", name.upper(), text)


def label_table(model: Any, name: str, *, is_defined: bool) -> str:
    """The declaration of the table of labels, or its definition; nothing without classes."""
    if model.classes is None:
        return ""
    declaration = label_declaration(model, SimpleNamespace(prefix=name, macro=name.upper()))
    if not is_defined:
        return f"extern const {declaration};"
    return f"const {declaration} = {{{', '.join(label_literals(model))}}};"


def filled(text: str, **places: str) -> str:
    """The text with its ``@places@`` filled; a line with nothing to be filled in goes."""
    for place, value in places.items():
        text = text.replace(f"@{place}@" if value else f"@{place}@\n", value)
    return text


def table(kind: str, name: str, literals: Iterable[str], in_a_line: int = NUMBERS_IN_A_LINE) -> str:
    """The definition of a constant array."""
    literals = list(literals)
    lines = (", ".join(literals[k : k + in_a_line]) for k in range(0, len(literals), in_a_line))
    inner = ",\n    ".join(lines)
    return f"static const {kind} {name}[{len(literals)}] = {{\n    {inner}\n}};"
