"""The files and functions that docs/walk.rst names are there."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "walk.rst").read_text()
NAMED = sorted(set(re.findall(r"``([\w/]+\.py)(?:::([\w.]+))?``", PAGE)))


def definitions(body):
    """What a module or class defines, by name."""
    found = {}
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            found[node.name] = node
        elif isinstance(node, ast.Assign):
            found |= {target.id: node for target in node.targets if isinstance(target, ast.Name)}
    return found


@pytest.mark.parametrize(("path", "name"), NAMED)
def test_it_exists(path, name):
    body = ast.parse((ROOT / "src" / "frugalsvm" / path).read_text()).body
    for part in name.split(".") if name else ():
        assert part in definitions(body), f"{path} has no {name}"
        body = getattr(definitions(body)[part], "body", [])


def test_the_page_names_enough_of_them_and_all_in_one_form():
    assert len(NAMED) > 70
    assert len(re.findall(r"\.py\b", PAGE)) == len(re.findall(r"``[\w/]+\.py(?:::[\w.]+)?``", PAGE))


def test_it_is_linked():
    assert "docs/walk.rst" in (ROOT / "CONTRIBUTING.md").read_text()
    assert ":doc:`walk`" in (ROOT / "docs" / "index.rst").read_text()
