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
    made = {"problem": problem, "method": method, "device": "cpu", "judged_on": "test", "seed": seed, "error": error}
    made |= {"rows": 10, "is_regression": False, "seconds": 3.5, "cpu_seconds": 7.0, "predict_seconds": 0.25}
    return made | {"row_bytes": 80} | others


OURS, TREES, SLOW = "AutoSVC, AutoSVR", "LightGBM, tuned", "xRFM"
RESULTS = [
    {
        "rows": [
            row("letter", TREES, 3.0),
            row("letter", TREES, 4.0, seed=1),
            row("letter", OURS, 2.0, peak_bytes=200, auc=0.9),
            row("letter", SLOW, None, missing="stopped after 300 s"),
            row("letter", OURS, 0.1, judged_on="validation"),
            row("shuttle", TREES, 0.0),
            row("pol", TREES, 0.1, is_regression=True),
        ]
    },
    {"rows": [row("letter", OURS, 1.9, device="cuda"), row("shuttle", OURS, 0.5)]},
]


def test_methods_side_by_side(page):
    classes, regression, auc, seconds, _, predict, memory = page.result_tables(RESULTS)
    assert classes[1] == ("", TREES, OURS, SLOW, f"{OURS}, cuda")
    assert classes[2] == [
        ("letter", "3.50 ± 0.71", "2.00", "stopped after 300 s", "**1.90**"),
        ("shuttle", "**0.00**", "0.50", "", ""),
    ]
    assert regression[2] == [("pol", "**0.100**")]
    assert auc[1:] == (("", OURS), [("letter", "0.9000")])
    assert seconds[2][0] == ("letter", "3.5", "3.5", "3.5")
    assert predict[2][1] == ("shuttle", "0.25", "0.25", "")
    assert memory[2] == [("letter", "2.5")]


def test_who_is_ahead(page):
    trees = "the better of tuned HistGradientBoosting and LightGBM"
    assert page.comparisons(RESULTS) == [
        f"- AutoSVC on the cores against {trees}: fewer errors on 1 of 2 tables; more on shuttle (0.50 against 0.00).",
        f"- AutoSVC on the GPU against {trees}: fewer errors on 1 of 1 tables.",
    ]


def test_whose_results_a_file_has(page):
    assert page.methods_of(RESULTS[0]) == f"{TREES}; {OURS}; {SLOW}"


def test_as_many_errors_are_level(page):
    (line,) = page.comparisons([{"rows": [row("dna", OURS, 3.0), row("dna", "liquidSVM", 3.0)]}])
    assert line == "- AutoSVC on the cores against liquidSVM: fewer errors on 0 of 1 tables, as many on dna."


def test_what_was_not_measured_has_no_table(page):
    titles = [title for title, *_ in page.result_tables([{"rows": [row("pol", TREES, 0.1, is_regression=True)]}])]
    assert "Regression" in titles[0]
    assert len(titles) == 4  # and three of seconds


def test_points_are_relative_to_the_least_error(page):
    points = page._points(page.summary([*RESULTS[0]["rows"][:3], RESULTS[0]["rows"][5]]))
    assert points == {TREES: ([3.5, 3.5], [1.75, 1.0]), OURS: ([3.5], [1.0])}


def test_picture(page):
    picture = page.error_against_seconds(RESULTS)
    assert picture.startswith("<svg")
    assert f"{OURS}, cuda" in picture
