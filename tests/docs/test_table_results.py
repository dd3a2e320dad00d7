"""Results of the benchmark of tables become a page."""

import sys
from pathlib import Path

import pytest

EXTENSIONS = Path(__file__).resolve().parents[2] / "docs" / "_ext"


@pytest.fixture
def page(monkeypatch):
    monkeypatch.syspath_prepend(EXTENSIONS)
    import table_results

    yield table_results
    del sys.modules["table_results"]


def row(problem, method, error, seed=0, **others):
    made = {"problem": problem, "method": method, "device": "cpu", "seed": seed, "error": error, "rows": 10}
    made |= {"seconds": 1.0, "tuning_seconds": 2.5, "candidates": 12, "is_regression": False, "on_true_columns": None}
    return made | others


RESULTS = [
    {
        "rows": [
            row("letter", "trees", 3.0),
            row("letter", "trees", 4.0, seed=1),
            row("letter", "kernels", 2.0),
            row("shuttle", "trees", 0.0),
            row("pol", "trees", 0.1, is_regression=True),
            row("letter + 20 noise columns", "kernels", 2.5, on_true_columns=99.0),
        ]
    },
    {"rows": [row("letter", "kernels", 1.9, device="cuda", candidates=3)]},
]


def test_methods_side_by_side(page):
    classes, regression, noise, seconds = page.result_tables(RESULTS)
    assert classes[1] == ("", "trees", "kernels", "kernels, cuda")
    assert classes[2] == [("letter", "3.50 ± 0.71", "2.00", "**1.90**"), ("shuttle", "**0.00**", "", "")]
    assert regression[2] == [("pol", "**0.100**")]
    assert noise[2] == [("letter + 20 noise columns", "2.50 (99.0 %)")]
    assert seconds[2][0] == ("letter", "2.5 (12) + 1.0", "2.5 (12) + 1.0", "2.5 (3) + 1.0")


def test_what_was_not_measured_has_no_table(page):
    ((title, *_), (last, *_)) = page.result_tables([{"rows": [row("pol", "trees", 0.1, is_regression=True)]}])
    assert "regression" in title
    assert "Seconds" in last


def test_points_are_relative_to_the_least_error(page):
    points = page._points(page.summary(RESULTS[0]["rows"][:4]))
    assert points == {"trees": ([3.5, 3.5], [1.75, 1.0]), "kernels": ([3.5], [1.0])}


def test_picture(page):
    picture = page.error_against_seconds(RESULTS)
    assert picture.startswith("<svg")
    assert "kernels, cuda" in picture
