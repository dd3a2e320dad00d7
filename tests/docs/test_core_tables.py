"""Results of several machines become tables that have them side by side."""

import sys
from pathlib import Path

import pytest

from benchmarks.cores import _with_speedup, save
from benchmarks.threads_limit import thread_counts

EXTENSIONS = Path(__file__).resolve().parents[2] / "docs" / "_ext"


@pytest.fixture
def core_tables(monkeypatch):
    monkeypatch.syspath_prepend(EXTENSIONS)
    from core_tables import core_tables

    yield core_tables
    del sys.modules["core_tables"]


def results(processor, cores, **parts):
    return {"machine": {"processor": processor, "cores": cores}, "parts": parts}


def fit(problem, threads, seconds, **others):
    return {"problem": problem, "threads": threads, "seconds": seconds, **others}


def test_machines_are_side_by_side(core_tables):
    arm = results("arm", 2, asset=_with_speedup([fit("a", 1, 4.0, error=1.0), fit("a", 2, 2.0), fit("b", 1, 3.0)]))
    x86 = results("x86", 4, asset=[fit("a", 1, 2.0), fit("a", 4, 0.5)])
    ((title, headings, rows),) = core_tables([arm, x86])
    assert title == "ASSETClassifier: fits"
    assert headings[:3] == ("", "threads", "arm, 2 cores: s")
    assert headings[5] == "x86, 4 cores: s"
    assert rows == [
        ("a", "1", "4.00", "1.0", "1.00", "2.00", "", ""),
        ("a", "2", "2.00", "2.0", "", "", "", ""),
        ("a", "4", "", "", "", "0.50", "", ""),
        ("b", "1", "3.00", "1.0", "", "", "", ""),
    ]


def test_peers_on_one_core_and_on_all(core_tables):
    row = {"problem": "a9a", "model": "ASSET", "rows": 10, "error": 15.0}
    arm = results("arm", 2, peers=[{**row, "threads": 1, "seconds": 2.0}, {**row, "threads": 2, "seconds": 1.0}])
    x86 = results("x86", 16, peers=[{**row, "threads": 16, "seconds": 0.1}])
    ((_, _, rows),) = core_tables([arm, x86])
    assert rows == [
        ("a9a", "ASSET", "10", "one", "2.00", "15.00", "", ""),
        ("a9a", "ASSET", "10", "all", "1.00", "15.00", "0.10", "15.00"),
    ]


def test_pieces_of_a_measurement_are_put_together(tmp_path):
    path = tmp_path / "output" / "cores.json"
    save(path, "bsgd", [fit("a", 1, 2.0), fit("b", 1, 2.0)])
    rows = save(path, "bsgd", [fit("a", 1, 3.0), fit("a", 4, 1.0)])
    assert [(row["problem"], row["threads"], row["seconds"], row["speedup"]) for row in rows] == [
        ("a", 1, 3.0, 1.0),
        ("b", 1, 2.0, 1.0),
        ("a", 4, 1.0, 3.0),
    ]


@pytest.mark.parametrize(("n_cores", "counts"), [(1, [1]), (2, [1, 2]), (6, [1, 2, 4, 6]), (16, [1, 2, 4, 8, 16])])
def test_numbers_of_threads(n_cores, counts):
    assert thread_counts(n_cores) == counts
