"""``frugalsvm forget``: rows leave a model file, and a signed report says so."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from frugalsvm import IncrementalSVC, LASVMClassifier, LocalSVC, load, save
from frugalsvm.cli.app import app
from frugalsvm.estimators.forget_reports import is_signed_by
from frugalsvm.persist import digest_of


def run(*arguments, code=0):
    result = CliRunner().invoke(app, [str(each) for each in arguments], catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result.output


def table(n=300):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    return X, (X[:, 0] * X[:, 1] > 0).astype(int)


def lines(path, values):
    path.write_text("\n".join(map(str, values)) + "\n")
    return path


@pytest.mark.parametrize("model", [LocalSVC(cell_size=100, random_state=0), IncrementalSVC()])
def test_rows_leave_the_file(tmp_path, model):
    X, y = table()
    path = tmp_path / "model.frugal"
    save(model.fit(X, y), path)
    before = digest_of(path)
    (tmp_path / "key").write_text("secret\n")
    told = run(
        "forget", path, lines(tmp_path / "ids.csv", ["id", 3, 17, 3]), "--report", tmp_path / "report.json",
        "--key-file", tmp_path / "key",
    )  # fmt: skip
    assert "2 rows forgotten" in told
    assert set(range(300)) - set(load(path).row_ids_.tolist()) == {3, 17}
    report = json.loads((tmp_path / "report.json").read_text())
    assert is_signed_by(report, "secret")
    assert report["files"] == {"before": before, "after": digest_of(path)}
    assert report["forgotten"][-1]["ids"] == [3, 17]
    assert report["forgotten"][-1]["residual"] < 1e-3


def test_a_model_that_was_trained_here(tmp_path):
    X, y = table()
    rows = [f"{a:.6f},{b:.6f},{c:.6f},{label}" for (a, b, c), label in zip(X, y, strict=True)]
    lines(tmp_path / "rows.csv", ["a,b,c,label", *rows])
    path, other = tmp_path / "model.frugal", tmp_path / "other.frugal"
    run("train", tmp_path / "rows.csv", "-o", path, "-a", "local", "--gamma", 1.0, "--label", "label")
    told = run("forget", path, lines(tmp_path / "ids.csv", [5]), "-o", other)
    assert "still has these rows: delete it" in told
    assert "means and spreads of columns" in told
    model, whole = load(other), load(path)
    assert 5 in whole.estimator_.row_ids_
    row = whole.estimator_.learned_rows()[5]  # the sixth of the file
    np.testing.assert_allclose(row, whole.scaler_.transform(X[5:6])[0], atol=1e-4)
    for each, is_there in ((whole, True), (model, False)):
        assert (each.estimator_.learned_rows() == row).all(axis=1).any() == is_there
    run("predict", other, tmp_path / "rows.csv", "-o", tmp_path / "out.csv")


def test_ids_are_places_in_a_file_that_is_sorted_by_label(tmp_path):
    X, y = table()
    order = np.argsort(y, kind="stable")
    rows = [f"{a:.6f},{b:.6f},{c:.6f},{label}" for (a, b, c), label in zip(X[order], y[order], strict=True)]
    lines(tmp_path / "rows.csv", ["a,b,c,label", *rows[:200], "1,2,3,", *rows[200:]])
    path = tmp_path / "model.frugal"
    told = run("train", tmp_path / "rows.csv", "-o", path, "-a", "local", "--gamma", 1.0)
    assert "label order" not in told
    model = load(path)
    np.testing.assert_allclose(model.estimator_.learned_rows(), model.scaler_.transform(X[order]), atol=1e-4)
    told = run("forget", path, lines(tmp_path / "ids.csv", [7]))
    assert "note: training left out 1 row of its data, and ids count those that were learned" in told


@pytest.mark.parametrize(
    ("values", "words"),
    [(["id", "x"], "expected whole numbers"), (["id"], "has no ids"), ([1000], "Row 1000 is unknown")],
)
def test_ids_that_are_none_change_nothing(tmp_path, values, words):
    X, y = table()
    path = tmp_path / "model.frugal"
    save(LocalSVC(cell_size=100, random_state=0).fit(X, y), path)
    before = digest_of(path)
    result = CliRunner().invoke(app, ["forget", str(path), str(lines(tmp_path / "ids.csv", values))])
    assert result.exit_code != 0
    assert words in " ".join(result.output.split())
    assert digest_of(path) == before


def test_models_that_cannot_forget_say_so(tmp_path):
    X, y = table()
    path = tmp_path / "model.frugal"
    save(LASVMClassifier().fit(X, y), path)
    result = CliRunner().invoke(app, ["forget", str(path), str(lines(tmp_path / "ids.csv", [1]))])
    assert result.exit_code != 0
    assert "LASVMClassifier cannot forget rows" in " ".join(result.output.split())
    lines(
        tmp_path / "rows.csv", ["a,b,c,label", *(f"{a},{b},{c},{label}" for (a, b, c), label in zip(X, y, strict=True))]
    )
    run("train", tmp_path / "rows.csv", "-o", path, "-a", "bsgd", "--gamma", 1.0, "--alpha", 1e-3)
    told = run("forget", path, tmp_path / "ids.csv", code=3)
    assert "was trained by bsgd, which cannot forget rows: `train -a local` can" in " ".join(told.split())
