"""The messages on docs/troubleshooting.rst are those of the library."""

import re
import textwrap
from functools import cache
from pathlib import Path

import pytest
from spoken import sayings

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "troubleshooting.rst").read_text()
BLOCKS = re.findall(r"^\.\. code-block:: text\n\n((?: {4}.*\n)+)", PAGE, re.MULTILINE)
MESSAGES = [line for block in BLOCKS for line in textwrap.dedent(block).splitlines()]


@cache
def said():
    """What the library says; processes that only collect tests do not look for it."""
    return {
        re.sub(r"\{\w*\}", "...", " ".join(one.text.split())) for one in sayings() if one.kind in ("message", "help")
    }


def pieces(message):
    """What is between the values; punctuation alone says nothing."""
    return [piece.strip() for piece in re.split(r"\.\.\.", message) if len(piece.strip()) > 2]


def test_there_are_many():
    assert len(MESSAGES) > 30


@pytest.mark.parametrize("message", MESSAGES)
def test_it_is_said(message):
    wanted = pieces(message)
    assert any(all(piece in one for piece in wanted) for one in said()), f"nothing says {wanted}"
