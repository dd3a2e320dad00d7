"""The code on the first page and in the README runs, on less data, and is the same in both places."""

import re
import textwrap
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
FIRST_PAGE = (ROOT / "docs" / "index.rst").read_text()


def jobs():
    """The four jobs of the README."""
    (block,) = re.findall(r"^```python\n(# a table.*?)^```", README, re.MULTILINE | re.DOTALL)
    return block


def test_both_have_the_same_code():
    (block,) = re.findall(r"^\.\. code-block:: python\n\n((?: {4}.*\n|\n)+)", FIRST_PAGE, re.MULTILINE)
    there = [line for line in textwrap.dedent(block).splitlines() if line and not line.startswith("#")]
    assert there == [line for line in jobs().splitlines() if line and not line.startswith("#")]


def test_the_four_jobs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code = jobs().replace("10_000_000", "20_000").replace("64_000", "10_000").replace("60s", "4s")
    assert code != jobs()
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    names = {"X": X, "y": y, "of_this_person": np.arange(10)}
    exec(code, names)
    assert "accuracy" in capsys.readouterr().out.lower()
    assert names["model"].n_examples_ == 290
    assert (tmp_path / "firmware" / "detector.c").exists()


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "AGENTS.md", "SECURITY.md", "CHANGELOG.md"])
def test_links_to_files_lead_somewhere(page):
    text = (ROOT / page).read_text()
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", text):
        assert (ROOT / target).exists(), target


def test_pictures_of_the_first_page_are_drawn():
    drawn = re.findall(r"gallery/images/sphx_glr_(\w+)_001\.png", FIRST_PAGE)
    assert len(drawn) == 2
    assert ".. playground::" in FIRST_PAGE  # what is learned is drawn while it is learned
    for name in drawn:
        assert (ROOT / "examples" / f"{name}.py").exists()
    assert FIRST_PAGE.count(":alt:") == 2
