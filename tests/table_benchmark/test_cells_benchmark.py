"""The benchmark of machines in cells: what is measured, and where."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console

from benchmarks import cells
from benchmarks.cells_models import PEERS, WAYS, Place, Way
from benchmarks.source_splits import Split


def split_of_two_classes(n=500):
    X = np.random.default_rng(0).normal(size=(n, 2)).astype(np.float32) * np.float32([1.0, 100.0])
    y = (X[:, 0] > 0).astype(int)
    return Split(X[:400], y[:400], X[400:], y[400:], False, False)


def options(**given):
    return SimpleNamespace(**{"ways": [], "peers": [], "jobs": [1], "no_gpu": True, "seed": 0, **given})


def results_of(**given):
    split = split_of_two_classes()
    return list(cells.measured("two", split, False, options(**given), Console(quiet=True)))


def test_errors_are_those_of_test_rows_and_of_rows_left_out(monkeypatch):
    monkeypatch.setitem(WAYS, "small cells", Way({"cell_size": 100, "gamma": 0.3, "C": 10.0}))
    (result,) = results_of(ways=["small cells"])
    assert result["error"] < 6.0
    assert result["left_out"] < 6.0
    assert result["cells"] == 4
    assert result["bytes"] > 400 * 2 * 4
    assert json.loads(json.dumps(result)) == result
    assert len(cells._cells(result)) == len(cells.HEADINGS)


def test_peers_have_columns_as_they_are_or_standardized():
    split = split_of_two_classes()
    assert PEERS["hgb"].columns == "raw"
    plain = cells.standardized(split)
    np.testing.assert_allclose(plain.X.std(axis=0), 1.0, rtol=1e-5)
    pixels = split._replace(has_one_unit=True)
    spreads = cells.standardized(pixels).X.std(axis=0)
    assert spreads[1] == pytest.approx(100 * spreads[0], rel=0.2)


def test_what_fails_is_left_out(monkeypatch):
    monkeypatch.setitem(WAYS, "refused", Way({"cell_size": 1}))
    assert results_of(ways=["refused"]) == []


def test_places_are_different_ones():
    assert cells.places_of([1, 1], with_gpu=False) == [Place("1 thread", "cpu", 1)]
    assert [each.device for each in cells.places_of([1], with_gpu=True)] == ["cpu", "cuda"]
