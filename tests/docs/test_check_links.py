"""The check of links finds what it is for."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / ".ci" / "check_links.py"
GOOD = '<p id="top"><a href="other.html#there">x</a> <a href="https://example.org">y</a> <img src="a.png" alt="a"></p>'


@pytest.fixture(scope="module")
def problems():
    spec = spec_from_file_location("check_links", SCRIPT)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.problems


def site(folder, page):
    (folder / "index.html").write_text(page)
    (folder / "other.html").write_text('<p id="there"></p>')
    (folder / "a.png").write_bytes(b"")
    return folder


def test_a_good_site(problems, tmp_path):
    assert problems(site(tmp_path, GOOD)) == []


@pytest.mark.parametrize(
    ("page", "problem"),
    [
        ('<a href="nowhere.html">x</a>', "no nowhere.html"),
        ('<a href="other.html#nowhere">x</a>', "no place other.html#nowhere"),
        ('<a href="#nowhere">x</a>', "no place #nowhere"),
        ('<img src="b.png" alt="b">', "no b.png"),
        ('<img src="a.png">', "without alt text"),
        ('<script src="https://example.org/x.js"></script>', "fetches https://example.org/x.js"),
        ('<link rel="stylesheet" href="//example.org/x.css">', "fetches //example.org/x.css"),
    ],
)
def test_a_bad_site(problems, tmp_path, page, problem):
    (found,) = problems(site(tmp_path, page))
    assert found.startswith("index.html: ")
    assert problem in found


def test_an_empty_folder(problems, tmp_path):
    assert len(problems(tmp_path)) == 1
