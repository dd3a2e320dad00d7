"""Results of the comparison become a page, with pictures for light and dark."""

import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.comparison.results import KEPT, Results, key_of
from benchmarks.comparison.sheets import failures, sheet_of, values_of
from benchmarks.comparison.tables import TABLES

EXTENSIONS = Path(__file__).resolve().parents[2] / "docs" / "_ext"
ERRORS = {"penguins": (1.0, 2.0, 3.0), "letter": (2.0, 4.0, 3.0), "segment": (1.0, 1.0, 1.0), "mpg": (0.3, 0.2, 0.5)}
PEERS = ("auto", "hgb", "svc")


@pytest.fixture
def page(monkeypatch):
    monkeypatch.syspath_prepend(EXTENSIONS)
    import comparison_text

    yield comparison_text
    for name in ("comparison_text", "list_tables"):
        sys.modules.pop(name, None)


@pytest.fixture
def pictures(monkeypatch):
    monkeypatch.syspath_prepend(EXTENSIONS)
    import comparison_pictures

    yield comparison_pictures
    sys.modules.pop("comparison_pictures", None)


def row(table, peer, error, split=0, **others):
    made = {"table": table, "peer": peer, "split": split, "error": error, "fit_cpu": 3.0, "machine": "abc", "bytes": 9}
    if not TABLES[table].is_regression and peer != "svc":
        made["log_loss"] = error / 10
    return made | others


@pytest.fixture
def results():
    """Three peers on three tables: one failed on a table, and one was measured on a table less often."""
    found = Results()
    found.machines["abc"] = {"machine": "abc", "processor": "x", "cores": 4, "numpy": "2.4", "note": "busy"}
    rows = [
        row(table, peer, error + (split % 2) / 10, split)
        for table, errors in ERRORS.items()
        for peer, error in zip(PEERS, errors, strict=True)
        for split in range(5)
    ]
    rows += [
        {"table": "letter", "peer": "svc", "split": 1, "failed": "stopped after 300 s", "machine": "abc"},
        row("phoneme", "auto", 1.0),
        row("penguins", "xrfm", 1.0),
        row("penguins", "hgb", 50.0, effort="1min"),
    ]
    found.cells = {key_of(each): each for each in rows}
    return found


def test_sheets_have_what_all_ranked_peers_have(results):
    sheet = sheet_of(results.cells)
    assert (sheet.tables, sheet.peers) == (["penguins", "segment", "letter", "mpg"], list(PEERS))
    assert sheet.incomplete == ["phoneme"]
    assert sheet.unranked == {"xrfm": 1}
    np.testing.assert_allclose(sheet.column("auto"), [1.04, 1.04, 2.04, 0.34])
    assert np.isnan(sheet.column("svc")).tolist() == [False, False, True, False]
    assert sheet.part(lambda table: table.is_regression).tables == ["mpg"]


def test_probabilities_are_those_of_classes_and_of_peers_that_have_them(results):
    sheet = sheet_of(results.cells, "log_loss")
    assert (sheet.tables, sheet.peers) == (["penguins", "segment", "letter"], ["auto", "hgb"])


def test_only_splits_that_all_have_count(results):
    for split in range(1, 5):
        del results.cells["mpg", "hgb", split, "default", "test"]
    assert sheet_of(results.cells).column("auto")[3] == pytest.approx(0.3)
    assert set(values_of(results.cells, "error")["mpg", "auto"]) == set(range(5))


def test_failures_have_reasons(results):
    assert failures(results.cells) == {("letter", "svc", "default"): "stopped after 300 s"}


def test_page_says_what_is_measured(page, results):
    text = "\n".join(page.facts(results, "default"))
    assert "of which 1 failed: 4 of 54 tables with all of 3 peers" in text
    assert "xRFM (1)" in text
    assert "- x, 4 threads a cell: numpy 2.4. busy." in text
    assert "on 4 of 54 tables" in page.caption(results, "default")[0]
    assert page.facts(results, "10min") == [page.NONE]


def test_page_has_every_table_and_failure(page, results):
    text = "\n".join(page.tables(results, "default"))
    assert "**1.04**" in text
    assert "failed" in text
    assert "mean rank" in text
    assert page.failed(results, "default") == ["- letter, SVC, SVR: stopped after 300 s"]
    assert page.failed(results, "1min") == ["There are none so far."]
    assert len([line for line in page.registry(results, "") if line.startswith("   * -")]) == 55
    assert page.behind_lines(results, "default") == ["- mpg: HistGradientBoosting"]
    assert "   * - HistGradientBoosting" in page.duels(results, "default")


def test_streams_on_the_page(page, results):
    assert page.streams(results, "") == [page.NONE]
    results.streams["a"] = {
        "stream": "elec2", "label": "ours", "rows": 45312, "accuracy": 92.0312, "row_us": 18.25, "bytes": 75_437,
    }  # fmt: skip
    assert page.streams(results, "")[-7:-1] == [
        "   * - elec2",
        "     - ours",
        "     - 45,312",
        "     - 92.03",
        "     - 18.2",
        "     - 75,437",
    ]


def test_pictures_follow_the_theme(pictures, results):
    sheet = sheet_of(results.cells)
    drawn = (
        pictures.rank_diagram(sheet),
        pictures.win_matrix(sheet),
        pictures.error_against_seconds(sheet, results.cells, "default"),
    )
    for picture in drawn:
        assert picture.startswith('<svg role="img" aria-label="')
        assert "currentColor" in picture
        assert "AutoSVC, AutoSVR" in picture
        assert "#000000" not in picture
        assert pictures.INK not in picture
    assert "critical difference" in drawn[0]


def test_errors_over_the_best(pictures, results):
    sheet = sheet_of(results.cells)
    np.testing.assert_allclose(pictures._over_the_best(sheet, "auto"), [1, 1, 1, 0.34 / 0.24])
    assert np.isinf(pictures._over_the_best(sheet, "svc")[2])


def test_results_in_the_repository_are_whole():
    results = Results.kept()
    assert all(row["machine"] in results.machines for row in results.cells.values())
    assert all(table in TABLES for table, *_ in results.cells)
    size = sum(path.stat().st_size for path in KEPT.glob("*.jsonl"))
    assert size < 2**20


def test_page_has_errors_of_peers_without_a_rank_and_of_tables_that_not_all_have(page, results):
    text = "\n".join(page.every(results, "default"))
    assert "xRFM" in text
    assert "* - phoneme" in text
    assert "failed" in text
    assert page.every(results, "10min") == [page.NONE]
