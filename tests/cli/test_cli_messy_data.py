"""Data that is sorted, incomplete, in parts, too wide, or hardly there: the right thing, a warning, a sentence."""

import csv
import io
import json

import numpy as np
import pytest
from typer.testing import CliRunner

from frugalsvm.cli.app import app
from frugalsvm.cli.errors import Exit
from frugalsvm.persist import load

FAST = ["--gamma", "3", "--alpha", "1e-4", "--budget", "50"]


def invoke(*arguments, data=None, code=0):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], input=data)
    assert result.exit_code == code, (result.output, result.exception)
    return result


def accuracy(model, data, *flags):
    return json.loads(invoke("evaluate", model, data, "--json", *flags).stdout)["accuracy"]


def quadrants(n_rows, seed):
    """Labels by the signs of two numbers, two thirds of the rows of one class."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n_rows, 2))
    wanted = rng.random(n_rows) < 2 / 3
    X[:, 1] = np.abs(X[:, 1]) * np.sign(X[:, 0]) * np.where(wanted, 1, -1)
    return X.round(4), np.where(wanted, "same", "other")


def table(X, y, header="a,b,label"):
    rows = "".join(f"{a},{b},{label}\n" for (a, b), label in zip(X.tolist(), y, strict=True))
    return f"{header}\n{rows}"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    X, y = quadrants(9000, 0)
    order = np.argsort(y, kind="stable")
    (folder / "mixed.csv").write_text(table(X, y))
    (folder / "sorted.csv").write_text(table(X[order], y[order]))
    (folder / "test.csv").write_text(table(*quadrants(2000, 1)))
    (folder / "small.csv").write_text(table(*quadrants(400, 2)))
    return folder


class TestSorted:
    @pytest.mark.parametrize("flags", [[], ["--shuffle-buffer", "2000"], ["-a", "asset"]], ids=["", "buffer", "asset"])
    def test_a_file_is_as_good_as_its_shuffled_twin(self, files, tmp_path, flags):
        found = {}
        for name in ("mixed", "sorted"):
            model = tmp_path / f"{name}.frugal"
            told = invoke("train", files / f"{name}.csv", "-o", model, *FAST, *flags).output
            assert ("are sorted by label: all rows are read and shuffled" in told) == (name == "sorted")
            found[name] = accuracy(model, files / "test.csv")
        assert found["mixed"] > 0.93
        assert abs(found["mixed"] - found["sorted"]) < 0.01

    def test_the_order_can_be_kept(self, files, tmp_path):
        told = invoke("train", files / "sorted.csv", "-o", tmp_path / "m.frugal", *FAST, "--shuffle", "no").output
        assert "warning: rows were learned in label order" in told

    def test_a_pipe_is_warned_of(self, files, tmp_path):
        data, model = (files / "sorted.csv").read_bytes(), tmp_path / "m.frugal"
        told = invoke("train", "-", "--format", "csv", "-o", model, *FAST, "-q", data=data).output
        assert "warning: the first 8,192 rows of standard input are sorted by label" in told
        assert told.count("warning") == 1
        assert accuracy(model, files / "test.csv") < 0.9
        invoke("train", "-", "--format", "csv", "-o", model, *FAST, "--shuffle", "yes", data=data)
        assert accuracy(model, files / "test.csv") > 0.93

    def test_one_class_for_long(self, files, tmp_path):
        """The advice is for the command line, and a file needs none."""
        X, y = quadrants(21_000, 0)
        order = np.argsort(y)[::-1]
        (tmp_path / "long.csv").write_text(table(X[order], y[order]))
        model, flags = tmp_path / "m.frugal", ["-a", "asset", *FAST]
        told = invoke("train", tmp_path / "long.csv", "-o", model, *flags).output
        assert "have one label only, 'same': all rows are read and shuffled" in told
        assert accuracy(model, files / "test.csv") > 0.93
        data = (tmp_path / "long.csv").read_bytes()
        told = invoke("train", "-", "--format", "csv", "-o", model, *flags, data=data, code=Exit.DATA).output
        assert "asset must know all classes before it learns: name them with --classes, mix the rows with" in told
        invoke("train", "-", "--format", "csv", "-o", model, *flags, "--shuffle", "yes", data=data)
        assert accuracy(model, files / "test.csv") > 0.93

    def test_tuning_looks_at_all_classes(self, files):
        told = invoke("tune", files / "sorted.csv", "--rows", "1000", "--budget", "20", "--json")
        assert json.loads(told.stdout)["accuracy"] > 0.8


class TestMissing:
    @pytest.fixture
    def holes(self, tmp_path):
        X, y = quadrants(1500, 3)
        rows = [[*map(str, row), label] for row, label in zip(X.tolist(), y, strict=True)]
        for i in range(0, 1500, 50):
            rows[i][i % 2] = "NA"
        path = tmp_path / "holes.csv"
        path.write_text("a,b,label\n" + "".join(",".join(row) + "\n" for row in rows))
        return path

    @pytest.mark.parametrize("how", ["median", "mean"])
    def test_filled(self, holes, files, tmp_path, how):
        model = tmp_path / "m.frugal"
        result = invoke("train", holes, "-o", model, *FAST, "--missing", how)
        assert f"30 missing values: filled with the {how} of the first rows" in result.output
        assert load(model).impute == how
        assert len(invoke("predict", model, holes).stdout.splitlines()) == 1500
        assert accuracy(model, holes) > 0.9
        assert accuracy(model, files / "test.csv") > 0.9

    def test_filled_by_default_and_counted(self, holes, tmp_path):
        told = json.loads(invoke("train", holes, "-o", tmp_path / "m.frugal", *FAST, "--json").stdout)
        assert (told["missing_values"], told["incomplete_rows"], told["examples"]) == (30, 0, 1500)

    def test_left_out_or_refused(self, holes, tmp_path):
        model = tmp_path / "m.frugal"
        told = json.loads(invoke("train", holes, "-o", model, *FAST, "--json", "--missing", "skip").stdout)
        assert (told["incomplete_rows"], told["bad_lines"], told["examples"]) == (30, 0, 1470)
        told = invoke("predict", model, holes, code=Exit.DATA).output
        assert "line 2: column 1 ('a'): a value is missing ('NA')" in told
        told = invoke("train", holes, "-o", model, *FAST, "--missing", "fail", code=Exit.DATA).output
        assert "--missing median fills them" in told
        assert "--missing" in invoke("train", holes, "-o", model, "--missing", "zero", code=2).output

    def test_labels(self, files, tmp_path):
        X, y = quadrants(600, 4)
        for word in ("", "NA", "?"):
            labels = [word if i % 20 == 0 else label for i, label in enumerate(y)]
            (tmp_path / "gaps.csv").write_text(table(X, labels))
            model = tmp_path / "m.frugal"
            told = invoke("train", tmp_path / "gaps.csv", "-o", model, *FAST).output
            assert "note: 30 rows without a label: left out" in told
            assert ("if that is a class" in told) == bool(word)  # nothing names no class
            assert load(model).classes_.tolist() == ["other", "same"]
            told = invoke("evaluate", model, tmp_path / "gaps.csv", "--json")
            assert json.loads(told.stdout)["examples"] == 570
            # Rows to predict are all there.
            assert len(invoke("predict", model, tmp_path / "gaps.csv").stdout.splitlines()) == 600


class TestColumns:
    def test_found_by_name(self, files, tmp_path):
        model = tmp_path / "m.frugal"
        X, y = quadrants(1500, 5)
        X[:, 0] *= 100.0
        (tmp_path / "train.csv").write_text(table(X, y))
        swapped = "label,b,a\n" + "".join(f"{c},{b},{a}\n" for (a, b), c in zip(X.tolist(), y, strict=True))
        (tmp_path / "swapped.csv").write_text(swapped)
        (tmp_path / "unlabeled.csv").write_text("b,a\n" + "".join(f"{b},{a}\n" for a, b in X.tolist()))
        invoke("train", tmp_path / "train.csv", "-o", model, *FAST)
        plain = invoke("predict", model, tmp_path / "train.csv").stdout
        assert invoke("predict", model, tmp_path / "swapped.csv").stdout == plain
        assert invoke("predict", model, tmp_path / "unlabeled.csv").stdout == plain
        (tmp_path / "other.csv").write_text("a,c,label\n1,2,same\n")
        told = invoke("predict", model, tmp_path / "other.csv", code=Exit.DATA).output
        assert "has no column 'b', which the model has learned from" in told

    @pytest.mark.parametrize("has_header", [True, False])
    def test_found_by_order_where_one_of_two_files_has_no_names(self, has_header, tmp_path):
        X, y = quadrants(300, 5)
        rows = [(a, "up" if b > 0 else "down", label) for (a, b), label in zip(X.tolist(), y, strict=True)]
        data, model = {}, tmp_path / "m.frugal"
        for header in (True, False):
            data[header] = tmp_path / f"{header}.csv"
            lines = (["a,b,label"] if header else []) + [",".join(map(str, row)) for row in rows]
            data[header].write_text("\n".join(lines) + "\n")
        invoke("train", data[has_header], "-a", "bsgd", "-o", model, *FAST)
        one, other = (invoke("predict", model, data[header], "--scores").stdout for header in (True, False))
        assert one == other
        assert accuracy(model, data[True]) == accuracy(model, data[False]) > 0.6

    def test_text_that_looks_like_numbers_stays_text(self, tmp_path):
        lines = [f"{k % 7},${k % 9}.50,{'xy'[k % 2]}" for k in range(100)]
        (tmp_path / "t.csv").write_text("\n".join(["a,price,label", *lines]) + "\n")
        invoke("train", tmp_path / "t.csv", "-o", tmp_path / "m.frugal", *FAST, "--categorical", "price")
        assert len(invoke("predict", tmp_path / "m.frugal", tmp_path / "t.csv").stdout.splitlines()) == 100

    def test_left_out(self, tmp_path):
        X, y = quadrants(300, 6)
        rows = "".join(f"{a},{b},id{i},{label}\n" for i, ((a, b), label) in enumerate(zip(X.tolist(), y, strict=True)))
        (tmp_path / "t.csv").write_text("a,b,who,label\n" + rows)
        (tmp_path / "new.csv").write_text("a,b,who,label\n0.5,0.5,x,same\n")
        model = tmp_path / "m.frugal"
        told = invoke("train", tmp_path / "t.csv", "-o", model, *FAST).output
        assert "column 'who' has 300 different texts in 300 rows: it is left out (--categorical who keeps it)" in told
        assert invoke("predict", model, tmp_path / "new.csv").stdout == "same\n"
        invoke("train", tmp_path / "t.csv", "-o", model, *FAST, "--categorical", "who")
        assert load(model).encoder_.names_ == ["who"]
        told = invoke("train", tmp_path / "t.csv", "-o", model, *FAST, "--ignore", "who,a").output
        assert load(model).n_features_in_ == 1

    def test_names_with_spaces(self, tmp_path):
        """Flags that messages suggest can be pasted; repeated flags add up; an export tells the order of columns."""
        X, y = quadrants(300, 6)
        lines = [
            f"{a},{'' if i % 9 == 0 else b},{'Linz' if i % 2 else 'Graz'},id{i},{label}\n"
            for i, ((a, b), label) in enumerate(zip(X.tolist(), y, strict=True))
        ]
        (tmp_path / "t.csv").write_text("a,b,home town,who is it,label\n" + "".join(lines))
        model = tmp_path / "m.frugal"
        told = invoke("train", tmp_path / "t.csv", "-o", model, "--time-budget", "2s").output
        assert "(--categorical 'who is it' takes whole texts)" in told
        told = " ".join(invoke("export", model, "--to", "c", "-o", tmp_path).output.split())
        assert "the numbers of a row, in this order: a, b" in told
        assert "the text of a row, in this order: home town" in told
        flags = ["--ignore", "home town", "--ignore", "who is it", "--missing", "skip"]
        invoke("train", tmp_path / "t.csv", "-o", model, *FAST, *flags)
        assert load(model).n_features_in_ == 2
        told = invoke("export", model, "--to", "c", "-o", tmp_path / "c").output
        assert "the numbers of a row, in this order: a, b\n" in told
        (tmp_path / "flags.toml").write_text('ignore = "home town,who is it"\n')
        invoke("train", tmp_path / "t.csv", "-o", model, *FAST, "--config", tmp_path / "flags.toml")
        assert load(model).n_features_in_ == 2

    def test_a_model_file_that_describes_none(self, files, tmp_path):
        from frugalsvm.persist import describe, save

        model = tmp_path / "m.frugal"
        invoke("train", files / "small.csv", "-o", model, *FAST)
        metadata = describe(model).metadata
        metadata["training"]["data"]["columns"] = [["a", 1, None]]
        save(load(model), model, metadata=metadata)
        assert "columns" in invoke("predict", model, files / "small.csv", code=Exit.MODEL).output


def test_several_files_patterns_and_folders(files, tmp_path):
    X, y = quadrants(1200, 7)
    folder = tmp_path / "parts"
    folder.mkdir()
    (tmp_path / "whole.csv").write_text(table(X, y))
    for part in range(3):
        rows = slice(400 * part, 400 * part + 400)
        (folder / f"{part}.csv").write_text(table(X[rows], y[rows]))
    invoke("train", tmp_path / "whole.csv", "-o", tmp_path / "whole.frugal", *FAST)
    expected = invoke("predict", tmp_path / "whole.frugal", tmp_path / "whole.csv", "--scores").stdout
    for data in ([folder], [folder / "*.csv"], sorted(folder.iterdir())):
        model = tmp_path / "m.frugal"
        invoke("train", *data, "-o", model, *FAST)
        assert invoke("predict", model, *data, "--scores").stdout == expected
        assert accuracy(model, files / "test.csv") > 0.9
    assert "No file matches" in invoke("train", folder / "*.tsv", code=Exit.DATA).output


class TestHardlyAnyRows:
    def test_one_class(self, files, tmp_path):
        X, _ = quadrants(300, 8)
        (tmp_path / "one.csv").write_text(table(X, ["same"] * 300))
        one, model = tmp_path / "one.csv", tmp_path / "m.frugal"
        told = invoke("train", one, "-a", "bsgd", "-o", model, "-q").output
        assert "warning: all rows have the label 'same'" in told
        assert set(invoke("predict", model, files / "small.csv").stdout.split()) == {"same"}
        assert accuracy(model, one) == 1.0
        told = invoke("train", one, "-o", tmp_path / "n.frugal", "-a", "asset", code=Exit.DATA).output
        assert "one.csv has one label only, 'same', and asset must know all classes" in told
        assert "1 different labels: too few" in invoke("tune", one, code=Exit.DATA).output
        invoke("train", files / "small.csv", "-o", model, *FAST)
        told = invoke("evaluate", model, one).output
        assert "all rows of" in told
        assert "have the label 'same'" in told

    def test_one_row(self, files, tmp_path):
        (tmp_path / "row.csv").write_text("a,b,label\n0.5,0.5,same\n")
        model = tmp_path / "m.frugal"
        assert "warning: all rows" in invoke("train", tmp_path / "row.csv", "-a", "bsgd", "-o", model, "-q").output
        assert invoke("predict", model, tmp_path / "row.csv").stdout == "same\n"
        assert "too few" in invoke("tune", tmp_path / "row.csv", code=Exit.DATA).output
        invoke("train", files / "small.csv", "-o", model, *FAST)
        assert invoke("predict", model, tmp_path / "row.csv").stdout == "same\n"
        assert accuracy(model, tmp_path / "row.csv") == 1.0

    def test_no_rows(self, files, tmp_path):
        (tmp_path / "none.csv").write_text("a,b,label\n")
        (tmp_path / "gaps.csv").write_text("a,b,label\n1,2,\n3,4,\n")
        model = tmp_path / "m.frugal"
        invoke("train", files / "small.csv", "-o", model, *FAST)
        for command in (["train"], ["evaluate", model], ["predict", model], ["tune"]):
            told = invoke(*command, tmp_path / "none.csv", code=Exit.DATA).output
            assert "none.csv has no rows" in told
        told = invoke("train", tmp_path / "gaps.csv", code=Exit.DATA).output
        assert "no rows with a label and all values (2 lack a label" in told

    def test_labels_that_the_model_does_not_know(self, files, tmp_path):
        X, _ = quadrants(50, 9)
        (tmp_path / "other.csv").write_text(table(X, ["up", "down"] * 25))
        model = tmp_path / "m.frugal"
        invoke("train", files / "small.csv", "-o", model, *FAST)
        told = invoke("evaluate", model, tmp_path / "other.csv", code=Exit.DATA).output
        assert "other.csv has labels like 'down', and the model knows 'other', 'same': is --label" in told


def test_labels_with_line_breaks_are_quoted(tmp_path):
    """Readers of tab-separated text get a line for each row; other labels are as they were."""
    labels = ["two\nlines", "a\ttab", '"quoted" here', 'an 8" pipe', "plain"]
    X = np.eye(5)[np.arange(100) % 5]
    with (tmp_path / "t.csv").open("w", newline="") as file:
        csv.writer(file).writerows([[*"abcde", "label"], *([*row, labels[k % 5]] for k, row in enumerate(X.tolist()))])
    invoke("train", tmp_path / "t.csv", "-o", tmp_path / "m.frugal", *FAST)
    for flags, n_columns in (((), 1), (("--scores",), 6)):
        written = invoke("predict", tmp_path / "m.frugal", tmp_path / "t.csv", *flags).stdout
        rows = list(csv.reader(io.StringIO(written, newline=""), delimiter="\t"))
        assert [row[0] for row in rows] == 20 * labels
        assert {len(row) for row in rows} == {n_columns}
    assert '\nan 8" pipe\t' in written


def test_rows_too_wide_for_a_model(tmp_path):
    """Refused before the memory is taken; hashed, the model is small and knows the features again."""
    data, model = tmp_path / "wide.libsvm", tmp_path / "m.frugal"
    data.write_text("".join(f"{i % 2} {1000 * (i % 2) + 1}:1 {5_000_000 - i}:0.5\n" for i in range(10)))
    told = invoke("train", data, "--budget", "20", "-o", model, code=Exit.DATA).output
    assert "5,000,000 features" in told
    assert "--hash-features 65536" in told
    assert not model.exists()
    told = invoke("train", data, "--budget", "20", "-o", model, "--hash-features", "1024").output
    assert "feature numbers are hashed to 1,024 features" in told
    assert model.stat().st_size < 300_000
    assert invoke("predict", model, data).stdout.split() == ["0", "1"] * 5
    invoke("train", data, "--hash-features", "64", "--features", "70", code=2)
    told = invoke("tune", data, "--budget", "20", code=Exit.DATA).output
    assert "--hash-features" in told


def test_a_table_with_dates_trains_predicts_and_is_explained(tmp_path):
    """Only the weekday says what the class is."""
    days = np.arange("2020-01-01", "2021-06-01", dtype="datetime64[D]")
    weekend = (days.astype(np.int64) + 3) % 7 >= 5
    lines = [
        f"{day},{k % 5},{'off' if free else 'on'}" for k, (day, free) in enumerate(zip(days, weekend, strict=True))
    ]
    (tmp_path / "rows.csv").write_text("\n".join(["day,a,shop", *lines]) + "\n")
    model = tmp_path / "m.frugal"
    said = invoke("train", tmp_path / "rows.csv", "--label", "shop", *FAST, "--passes", "5", "-o", model).output
    assert "column 'day' has dates: days, months, weekdays, cycles of year and week are learned" in said
    told = json.loads(invoke("evaluate", model, tmp_path / "rows.csv", "--json").stdout)
    assert told["accuracy"] > 0.9
    assert "day (weekday)" in invoke("explain", model, tmp_path / "rows.csv", "--show", "1").output


def test_feature_numbers_of_rows_to_predict_start_as_those_of_training(files, tmp_path):
    """A row without feature 0 does not tell that numbers start there."""
    X, y = quadrants(400, 7)
    lines = [f"{int(c == 'same')} 0:{a} 1:{b}\n" for (a, b), c in zip(X.tolist(), y, strict=True)]
    (tmp_path / "train.libsvm").write_text("".join(lines))
    (tmp_path / "both.libsvm").write_text("0 0:0.001 1:0.9\n0 1:-0.7\n")
    (tmp_path / "one.libsvm").write_text("0 1:-0.7\n")
    model = tmp_path / "m.frugal"
    invoke("train", tmp_path / "train.libsvm", "-o", model, *FAST)
    both, one = (invoke("predict", model, tmp_path / f"{name}.libsvm", "--scores").stdout for name in ("both", "one"))
    assert one == both.splitlines(keepends=True)[1]


def test_digits_that_float32_does_not_have(tmp_path):
    """Seconds since 1970 of ten minutes: 128 of them are one number in float32."""
    rng = np.random.default_rng(0)
    seconds = rng.integers(0, 600, 600)
    labels = np.where(seconds // 150 % 2 == 0, "even", "odd")
    path, model = tmp_path / "t.csv", tmp_path / "m.frugal"
    for zero in (0, 1_700_000_000):
        rows = [f"{zero + s},{b:.3f},{c}\n" for s, b, c in zip(seconds, rng.normal(size=600), labels, strict=True)]
        path.write_text("t,b,label\n" + "".join(rows))
        told = invoke("train", path, "-o", model, "-a", "bsgd").output
        assert ("numbers of column 't' are large and differ little: rows are read in float64" in told) == (zero > 0)
        assert accuracy(model, path) > 0.9
    told = invoke("train", "-", "-o", model, "-a", "bsgd", data=path.read_text()).output
    assert "warning: numbers of column 't' are large and differ little, and float32 blurs them" in told


def test_a_few_rows_are_written_as_those_of_training(tmp_path):
    """``1.234`` alone could be a decimal number; the training data had ``12.345,6``."""
    rng = np.random.default_rng(0)
    values = rng.uniform(500, 20_000, 300)
    rows = [f"{v:,.1f};{v > 5000}\n".replace(",", "'").replace(".", ",").replace("'", ".") for v in values]
    (tmp_path / "t.csv").write_text("price;label\n" + "".join(rows))
    model = tmp_path / "m.frugal"
    invoke("train", tmp_path / "t.csv", "-o", model, *FAST)
    for name, lines in (("one", ["12.345;True"]), ("both", ["12.345;True", "12.345,0;True"])):
        (tmp_path / f"{name}.csv").write_text("\n".join(["price;label", *lines]) + "\n")
    one, both = (invoke("predict", model, tmp_path / f"{name}.csv", "--scores").stdout for name in ("one", "both"))
    assert one.startswith("True")
    assert both == 2 * one
