"""Costs ahead of a training: bytes are those of the model, and numbers grow as the algorithms do."""

import json
from pathlib import Path

import numpy as np
import pytest

from frugalsvm import ASSETClassifier, AutoSVC, BSGDClassifier
from frugalsvm.cost import training_cost
from frugalsvm.exceptions import ParameterError

MEASURED = Path(__file__).resolve().parents[1] / "docs" / "measured" / "benchmarks.json"


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_bytes_of_a_budgeted_model(dtype, n_classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4)).astype(dtype)
    y = rng.integers(0, n_classes, size=300)
    model = BSGDClassifier(budget=20, gamma=1.0, alpha=1e-4, random_state=0).fit(X, y)
    expected = training_cost("bsgd", 300, 4, budget=20, n_classes=n_classes, dtype=dtype)
    assert model.model_bytes_ == expected.model_bytes


@pytest.mark.parametrize("n_classes", [2, 3])
def test_bytes_of_a_low_rank_model(n_classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4)).astype(np.float32)
    y = rng.integers(0, n_classes, size=300)
    model = ASSETClassifier(n_components=16, C=1.0, gamma=1.0, random_state=0).fit(X, y)
    expected = training_cost("asset", 300, 4, budget=16, n_classes=n_classes)
    assert model.model_bytes_ == pytest.approx(expected.model_bytes, rel=0.05)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_bytes_of_a_model_in_cells(n_classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4)).astype(np.float32)
    model = AutoSVC(kernel="rbf", metric=None, random_state=0).fit(X, np.arange(300) % n_classes)
    expected = training_cost("auto", 300, 4, n_classes=n_classes)
    assert model.model_.model_bytes_ == pytest.approx(expected.model_bytes, rel=0.05)


# CPU seconds of `AutoSVC` with nothing chosen, on one x86-64 core, and rows and columns, of smooth classes
@pytest.mark.parametrize(("n_rows", "n_features", "seconds"), [(700, 10, 1.4), (5_300, 10, 8.3), (15_500, 10, 14.9)])
def test_a_search_takes_about_what_was_measured(n_rows, n_features, seconds):
    assert 0.5 < training_cost("auto", n_rows, n_features).seconds / seconds < 2.0


def test_the_formula_is_within_a_factor_of_two_of_what_was_measured():
    compared = 0
    for case in json.loads(MEASURED.read_text())["cases"]:
        n_features, n_classes = (int(words.split()[-2]) for words in case["title"].split(":")[1].split(",")[:2])
        for row in case["rows"]:
            if row["model"] == "frugalsvm BSGD":
                expected = training_cost(
                    "bsgd", row["rows"], n_features, budget=row["n_support"], n_classes=n_classes
                ).seconds
                assert 0.5 < expected / row["seconds"] < 2, case["title"]
                compared += 1
    assert compared > 5


def test_costs_grow_with_rows_and_budget():
    one = training_cost("bsgd", 1_000, 10, budget=100)
    assert training_cost("bsgd", 2_000, 10, budget=100).seconds == pytest.approx(2 * one.seconds)
    assert training_cost("bsgd", 1_000, 10, budget=100, n_passes=3).kernel_values == 3 * one.kernel_values
    assert training_cost("bsgd", 10**9, 10, budget=100).training_bytes == one.training_bytes
    assert training_cost("bsgd", 1_000, 10, budget=100, speed=4.0).seconds == pytest.approx(one.seconds / 4)
    low_rank = training_cost("asset", 1_000, 10, budget=100)
    assert training_cost("asset", 2_000, 10, budget=100).training_bytes > low_rank.training_bytes


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_rows", 0),
        ("n_features", 0),
        ("budget", 1),
        ("n_classes", 1),
        ("dtype", "int8"),
        ("speed", 0.0),
        ("algorithm", "svc"),
    ],
)
def test_wrong_values_are_refused(name, value):
    given = {"algorithm": "bsgd", "n_rows": 10, "n_features": 2, name: value}
    with pytest.raises(ParameterError) as raised:
        training_cost(**given)
    assert raised.value.parameter == name


def test_the_command_says_the_same():
    testing = pytest.importorskip("typer.testing")
    from frugalsvm.cli.app import app

    flags = ["cost", "--rows", "1000", "--features", "10", "--budget", "100"]
    told = testing.CliRunner().invoke(app, [*flags, "--json"])
    assert told.exit_code == 0, told.output
    assert json.loads(told.output) == training_cost("bsgd", 1_000, 10, budget=100)._asdict()
    assert "kernel values" in testing.CliRunner().invoke(app, flags).output
    refused = testing.CliRunner().invoke(app, [*flags, "-a", "svc"])
    assert refused.exit_code != 0
