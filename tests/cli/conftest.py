"""The commands are made once for a file of tests: to make them takes half of the time that a refusal takes."""

from functools import cache

import pytest
import typer.testing
from typer.main import get_command


@pytest.fixture(autouse=True, scope="module")
def made_once():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.testing, "_get_command", cache(get_command), raising=False)
        yield
