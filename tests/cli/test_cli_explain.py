"""``frugalsvm explain``: shares that add up, under the names of the columns, as text, JSON and a page."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from frugalsvm.cli.app import app
from frugalsvm.persist import load

FAST = ["-a", "bsgd", "--alpha", "1e-4", "--budget", "40", "--gamma", "0.3", "--quiet"]


def run(*arguments, code=0):
    """Output of a command that ends with an exit code."""
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exit_code == code, (result.output, result.exception)
    return result.output


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Two columns of numbers and one of text, of which the first says nothing."""
    rng = np.random.default_rng(0)
    noise, age, colors = rng.normal(size=2000), rng.normal(size=2000), rng.choice(["red", "green", "blue"], 2000)
    label = np.where((age > 0) ^ (colors == "red"), "yes", "no")
    path = tmp_path_factory.mktemp("data") / "rows.csv"
    lines = [f"{a:.5g},{b:.5g},{c},{d}" for a, b, c, d in zip(noise, age, colors, label, strict=True)]
    path.write_text("\n".join(["noise,age,color,label", *lines]) + "\n")
    return path


@pytest.fixture(scope="module")
def model(data):
    path = data.with_name("model.frugal")
    run("train", data, "-o", path, *FAST)
    return path


@pytest.mark.parametrize("form", ["left out", "usual rows", "rows of the model"])
def test_shares_add_up_to_decision_values(model, data, form):
    more = {"left out": ["--background", "none"], "usual rows": ["--background", data, "--background-rows", 30]}
    told = json.loads(run("explain", model, data, "--rows", 50, "--json", *more.get(form, [])))
    assert told["columns"] == ["noise", "age", "color"]
    assert told["outputs"] == ["yes"]
    numbers = np.array([[row[0], row[1]] for row in told["data"]], float)
    text = {"color": np.array([row[2] for row in told["data"]], object)}
    expected = load(model).decision_function((numbers, text))
    np.testing.assert_allclose(told["predictions"], expected, atol=1e-4)
    sums = told["base values"][0] + np.sum(told["values"], axis=1)
    np.testing.assert_allclose(sums, told["predictions"], atol=1e-9)
    sizes = np.abs(told["values"]).mean(axis=0)
    assert len(told["values"]) == 50
    if form != "left out":  # without, whatever is left out makes all rows more similar, noise too
        assert sizes[0] < min(sizes[1:])


def test_text_and_page_name_the_columns(model, data, tmp_path):
    page = tmp_path / "why.html"
    told = run("explain", model, data, "--rows", 20, "--show", 1, "--html", page)
    assert "Mean absolute shares of 20 rows" in told
    assert "Row 1:" in told
    assert "Row 2:" not in told
    assert "color = " in told
    assert "color = " in page.read_text()
    for text in (told.replace("\n", " "), page.read_text()):
        assert "mean over background rows: 40 support vectors of the model" in text
    told = run("explain", model, data, "--rows", 20, "--show", 0, "--background", data, "--html", page)
    for text in (told.replace("\n", " "), page.read_text()):
        assert "100 of the 2,000 rows of" in text


def test_background_rows_are_drawn_from_the_whole_file(model, data, tmp_path):
    ordered = tmp_path / "ordered.csv"
    head, *lines = data.read_text().splitlines()
    ordered.write_text("\n".join([head, *sorted(lines, key=lambda line: float(line.split(",")[1]))]) + "\n")
    scores = json.loads(run("explain", model, ordered, "--rows", 2000, "--json", "--background", "none"))["predictions"]
    base = json.loads(run("explain", model, data, "--rows", 5, "--json", "--background", ordered))["base values"][0]
    # Its first rows have the lowest ages: their mean score is not that of all rows.
    assert abs(base - np.mean(scores)) < 0.5 * abs(np.mean(scores[:100]) - np.mean(scores))


def test_refuses_in_a_sentence(model, data, tmp_path):
    poly = tmp_path / "poly.frugal"
    run("train", data, "-o", poly, "-a", "asset", "--budget", 40, "--kernel", "poly", "--alpha", "1e-3", "--quiet")
    told = run("explain", poly, data, "--background", "none", code=3).replace("\n", " ")
    assert "'poly' is neither a product nor a sum" in told
    assert "Shares were sampled" in run("explain", poly, data, "--rows", 3).replace("\n", " ")
    assert "no folder" in run("explain", model, data, "--html", tmp_path / "none" / "x.html", code=5).replace("\n", " ")
    assert "error" in run("explain", model, tmp_path / "nowhere.csv", code=3)
