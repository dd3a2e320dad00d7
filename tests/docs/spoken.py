"""What is written in the sources for people: messages, help strings, all other strings, docstrings and comments."""

import ast
import io
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

SOURCES = Path(__file__).resolve().parents[2] / "src" / "frugalsvm"
# Calls whose strings are shown to somebody.
SPEAKING = {"warn", "tell", "note", "print", "Sentence", "echo", "update"}


class Saying(NamedTuple):
    """A text, where it is written, and what it is: a message, help, another string, a docstring or a comment."""

    file: str
    line: int
    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} ({self.kind}): {self.text}"


@cache
def sayings(root: Path = SOURCES) -> tuple[Saying, ...]:
    """All of them."""
    return tuple(
        found for path in sorted(root.rglob("*.py")) for found in of_file(path, path.relative_to(root).as_posix())
    )


def of_file(path: Path, name: str) -> Iterator[Saying]:
    source = path.read_text()
    tree = ast.parse(source)
    docstrings = list(_docstrings(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and node.exc is not None:
            yield from strings(node.exc, name, "message")
        elif isinstance(node, ast.Call) and _speaks(_name(node.func)):
            yield from strings(node, name, "message")
        elif isinstance(node, ast.keyword) and node.arg in ("help", "epilog", "expected", "problem"):
            yield from strings(node.value, name, "help")
    known = {(each.lineno, each.value) for each in docstrings}
    yield from (one for one in strings(tree, name, "string") if (one.line, one.text) not in known)
    for each in docstrings:
        yield Saying(name, each.lineno, "docstring", each.value)
    yield from _comments(source, name)


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


def _docstrings(tree: ast.Module) -> Iterator[ast.Constant]:
    """Those of modules, classes and functions, private ones too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node):
            yield node.body[0].value


def _comments(source: str, name: str) -> Iterator[Saying]:
    """Comments; those on lines that follow each other are one."""
    first, last, words = 0, 0, []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT:
            continue
        if words and token.start[0] > last + 1:
            yield Saying(name, first, "comment", " ".join(words))
            words = []
        first, last = first if words else token.start[0], token.start[0]
        words.append(token.string.lstrip("# "))
    if words:
        yield Saying(name, first, "comment", " ".join(words))


def _speaks(name: str) -> bool:
    return name in SPEAKING or name.endswith(("Error", "Warning", "Parameter", "Exit"))


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
