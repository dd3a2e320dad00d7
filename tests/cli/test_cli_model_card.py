"""``frugalsvm inspect --html``: a page that stands alone, with what is known of the model."""

import numpy as np
import pytest
from typer.testing import CliRunner

from frugalsvm.cli.app import app


def run(*arguments, code=0):
    """Output of a command that ends with an exit code."""
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exit_code == code, (result.output, result.exception)
    return result.output


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3))
    rows = np.column_stack([X, X[:, 1] > 0])
    path = tmp_path_factory.mktemp("data") / "rows.csv"
    np.savetxt(path, rows, delimiter=",", header="noise,a<b,other,label", comments="", fmt=["%.5g"] * 3 + ["%d"])
    return path


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_a_card_has_all_sections_and_loads_nothing(data, tmp_path, kernel):
    model, page = tmp_path / "model.frugal", tmp_path / "card.html"
    more = ["--gamma", "0.3"] if kernel == "rbf" else []
    run("train", data, "-a", "lasvm", "--kernel", kernel, "--C", "1", "-o", model, "--quiet", *more)
    assert "Model" in run("inspect", model, "--html", page)
    card = page.read_text()
    for words in ("What it was trained on", "How good it is", "What matters", "What it refuses", "2,000", "sha256"):
        assert words in card
    assert "a&lt;b" in card
    assert "a<b" not in card
    assert not any(words in card for words in ("http", "src=", "<script"))
    if kernel == "rbf":
        matters = card[card.index("What matters") :]
        assert matters.index("a&lt;b") < matters.index("noise")  # the column that decides comes first
    else:
        assert "neither a product nor a sum" in card


def test_how_good_it_is_stands_in_its_own_section(data, tmp_path):
    model, page = tmp_path / "model.frugal", tmp_path / "card.html"
    run("train", data, "-a", "bsgd", "--budget", 20, "--prequential", "-o", model, "--quiet")
    run("inspect", model, "--html", page)
    card = page.read_text()
    assert card.count("before they were learned") == 1
    assert card.index("How good it is") < card.index("before they were learned") < card.index("What matters")


def test_a_folder_that_is_not_there_is_refused(data, tmp_path):
    model = tmp_path / "model.frugal"
    run("train", data, "-a", "bsgd", "--budget", 20, "-o", model, "--quiet")
    assert "no folder" in run("inspect", model, "--html", tmp_path / "none" / "card.html", code=5).replace("\n", " ")
