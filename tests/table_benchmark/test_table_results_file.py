"""Results of the benchmark of tables: kept in pieces, averaged, and compared with goals."""

import json

import pytest

from benchmarks.tables_goals import goals_table
from benchmarks.tables_summary import key_of, load, save, summary


def result(problem="a", method="m", seed=0, error=1.0, **others):
    row = {"problem": problem, "method": method, "device": "cpu", "judged_on": "test", "seed": seed, "error": error}
    row |= {"rows": 10, "is_regression": False, "seconds": 1.0, "cpu_seconds": 3.0, "predict_seconds": 0.5}
    return row | {"peak_bytes": None, "row_bytes": 80, "auc": None} | others


def test_pieces_of_a_measurement_are_one_file(tmp_path):
    path = tmp_path / "output" / "tables.json"
    assert load(path)["rows"] == []
    for row in (result(), result(seed=1, error=3.0), result("b"), result(seed=0, error=2.0)):
        save(path, row, {"cores": 16} if row["problem"] == "a" else {"GPU": "some"})
    results = json.loads(path.read_text())
    assert [(row["problem"], row["seed"], row["error"]) for row in results["rows"]] == [
        ("a", 0, 2.0),
        ("a", 1, 3.0),
        ("b", 0, 1.0),
    ]
    assert results["machine"] == {"cores": 16, "GPU": "some"}
    assert [each.name for each in path.parent.iterdir()] == ["tables.json"]


def test_other_rows_to_judge_by_are_another_result():
    assert key_of(result()) != key_of(result(judged_on="validation"))


def test_means_over_seeds():
    rows = [result(error=1.0, auc=0.9), result(seed=1, error=3.0, auc=0.8), result(method="n", error=5.0)]
    first, second = summary(rows)
    assert (first["error"], first["seeds"], first["auc"]) == (2.0, 2, pytest.approx(0.85))
    assert first["spread"] == pytest.approx(2**0.5)
    assert (second["method"], second["spread"], second["auc"]) == ("n", None, None)


def test_a_seed_without_result_leaves_no_mean():
    missing = {**result(seed=1), "error": None, "missing": "stopped after 9 s"}
    (mean,) = summary([result(), missing])
    assert (mean["error"], mean["missing"]) == (None, "stopped after 9 s")


def test_goals():
    rows = [
        result("letter", error=1.99),
        result("letter", error=2.02),
        result("covtype", error=3.5, seconds=30.0),
        result("covtype", error=3.5, seconds=15.0),
        result("covtype", error=3.5, seconds=5.0, device="cuda"),
        result("banana"),
        result("letter", judged_on="validation"),
        {**result("pol"), "error": None, "missing": "failed: why"},
    ]
    *lines, median = zip(*(column.cells for column in goals_table(rows).columns), strict=True)
    assert [line[3] for line in lines] == ["yes", "no", "no", "yes", "no", "", "", ""]
    assert [line[1] for line in lines] == ["2", "2", "3.6 in 20 s", "3.6 in 20 s", "3.3 in 6 s", "", "", "0.068"]
    assert lines[-1][2] == "failed: why"
    assert median[5:7] == ("1.00", "3.00")  # of seconds and CPU seconds
