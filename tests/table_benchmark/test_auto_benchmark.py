"""The benchmark of `AutoSVC`: every peer gives a result, and results are kept."""

import json

import numpy as np
import pytest

from benchmarks import auto
from benchmarks.auto import calibration_error, measured, save
from benchmarks.tables_data import Split


def small_split():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2)).astype(np.float32)
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    return Split(X[:200], y[:200], X[200:], y[200:], True, False)


@pytest.mark.parametrize("peer", ["auto", "svc", "grid", "calibrated", "hgb"])
def test_every_peer_is_measured(peer, monkeypatch):
    monkeypatch.setattr(auto, "C_VALUES", (1.0, 10.0))
    monkeypatch.setattr(auto, "GAMMA_FACTORS", (1.0, 3.0))
    result = measured(peer, small_split(), 0, auto._options(["--svc-rows", "150"]))
    assert result["error"] < 25
    assert result["seconds"] > 0
    assert ("log_loss" in result) == (peer in ("auto", "calibrated", "hgb"))
    json.dumps(result)


def test_what_is_sure_and_wrong_is_badly_calibrated():
    labels = np.array([0, 1, 1, 0])
    right = np.eye(2)[labels]
    assert calibration_error(right, labels) == 0.0
    assert calibration_error(right[:, ::-1], labels) == 1.0
    # Right half of the time, and 70 % sure
    assert calibration_error(np.array([[0.7, 0.3]] * 4), labels) == pytest.approx(0.2)


def test_results_are_added_and_replaced(tmp_path):
    path = tmp_path / "made" / "auto.json"
    for error, seed in ((1.0, 0), (2.0, 1), (3.0, 0)):
        save(path, {"data": "letter", "peer": "auto", "seed": seed, "error": error})
    assert [row["error"] for row in json.loads(path.read_text())["rows"]] == [3.0, 2.0]


def test_torchkm_is_for_two_classes_where_it_is_installed(monkeypatch):
    split = small_split()
    monkeypatch.setattr(auto, "find_spec", lambda name: None)
    assert "not installed" in auto._reason_to_leave_out("torchkm", split)
    monkeypatch.setattr(auto, "find_spec", lambda name: object())
    assert auto._reason_to_leave_out("torchkm", split) is None
    assert "two classes" in auto._reason_to_leave_out("torchkm", split._replace(y=split.y + 1))
    assert auto._reason_to_leave_out("auto", split) is None
