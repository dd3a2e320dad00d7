"""What this library says to its users: messages, help strings, and docstrings of public names, found in the sources."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

SOURCES = Path(__file__).resolve().parents[2] / "src" / "frugalsvm"
# Calls whose strings are shown to somebody.
SPEAKING = {"warn", "tell", "note", "print", "Sentence", "echo", "update"}


class Saying(NamedTuple):
    """A string that users can see, and where it is written."""

    file: str
    line: int
    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} ({self.kind}): {self.text}"


def sayings(root: Path = SOURCES) -> list[Saying]:
    """All of them."""
    return [found for path in sorted(root.rglob("*.py")) for found in of_file(path, path.relative_to(root).as_posix())]


def of_file(path: Path, name: str) -> Iterator[Saying]:
    tree = ast.parse(path.read_text())
    is_private = any(part.startswith("_") and part != "__init__.py" for part in name.split("/"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and node.exc is not None:
            yield from strings(node.exc, name, "message")
        elif isinstance(node, ast.Call) and _speaks(_name(node.func)):
            yield from strings(node, name, "message")
        elif isinstance(node, ast.keyword) and node.arg in ("help", "epilog", "expected", "problem"):
            yield from strings(node.value, name, "help")
    if not is_private:
        yield from docstrings(tree, name)


def strings(node: ast.AST, name: str, kind: str) -> Iterator[Saying]:
    """The strings in an expression; formatted ones with {} for their values."""
    if isinstance(node, ast.JoinedStr):
        text = "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
        yield Saying(name, node.lineno, kind, text)
        return
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
        yield Saying(name, node.lineno, kind, node.value)
    for child in ast.iter_child_nodes(node):
        yield from strings(child, name, kind)


def docstrings(tree: ast.Module, name: str) -> Iterator[Saying]:
    """Those of public classes and functions."""
    nodes = [(tree, False), *((node, node.name.startswith("_")) for node in tree.body if _has_name(node))]
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            nodes += [(member, member.name.startswith("_")) for member in node.body if _has_name(member)]
    for node, is_private in nodes:
        text = ast.get_docstring(node)
        if text and not is_private:
            yield Saying(name, getattr(node, "lineno", 1), "docstring", text)


def _speaks(name: str) -> bool:
    return name in SPEAKING or name.endswith(("Error", "Warning", "Parameter", "Exit"))


def _has_name(node: ast.AST) -> bool:
    return isinstance(node, ast.ClassDef | ast.FunctionDef)


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
