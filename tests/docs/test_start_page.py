"""The command-line path of docs/start.rst, block by block, as a newcomer would type it."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from typer.testing import CliRunner

from frugalsvm.cli.app import app
from frugalsvm.warming import RECIPES, WarmUp

PAGE = Path(__file__).resolve().parents[2] / "docs" / "start.rst"


def blocks(language):
    """The code blocks of a language, in order."""
    found = re.findall(rf"^\.\. code-block:: {language}\n\n((?:(?: {{4}}.*)?\n)+)", PAGE.read_text(), re.MULTILINE)
    return [textwrap.dedent(block) for block in found]


def is_installation(block):
    return "pip install" in block


def is_warming_up(block):
    return "frugalsvm warm-up" in block


def test_the_page_has_the_blocks_that_are_run():
    commands = "".join(blocks("sh"))
    for verb in ("train", "evaluate", "predict", "inspect", "export"):
        assert f"frugalsvm {verb} " in commands
    assert [is_installation(block) for block in blocks("sh")].count(True) == 1
    assert len(blocks("c")) == 1


def typed(block, folder):
    """What a block prints in a shell."""
    commands = Path(sys.executable).parent
    if shutil.which("frugalsvm", path=str(commands)) is None or shutil.which("bash") is None:
        pytest.skip("needs the installed command and bash")
    environment = {**os.environ, "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}"}
    command = ["bash", "-e", "-u", "-c", block]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{block}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_warming_up_is_spelled_right(monkeypatch):
    asked = []
    made = WarmUp((), 0.0, None)
    monkeypatch.setattr(
        "frugalsvm.warming.warm_up", lambda names, **flags: asked.append((names, flags["sparse"])) or made
    )
    (block,) = filter(is_warming_up, blocks("sh"))
    for line in block.strip().splitlines():
        words = shlex.split(line, comments=True)
        assert words[0] == "frugalsvm"
        result = CliRunner().invoke(app, words[1:])
        assert result.exit_code == 0, result.output
    assert asked == [(None, False), (["bsgd", "lasvm"], False), (["bsgd"], True)]
    assert {name for names, _ in asked for name in names or ()} <= set(RECIPES)


@pytest.mark.slow  # compiles everything; tests/warming has the parts
def test_warming_up(tmp_path):
    (block,) = filter(is_warming_up, blocks("sh"))
    assert "machine code is in" in typed(block, tmp_path)


def printed(block, folder):
    """What a block prints; commands of ours that are no part of a pipe run in this process, which need not start."""
    lines = block.strip().splitlines()
    if not all(line.startswith("frugalsvm ") for line in lines):
        return typed(block, folder)
    output = ""
    for line in lines:
        if "|" in line:
            output += typed(line, folder)
            continue
        result = CliRunner().invoke(app, shlex.split(line, comments=True)[1:])
        assert result.exit_code == 0, f"{line}\n{result.output}"
        output += result.stdout
    return output


def test_a_newcomer_gets_through(tmp_path, monkeypatch):
    """With a fifth of the rows, so that nothing waits for the time budget."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.c").write_text(blocks("c")[0])
    output = ""
    for block in blocks("sh"):
        needs_compiler = re.search(r"^cc ", block, re.MULTILINE) is not None
        if is_installation(block) or is_warming_up(block) or (needs_compiler and shutil.which("cc") is None):
            continue
        output += printed(block.replace("12_000", "2_400").replace("10_000", "2_000"), tmp_path)
    accuracy = re.search(r"accuracy +([\d.]+) %", output)
    assert accuracy is not None, output
    assert float(accuracy.group(1)) > 90
    assert (tmp_path / "exported" / "board.c").exists()
    if shutil.which("cc") is not None:
        assert output.splitlines()[-1] in ("-1", "1")
