"""The worked example of a command: it is what docs/extending/command.rst shows, and does what it says."""

import json
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
from typer.testing import CliRunner

from frugalsvm.cli.app import COMMANDS, app

FILE = Path(__file__).resolve().parents[2] / "examples" / "extending" / "columns_command.py"
ROWS = "age,town,label\n" + "30,Graz,1\n40,Linz,0\n" * 30


@pytest.fixture
def registered():
    """The command, for the tests of this file only."""
    before = list(app.registered_commands)
    spec = spec_from_file_location("columns_command", FILE)
    spec.loader.exec_module(module_from_spec(spec))
    yield
    app.registered_commands[:] = before


def test_it_tells_what_columns_are_for(registered, tmp_path):
    (tmp_path / "rows.csv").write_text(ROWS)
    result = CliRunner().invoke(app, ["columns", str(tmp_path / "rows.csv"), "--ignore", "town", "--json"])
    told = {each["name"]: (each["kind"], each["role"]) for each in json.loads(result.stdout)}
    assert told == {"age": ("number", "feature"), "town": ("string", "ignored"), "label": ("number", "label")}


def test_its_errors_are_sentences(registered, tmp_path):
    (tmp_path / "rows.libsvm").write_text("1 1:1 2:2\n")
    for flags, words in (([], "numbered features: 2"), (["--label", "x"], "leave out --label.")):
        result = CliRunner().invoke(app, ["columns", str(tmp_path / "rows.libsvm"), *flags])
        assert result.exit_code == 3
        assert words in " ".join(result.stderr.split())


def test_the_page_shows_the_file():
    page = FILE.parents[2] / "docs" / "extending" / "command.rst"
    assert FILE.name in page.read_text()


def test_every_command_is_in_the_file_of_its_name():
    assert [command.callback.__module__ for command in app.registered_commands] == [
        f"frugalsvm.cli.commands.{name}" for name in COMMANDS
    ]


def test_help_imports_nothing_that_takes_a_while():
    heavy = "{'numpy', 'scipy', 'sklearn', 'numba', 'pandas'}"
    code = f"import sys, frugalsvm.cli.app; sys.exit(' '.join({heavy} & set(sys.modules)) or 0)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
