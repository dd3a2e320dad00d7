"""Audits of forgetting: learned rows are known by their losses, forgotten rows are not."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from frugalsvm import IncrementalSVC, LocalSVC, LocalSVR, save
from frugalsvm.cli.app import app
from frugalsvm.explain.forget_audit import area_under_curve, audit_forgetting, losses_of


def table(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=n)


@pytest.mark.parametrize("kind", [LocalSVC, LocalSVR, IncrementalSVC])
def test_forgotten_rows_look_like_new_ones_and_learned_ones_do_not(kind):
    (X, y), never = table(1200), table(600, 1)
    model = kind(100.0, gamma=1.0, **({} if kind is IncrementalSVC else {"cell_size": 400, "random_state": 0}))
    if kind is not LocalSVR:
        y, never = np.where(y > 0, "a", "b"), (never[0], np.where(never[1] > 0, "a", "b"))
    gone = np.arange(0, 1200, 4)
    model.fit(X, y)
    before = audit_forgetting(model, (X[gone], y[gone]), never)
    assert before.forgotten.value > 0.6
    assert not before.has_passed
    after = audit_forgetting(model.unlearn(gone), (X[gone], y[gone]), never)
    assert after.forgotten.is_chance
    assert after.has_passed
    if kind is not IncrementalSVC:
        assert after.learned.low > 0.6
        assert after.difference == 0.0
        assert after.n_learned == 900
        stays = np.setdiff1d(np.arange(1200), gone)
        assert after.mean_losses["learned"] == pytest.approx(losses_of(model, X[stays], y[stays]).mean(), rel=1e-5)


def test_the_area_under_the_curve_is_the_share_of_pairs():
    rng = np.random.default_rng(0)
    members, others = rng.normal(size=50).round(1), rng.normal(0.5, size=80).round(1)
    found = area_under_curve(members, others)
    pairs = (members[:, None] < others) + 0.5 * (members[:, None] == others)
    assert found.value == pytest.approx(pairs.mean())
    assert found.low < found.value < found.high
    exact = area_under_curve(np.zeros(10), np.ones(20))
    assert (exact.value, exact.high, exact.low) == (1.0, 1.0, 0.95)
    with pytest.raises(ValueError, match="rows of both kinds"):
        area_under_curve(members, others[:0])


def test_intervals_hold_their_promise():
    rng = np.random.default_rng(0)
    n_held = sum(area_under_curve(rng.normal(size=40), rng.normal(size=60)).is_chance for _ in range(400))
    assert 0.91 * 400 < n_held < 0.98 * 400


def test_the_command_writes_a_page(tmp_path):
    (X, y), (new, target) = table(600), table(300, 1)
    model = (
        LocalSVC(100.0, gamma=1.0, cell_size=200, random_state=0).fit(X, (y > 0).astype(int)).unlearn(np.arange(100))
    )
    save(model, tmp_path / "model.frugal")
    for name, rows, values in (("gone", X[:100], y[:100]), ("never", new, target)):
        lines = [f"{a},{b},{c},{int(value > 0)}" for (a, b, c), value in zip(rows, values, strict=True)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["a,b,c,label", *lines]) + "\n")
    arguments = ["audit-forget", "model.frugal", "gone.csv", "--never", "never.csv", "--label", "label"]
    paths = [str(tmp_path / each) if "." in each else each for each in arguments]
    result = CliRunner().invoke(app, [*paths, "--html", str(tmp_path / "audit.html")], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert "cannot be told from rows" in result.output
    assert "AUC, forgotten among never seen" in (tmp_path / "audit.html").read_text()
    found = json.loads(CliRunner().invoke(app, [*paths, "--json"], catch_exceptions=False).stdout)
    assert found["n_forgotten"] == 100
    assert found["has passed"] is True
