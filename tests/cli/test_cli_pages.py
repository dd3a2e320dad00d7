"""What `evaluate` and `inspect` show: pages that people can read, also with many classes."""

import json
import string

import numpy as np
import pytest
from typer.testing import CliRunner

from frugalsvm import ASSETClassifier, KernelSum, KernelTerm, save
from frugalsvm.cli.app import app
from frugalsvm.cli.console import Page
from frugalsvm.metrics.confusion import confusions, per_class, worst_first
from frugalsvm.metrics.in_words import evaluation_sections, evaluation_text

FAST = ["-a", "bsgd", "--gamma", "1", "--alpha", "1e-4", "--budget", "100", "--quiet"]


def run(*arguments, code=0):
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exit_code == code, (result.output, result.exception)
    return result.stdout


@pytest.fixture(scope="module")
def letters(tmp_path_factory):
    """26 classes around 26 points, some of them near each other; and a model."""
    folder = tmp_path_factory.mktemp("letters")
    rng = np.random.default_rng(0)
    y = rng.integers(26, size=1500)
    X = rng.normal(size=(26, 4))[y] + 0.2 * rng.normal(size=(1500, 4))
    lines = [",".join([*(f"{v:.4f}" for v in row), string.ascii_uppercase[k]]) for row, k in zip(X, y, strict=True)]
    (folder / "letters.csv").write_text("\n".join(["a,b,c,d,letter", *lines]) + "\n")
    run("train", folder / "letters.csv", "-o", folder / "model.frugal", *FAST)
    return folder


def test_many_classes_are_a_list_and_the_worst_confusions(letters):
    told = run("evaluate", letters / "model.frugal", letters / "letters.csv")
    assert "…" not in told
    assert max(map(len, told.splitlines())) <= 100
    assert "Confusion matrix" not in told
    listed = [line.split()[0] for line in told.split("Classes")[1].split("Worst")[0].splitlines()[2:] if line.strip()]
    assert listed == list(string.ascii_uppercase)
    results = json.loads(run("evaluate", letters / "model.frugal", letters / "letters.csv", "--json"))
    worst = results["worst_confusions"][0]
    assert f"{worst['class']} taken for {worst['taken for']}: {worst['rows']} of {worst['of']}" in told
    confusion = np.array(results["confusion"])
    assert worst["rows"] == (confusion - np.diag(confusion.diagonal())).max()


def test_few_classes_have_a_matrix():
    matrix = [[90, 10], [3, 1200]]
    results = {"examples": 1303, "accuracy": 0.99, "classes": ["no", "yes"], "confusion": matrix}
    results |= {"per_class": per_class(["no", "yes"], matrix), "worst_confusions": confusions(["no", "yes"], matrix)}
    told = evaluation_text(results, [{"examples": 1303, "accuracy": 0.5}])
    assert "1,200" in told.split("Confusion matrix")[1]
    assert "1,290 of 1,303 rows are right" in told
    assert "Test, then train" in told
    assert "50.00 %" in told


def test_hundreds_of_classes_show_the_worst():
    matrix = np.diag(np.arange(1, 301))
    matrix[7, 8] = 100
    names = list(range(300))
    results = {"examples": 9, "accuracy": 0.9, "classes": names, "confusion": matrix.tolist()}
    results |= {"per_class": per_class(names, matrix), "worst_confusions": confusions(names, matrix)}
    told = evaluation_text(results)
    assert len(told.splitlines()) < 50
    assert "7 taken for 8: 100 of 108" in told
    assert "The 20 of 300 classes with the lowest recall." in told
    sections = dict(evaluation_sections(results, all_classes="; --json has all"))
    assert sections["Classes"][0] == "The 20 of 300 classes with the lowest recall; --json has all."


def test_classes_without_rows_come_last():
    rows = per_class(["a", "b", "c"], [[0, 0, 0], [1, 3, 0], [0, 0, 2]])
    assert [row["class"] for row in worst_first(rows)] == ["b", "c", "a"]


def test_confusions_are_of_different_classes_that_were_confused():
    assert confusions(["a", "b"], [[5, 0], [0, 5]]) == []


def test_a_picture(letters):
    pytest.importorskip("matplotlib")
    data = (letters / "model.frugal", letters / "letters.csv")
    run("evaluate", *data, "--picture", letters / "confusion.png")
    assert (letters / "confusion.png").read_bytes().startswith(b"\x89PNG")
    run("evaluate", *data, "--picture", letters / "confusion.xyz", code=3)


def test_inspect_is_a_page_for_people(letters):
    told = run("inspect", letters / "model.frugal")
    for words in ("26 classes", "a, b, c, d", "A, B, C", "letters.csv", "1,500", "rbf, gamma 1", "budget 100"):
        assert words in told
    assert not set("{}[]│┃") & set(told)


def test_inspect_names_the_kernels_of_a_sum(tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 2))
    kernel = KernelSum([KernelTerm("rbf", columns=[0]), KernelTerm("linear", weight=0.1)])
    save(ASSETClassifier(n_components=10, kernel=kernel).fit(X, X[:, 0] > 0), tmp_path / "model.frugal")
    assert "sum of rbf, linear\n" in run("inspect", tmp_path / "model.frugal")
    told = json.loads(run("inspect", tmp_path / "model.frugal", "--json"))["parameters"]["kernel"]
    assert [(term["kernel"], term["columns"], term["weight"]) for term in told["terms"]] == [
        ("rbf", [0], 1.0), ("linear", None, 0.1),
    ]  # fmt: skip


def test_tables_align_numbers_to_the_right(capsys):
    Page().table([{"name": "a", "rows": "1,000"}, {"name": "longer", "rows": "-"}])
    assert capsys.readouterr().out.splitlines() == ["  name     rows", "  a       1,000", "  longer      -"]
