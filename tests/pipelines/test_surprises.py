"""Categories that training has not seen, and values missing where it had all, are told of once, with counts."""

import json
import warnings

import numpy as np
import pytest
from typer.testing import CliRunner

from frugalsvm import AutoSVC, BSGDClassifier, load, save
from frugalsvm.cli.app import app
from frugalsvm.exceptions import UnknownValuesWarning
from frugalsvm.pipelines import ColumnEncoder, MissingValueFiller, StreamPipeline
from frugalsvm.pipelines.surprises import Surprises

pandas = pytest.importorskip("pandas")


def table(n=300):
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(
        {
            "age": rng.normal(size=n),
            "plan": rng.choice(["One year", "Two years"], n),
            "town": rng.choice(["Graz", "Linz"], n),
        }
    )
    return frame, np.where(frame["plan"] == "One year", "yes", "no")


def spoiled(frame):
    """Two rows with other plans, three without an age, one without a town."""
    frame = frame.copy()
    frame.loc[[0, 1], "plan"] = ["one year", "ten years"]
    frame.loc[[2, 3, 4], "age"] = np.nan
    frame.loc[5, "town"] = None
    return frame


def fitted(kind, frame, y):
    if kind == "auto":
        return AutoSVC(kernel="rbf", metric=None, random_state=0).fit(frame, y)
    pipeline = StreamPipeline(BSGDClassifier(budget=20, random_state=0), encoder=ColumnEncoder(), impute="median")
    if kind == "fit":
        return pipeline.fit(frame, y)
    return pipeline.set_params(warmup_rows=100).partial_fit(frame[:150], y[:150]).partial_fit(frame[150:], y[150:])


@pytest.mark.parametrize("kind", ["auto", "fit", "stream"])
def test_one_warning_names_columns_and_counts(kind, tmp_path):
    frame, y = table()
    model = fitted(kind, frame, y)
    save(model, tmp_path / "model.frugal")
    for each in (model, load(tmp_path / "model.frugal")):
        with warnings.catch_warnings():
            warnings.simplefilter("error", UnknownValuesWarning)
            each.predict(frame)
        with pytest.warns(UnknownValuesWarning) as told:
            each.predict(spoiled(frame))
        assert len(told) == 1
        said = str(told[0].message)
        assert (
            "'plan': 2 of 300 rows have a category that was not in the training data ('one year', 'ten years')" in said
        )
        assert "'age': the value is missing in 3 of 300 rows, and was missing in none" in said
        assert "'town': the value is missing in 1 of 300 rows" in said


def test_values_that_were_missing_before_are_no_surprise():
    frame, y = table()
    model = fitted("fit", spoiled(frame), y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnknownValuesWarning)
        model.predict(spoiled(frame))


def test_values_that_are_missing_later_in_training_are_no_surprise():
    frame, y = table()
    model = fitted("stream", frame, y)
    with pytest.warns(UnknownValuesWarning):
        model.predict(frame.assign(age=np.nan))
    model.partial_fit(frame.assign(age=np.nan), y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnknownValuesWarning)
        model.predict(frame.assign(age=np.nan))


def test_fillers_and_encoders_know_what_was_complete():
    filler = MissingValueFiller().fit([[1.0, np.nan], [2.0, 3.0]])
    assert filler.complete_.tolist() == [True, False]
    assert ColumnEncoder().fit({"a": ["x", None], "b": ["y", "z"]}).complete_ == ["b"]


def invoke(*arguments):
    result = CliRunner().invoke(app, [str(each) for each in arguments])
    assert result.exit_code == 0, result.output
    return result


def test_commands_tell_once_for_all_rows(tmp_path):
    frame, y = table(6000)
    frame.assign(leaves=y).to_csv(tmp_path / "train.csv", index=False)
    later = frame.copy()
    later.loc[::2, "plan"] = "Five years"
    later.loc[5000:, "age"] = np.nan
    later.assign(leaves=y).to_csv(tmp_path / "later.csv", index=False)
    model, flags = tmp_path / "m.frugal", ("--label", "leaves", "--gamma", 1, "--alpha", 1e-3, "--budget", 20, "-q")
    invoke("train", tmp_path / "train.csv", *flags, "-o", model)
    for command in ("predict", "evaluate", "explain"):
        rows = 1000 if command == "explain" else 6000
        said = " ".join(invoke(command, model, tmp_path / "later.csv").stderr.split())
        assert said.count("was not in the training data") == 1
        assert f"warning: column 'plan': {rows // 2:,} of " in said
        assert "('Five years')" in said
        assert ("column 'age': the value is missing in 1,000 of 6,000 rows" in said) == (command != "explain")
        assert "warning" not in invoke(command, model, tmp_path / "train.csv").stderr
    for command, more, n_unknown in (("evaluate", (), 3000), ("explain", ("--rows", 5010), 2505)):
        told = json.loads(invoke(command, model, tmp_path / "later.csv", "--json", *more).stdout)
        assert told["unknown_categories"] == {"plan": n_unknown}
        assert told["unexpected_missing"] == {"age": 1000 if command == "evaluate" else 10}


def test_categories_that_come_late_in_a_stream_are_told(tmp_path):
    lines = [
        f"{i % 7},{'late' if i > 7000 else 'red' if i % 2 else 'blue'},{'yes' if i % 2 else 'no'}" for i in range(9000)
    ]
    (tmp_path / "rows.csv").write_text("\n".join(["a,color,y", *lines]) + "\n")
    flags = ("--label", "y", "--gamma", 1, "--alpha", 1e-3, "--budget", 20, "-q", "-o", tmp_path / "m.frugal")
    said = " ".join(invoke("train", tmp_path / "rows.csv", *flags).stderr.split())
    assert "warning: column 'color': " in said
    assert "have a category that was not in the first rows, from which categories are taken ('late')" in said


def test_empty_texts_are_called_so():
    found = Surprises()
    found.n_rows = 5
    found.note_unknown("town", {"": 2, "Rom": 1})
    assert found.sentences()[0].endswith("not in the training data (an empty text, 'Rom')")
