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


@pytest.mark.parametrize("flags", ["-a lasvm --C 1 --gamma 0.3", "-a asset --alpha 1e-3 --budget 40 --kernel poly"])
def test_a_card_has_all_sections_and_loads_nothing(data, tmp_path, flags):
    model, page = tmp_path / "model.frugal", tmp_path / "card.html"
    run("train", data, *flags.split(), "-o", model, "--quiet")
    assert f"A page is in {page}" in run("inspect", model, "--html", page).replace("\n", "")
    card = page.read_text()
    for words in ("What it was trained on", "How good it is", "What matters", "What it refuses", "2,000", "sha256"):
        assert words in card
    assert "a&lt;b" in card
    assert "a<b" not in card
    assert not any(words in card for words in ("http", "src=", "<script"))
    matters = card[card.index("What matters") :]
    assert matters.index("a&lt;b") < matters.index("noise")  # the column that decides comes first


def test_how_good_it_is_stands_in_its_own_section(data, tmp_path):
    model, page = tmp_path / "model.frugal", tmp_path / "card.html"
    run("train", data, "-a", "bsgd", "--budget", 20, "--prequential", "-o", model, "--quiet")
    run("inspect", model, "--html", page)
    card = page.read_text()
    assert card.count("before they were learned") == 1
    assert card.index("How good it is") < card.index("before they were learned") < card.index("What matters")


def test_the_card_of_a_search_has_its_score_and_probabilities(data, tmp_path):
    model, page = tmp_path / "model.frugal", tmp_path / "card.html"
    run("train", data, "--time-budget", "2s", "-o", model, "--quiet")
    run("inspect", model, "--html", page)
    card = page.read_text()
    quality = card[card.index("How good it is") : card.index("What matters")]
    assert "of rows left out in training were predicted right" in quality
    assert "no measure" not in card
    assert "<dt>probabilities</dt><dd>yes" in card


def test_a_card_has_numbers_for_auto_and_quotes_for_classes_with_commas(data, tmp_path):
    model, page, rows = tmp_path / "model.frugal", tmp_path / "card.html", tmp_path / "rows.csv"
    head, *lines = data.read_text().splitlines()
    names = {"0": "no", "1": '"yes, very"'}
    rows.write_text("\n".join([head, *(f"{line[:-1]}{names[line[-1]]}" for line in lines)]) + "\n")
    run("train", rows, "-a", "asset", "--budget", 20, "-o", model, "--quiet")
    run("inspect", model, "--html", page)
    card = page.read_text()
    assert "<dt>C</dt><dd>auto" not in card
    assert "&#x27;no&#x27;, &#x27;yes, very&#x27;" in card
    assert "<dt>probabilities</dt><dd>none: train with --calibrate" in card


def test_a_folder_that_is_not_there_is_refused(data, tmp_path):
    model = tmp_path / "model.frugal"
    run("train", data, "-a", "bsgd", "--budget", 20, "-o", model, "--quiet")
    assert "no folder" in run("inspect", model, "--html", tmp_path / "none" / "card.html", code=5).replace("\n", " ")
