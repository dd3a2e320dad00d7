"""Messages name flags, not parameters of Python; and labels that are no classes are bad lines like others."""

import json
import threading
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from frugalsvm.cli import console
from frugalsvm.cli.app import app
from frugalsvm.cli.console import compiling_shown
from frugalsvm.cli.errors import Exit, in_flags, reported
from frugalsvm.compiling import notice
from frugalsvm.streams import StreamError, open_stream

FAST = ["--gamma", "8", "--alpha", "1e-3", "--budget", "20", "--quiet"]
CLASSES = ["--task", "classification"]
N_ROWS = 200


def invoke(*arguments):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def rows(form):
    """Lines of good rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, 2)).round(3)
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    line = "{2} 1:{0} 2:{1}" if form == "libsvm" else "{0},{1},{2}"
    return [line.format(a, b, label) for (a, b), label in zip(X, y, strict=True)]


def written(path, form, bad=()):
    """A file with bad lines in its middle."""
    good = rows(form)
    header = ["a,b,label"] if form == "csv" else []
    path.write_text("\n".join([*header, *good[:50], *bad, *good[50:]]) + "\n")
    return path


BAD_LABELS = {"csv": ["1,2,0.5", "1,x,1", "3,4,-1.25"], "libsvm": ["0.5 1:1 2:2", "1 1:x", "-1.25 1:3"]}


@pytest.mark.parametrize("form", BAD_LABELS)
def test_labels_with_fractions_are_skipped_and_counted(form, tmp_path, monkeypatch):
    models = []
    for folder, bad in (("good", ()), ("bad", BAD_LABELS[form])):
        (tmp_path / folder).mkdir()
        monkeypatch.chdir(tmp_path / folder)
        written(tmp_path / folder / f"rows.{form}", form, bad)
        flags = [*FAST, *CLASSES, "--on-bad-line", "skip", "--passes", "2", "-o", tmp_path / f"{folder}.frugal"]
        told = json.loads(invoke("train", f"rows.{form}", *flags, "--json").stdout)
        assert (told["examples"], told["bad_lines"]) == (N_ROWS, 2 * len(bad))  # in each of two passes
        models.append((tmp_path / f"{folder}.frugal").read_bytes())
    assert models[0] == models[1]
    line = 52 if form == "csv" else 51
    skipped = invoke("train", f"rows.{form}", *flags[:-1], "new.frugal").output
    assert f"rows.{form}, line {line}: the label 0.5 is not a class: classes are whole numbers or text" in skipped
    evaluated = invoke("evaluate", tmp_path / "good.frugal", f"rows.{form}", "--on-bad-line", "skip", "--json")
    told = json.loads(evaluated.stdout)
    assert (told["examples"], told["bad_lines"]) == (N_ROWS, 3)
    assert "3 bad lines were skipped:" in evaluated.stderr
    predicted = invoke("predict", tmp_path / "good.frugal", f"rows.{form}", "--on-bad-line", "skip")
    assert len(predicted.stdout.splitlines()) == N_ROWS + 2  # which needs no labels
    assert f"1 bad line was skipped:\n  rows.{form}, line {line + 1}" in predicted.stderr


@pytest.mark.parametrize("form", BAD_LABELS)
def test_a_label_with_a_fraction_is_an_error_otherwise(form, tmp_path):
    data = written(tmp_path / f"rows.{form}", form, BAD_LABELS[form][:1])
    result = invoke("train", data, *FAST, *CLASSES, "-o", tmp_path / "m.frugal")
    assert result.exit_code == Exit.DATA
    assert "is 0.5, and classes are whole numbers or text" in result.output
    assert not list(tmp_path.glob("*.frugal*"))


LARGE = [2**53, 2**53 + 1]  # one number as floats


def large_labels(path, form):
    line = "{2} 1:{0} 2:{1}\n" if form == "libsvm" else "{0},{1},{2}\n"
    header = "" if form == "libsvm" else "a,b,label\n"
    path.write_text(header + "".join(line.format(k % 2, k % 5, LARGE[k % 2]) for k in range(100)))
    return path


@pytest.mark.parametrize("form", ["csv", "libsvm"])
@pytest.mark.parametrize(
    "command", [["train"], ["train", "-a", "bsgd"], ["tune"], ["tune", "-a", "bsgd"]], ids=" ".join
)
def test_classes_that_floats_would_merge_are_refused(command, form, tmp_path):
    data = large_labels(tmp_path / f"rows.{form}", form)
    result = invoke(*command, data)
    assert result.exit_code == Exit.DATA
    assert "is 9.0072e+15, and whole numbers from 2**53 on are rounded" in result.output
    assert ("(--categorical label takes the column as text)" in result.output) == (form == "csv")
    if "-a" in command:
        skipped = invoke(*command, data, "--on-bad-line", "skip").output
        assert "100 bad lines were left out" in skipped


def test_classes_that_floats_would_merge_can_be_text(tmp_path):
    data, model = large_labels(tmp_path / "rows.csv", "csv"), tmp_path / "m.frugal"
    invoke("train", data, *FAST, "--categorical", "label", "-o", model)
    assert invoke("predict", model, data).stdout.split() == list(map(str, LARGE * 50))
    assert json.loads(invoke("evaluate", model, data, "--json").stdout)["accuracy"] == 1


def test_a_column_without_classes_leaves_no_rows(tmp_path):
    data = written(tmp_path / "rows.csv", "csv")
    flags = ["-a", "bsgd", "--label", "a", "--on-bad-line", "skip"]
    result = invoke("train", data, *flags, *FAST, "-o", tmp_path / "m.frugal")
    assert result.exit_code == Exit.DATA
    assert "rows.csv has no rows" in result.output
    assert "is not a class" in result.output


def test_widths_are_told_by_the_flag(tmp_path):
    data = written(tmp_path / "rows.csv", "csv")
    result = invoke("train", data, "--features", 3, *FAST, "-o", tmp_path / "m.frugal")
    assert result.exit_code == Exit.DATA
    assert "2 columns of numbers beside the label, not --features 3" in result.output
    wide = written(tmp_path / "rows.libsvm", "libsvm", ["1 7:1"])
    for command in ("train", "tune"):
        result = invoke(command, wide, "--features", 2, "-o", tmp_path / "m")
        assert "line 51: column 2: feature '7' is beyond --features 2" in result.output
    skipped = invoke("train", wide, "--features", 2, "--on-bad-line", "skip", *FAST, "-o", tmp_path / "skipped.frugal")
    assert "feature '7' is beyond --features 2" in skipped.output


@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_widths_of_models_are_no_flags(command, tmp_path):
    model = tmp_path / "m.frugal"
    assert invoke("train", written(tmp_path / "rows.csv", "csv"), *FAST, "-o", model).exit_code == 0
    (tmp_path / "wide.csv").write_text("a,b,c,label\n1,2,3,0\n")
    result = invoke(command, model, tmp_path / "wide.csv")
    assert result.exit_code == Exit.DATA
    assert "wide.csv has a column 'c', which the model has not learned from; --ignore c leaves it out" in result.output
    assert invoke(command, model, tmp_path / "wide.csv", "--ignore", "c").exit_code == 0


@pytest.mark.parametrize(
    ("name", "content", "options", "words"),
    [
        (
            "n_features.csv",
            b"n_features,y\n" + b"1,0\n" * 60 + b"x,1\n",
            {},
            "n_features.csv, line 62: column 1 ('n_features'): 'x' is not a number",
        ),
        (
            "n_features",
            b"1 99999999:1\n",
            {},
            "n_features has a feature number above 33554432; if that is right, give --features.",
        ),
        (
            "format={n_features}",
            b"\0\0",
            {},
            "format={n_features} is in no format that is known here; say which one with --format.",
        ),
        ("x", b"1 0:1\n", {"zero_based": False}, "feature number 0 where numbers start at 1"),
    ],
)
def test_names_of_users_stay(name, content, options, words, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(StreamError) as raised:
        list(open_stream(tmp_path / name, **options))
    assert in_flags(raised.value.sentence).endswith(words)


class TestWhatTakesAWhile:
    @pytest.mark.parametrize(("flag", "variable"), [(False, ""), (True, ""), (False, "1")])
    def test_compilations_are_shown_once(self, flag, variable, capsys, monkeypatch):
        monkeypatch.setenv(notice.QUIET, variable)
        quiet = flag or bool(variable)
        with reported(), compiling_shown(quiet=flag):
            for name in ("sgd.run", "predict.run"):
                notice._show(name, None)
                notice._show(name, 3.0)
        shown = capsys.readouterr().err
        assert shown.count("Compiling machine code") == (0 if quiet else 1)
        assert notice._show is notice.show_on_terminal

    @pytest.mark.parametrize("quiet", [False, True])
    def test_a_status_is_told_while_it_lasts(self, quiet, capsys, monkeypatch):
        monkeypatch.setattr(console, "_SOON_SECONDS", 0.0)
        told = threading.Event()
        monkeypatch.setattr(console, "tell", lambda line: (print(line), told.set()))
        with console.Status("Choosing gamma ...", quiet=quiet):
            assert told.wait(0.2 if quiet else 30) != quiet
        assert capsys.readouterr().out == ("" if quiet else "Choosing gamma ...\n")


class TestOtherKindsOfRows:
    @pytest.fixture
    def model(self, tmp_path):
        data = tmp_path / "text.csv"
        good = [line.rsplit(",", 1) for line in rows("csv")]
        data.write_text("\n".join(["a,b,label", *(f"{x},{'yes' if y == '1' else 'no'}" for x, y in good)]) + "\n")
        assert invoke("train", data, *FAST, "-o", tmp_path / "m.frugal").exit_code == 0
        return tmp_path / "m.frugal"

    def test_labels_of_another_kind(self, model, tmp_path):
        result = invoke("evaluate", model, written(tmp_path / "rows.csv", "csv"))
        assert result.exit_code == Exit.DATA
        assert "rows.csv has labels like '0', and the model knows 'no', 'yes'" in " ".join(result.output.split())

    def test_labels_are_known_by_their_name(self, model, tmp_path):
        plain, other = (invoke("predict", model, tmp_path / "text.csv", *flags) for flags in ([], ["--no-labeled"]))
        assert plain.exit_code == other.exit_code == 0
        assert plain.stdout == other.stdout

    def test_no_other_column_is_taken_for_the_label(self, model, tmp_path):
        (tmp_path / "more.csv").write_text("a,b,favorite\n1,2,yes\n3,4,no\n")
        result = invoke("evaluate", model, tmp_path / "more.csv")
        assert result.exit_code == Exit.DATA
        words = "more.csv has no column 'label', which held the labels in training; --label names another one"
        assert words in " ".join(result.output.split())
        assert invoke("evaluate", model, tmp_path / "more.csv", "--label", "favorite").exit_code == 0
        result = invoke("predict", model, tmp_path / "more.csv")
        assert result.exit_code == Exit.DATA
        assert "has a column 'favorite', which the model has not learned from" in " ".join(result.output.split())

    def test_columns_that_training_left_out(self, tmp_path):
        lines = rows("csv")
        data = tmp_path / "noted.csv"
        data.write_text("\n".join(["note,id,a,b,label", *(f"n{k},{k},{line}" for k, line in enumerate(lines))]) + "\n")
        assert invoke("train", data, "--ignore", "note,id", *FAST, "-o", tmp_path / "n.frugal").exit_code == 0
        for command in ("predict", "evaluate"):
            assert invoke(command, tmp_path / "n.frugal", data).exit_code == 0

    def test_text_that_was_not_learned(self, model, tmp_path):
        (tmp_path / "more.csv").write_text("a,b,town,label\n1,2,Graz,yes\n")
        result = invoke("predict", model, tmp_path / "more.csv")
        assert result.exit_code == Exit.DATA
        assert "more.csv has a column 'town', which the model has not learned from; --ignore town" in result.output

    def test_text_that_is_missing(self, tmp_path):
        data = tmp_path / "colors.csv"
        data.write_text(
            "\n".join(["a,color,y", *(f"{i % 7},{'red' if i % 2 else 'blue'},{i % 2}" for i in range(200))])
        )
        assert invoke("train", data, *FAST, "-o", tmp_path / "c.frugal").exit_code == 0
        (tmp_path / "plain.csv").write_text("a,y\n1,0\n2,1\n")
        result = invoke("predict", tmp_path / "c.frugal", tmp_path / "plain.csv")
        assert result.exit_code == Exit.DATA
        assert "plain.csv has no column 'color', which the model has learned from" in result.output

    @pytest.mark.parametrize(
        "command", [["inspect"], ["export", "--to", "c", "-o", "x"], ["predict"], ["train", "--resume"]]
    )
    def test_files_that_are_no_models_are_named(self, command, tmp_path):
        data = written(tmp_path / "rows.csv", "csv")
        (tmp_path / "junk.frugal").write_text("junk")
        places = [data, "-o", tmp_path / "junk.frugal"] if command[0] == "train" else [tmp_path / "junk.frugal"]
        result = invoke(*command, *places, *([data] if command[0] == "predict" else []))
        assert result.exit_code == Exit.MODEL
        assert "junk.frugal: This is not a frugalsvm model file" in " ".join(result.output.split())


def test_json_has_no_words_that_are_not_json(capsys):
    """NaN and Infinity, which Python writes, are no JSON: missing numbers of explained rows are NaN."""
    values = {"data": np.array([[1.5, np.nan]]), "half_life": np.inf, "n": np.int64(3), "of": (None, True, "NaN")}
    console.print_json(values)
    wrong = []
    found = json.loads(capsys.readouterr().out, parse_constant=wrong.append)
    assert found == {"data": [[1.5, None]], "half_life": "inf", "n": 3, "of": [None, True, "NaN"]}
    assert not wrong


MODELS = Path(__file__).parents[1] / "persist" / "data" / "0.1"


@pytest.mark.parametrize(
    "command", [["predict", "rows.csv"], ["evaluate", "rows.csv"], ["explain", "rows.csv"], ["export", "--to", "onnx"]]
)
@pytest.mark.parametrize(("name", "told"), [("scaler", "StreamingScaler"), ("filler", "MissingValueFiller")])
def test_files_of_what_predicts_nothing(name, told, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text("1,2,3,0\n4,5,6,1\n")
    model, output = MODELS / f"{name}.frugal", ["-o", "model.onnx"] if command[0] == "export" else []
    result = invoke(command[0], model, *command[1:], *output)
    assert result.exit_code == Exit.MODEL
    assert len(result.stderr.splitlines()) == 1
    assert f"{name}.frugal: " in result.stderr
    assert told in result.stderr


def test_models_that_cannot_be_exported_are_told():
    result = invoke("export", MODELS / "sklearn.frugal", "--to", "onnx", "-o", "model.onnx")
    assert result.exit_code == Exit.MODEL
    assert "Step 'simpleimputer' of the pipeline is a SimpleImputer" in result.stderr


def test_a_pipeline_that_holds_rows_back_is_inspected():
    result = invoke("inspect", MODELS / "pipeline-held.frugal")
    assert result.exit_code == 0
    assert "feature 1, feature 2, feature 3" in result.stdout
