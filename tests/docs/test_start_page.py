"""The command-line path of docs/start.rst, block by block, as a newcomer would type it."""

import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "start.rst"


def blocks(language):
    """The code blocks of a language, in order."""
    found = re.findall(rf"^\.\. code-block:: {language}\n\n((?:(?: {{4}}.*)?\n)+)", PAGE.read_text(), re.MULTILINE)
    return [textwrap.dedent(block) for block in found]


def is_installation(block):
    return "pip install" in block


def test_the_page_has_the_blocks_that_are_run():
    commands = "".join(blocks("sh"))
    for verb in ("train", "evaluate", "predict", "inspect", "export"):
        assert f"frugalsvm {verb} " in commands
    assert [is_installation(block) for block in blocks("sh")].count(True) == 1
    assert len(blocks("c")) == 1


def test_a_newcomer_gets_through(tmp_path):
    folder = Path(sys.executable).parent
    if shutil.which("frugalsvm", path=str(folder)) is None or shutil.which("bash") is None:
        pytest.skip("needs the installed command and bash")
    pytest.importorskip("typer")
    environment = {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    (tmp_path / "main.c").write_text(blocks("c")[0])
    told = ""
    for block in blocks("sh"):
        needs_compiler = re.search(r"^cc ", block, re.MULTILINE) is not None
        if is_installation(block) or (needs_compiler and shutil.which("cc") is None):
            continue
        command = ["bash", "-e", "-u", "-c", block]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{block}\n{done.stdout}\n{done.stderr}"
        told += done.stdout
    accuracy = re.search(r"accuracy\D+(0\.\d+)", told)
    assert accuracy is not None, told
    assert float(accuracy.group(1)) > 0.9
    assert (tmp_path / "exported" / "board.c").exists()
    if shutil.which("cc") is not None:
        assert told.splitlines()[-1] in ("-1", "1")
