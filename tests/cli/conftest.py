"""The commands are made once in a process: to make them takes half of the time that a refusal takes."""

from functools import cache

import pytest
import typer.testing
from typer.main import get_command


@pytest.fixture(autouse=True, scope="session")
def made_once():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.testing, "_get_command", cache(get_command), raising=False)
        yield
