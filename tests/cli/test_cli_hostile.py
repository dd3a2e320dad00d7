"""Hostile data: an error that says where, or a count of bad lines and the model of the good ones, byte for byte."""

import gzip
import json
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from frugalsvm.cli.app import app
from frugalsvm.cli.errors import Exit

# Missing values are bad lines here; by default they are filled.
FAST = ["--gamma", "8", "--alpha", "1e-3", "--budget", "20", "--quiet", "--missing", "fail"]
N_BEFORE, N_ROWS = 150, 300  # good rows before the bad lines, and all good rows
LONG = 10_000_000  # bytes of a long line
TOO_LONG = 17_000_000  # more than is read of a line


def _good_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, 3)).round(3)
    return X, (X[:, 0] * X[:, 1] > 0).astype(int)


X, Y = _good_rows()
CSV_ROWS = [f"{a},{b},{c},{label}".encode() for (a, b, c), label in zip(X, Y, strict=True)]
LIBSVM_ROWS = [f"{label} 1:{a} 2:{b} 3:{c}".encode() for (a, b, c), label in zip(X, Y, strict=True)]
HEADER = b"a,b,c,label"
JUNK = bytes(byte for byte in np.random.default_rng(1).bytes(3000) if byte not in b"\n\r#")


def lines(*parts):
    """A file of lines, from lines and lists of lines."""
    flat = [line for part in parts for line in (part if isinstance(part, list) else [part])]
    return b"\n".join(flat) + b"\n"


def csv_with(*bad, header=True):
    return lines([HEADER] if header else [], CSV_ROWS[:N_BEFORE], list(bad), CSV_ROWS[N_BEFORE:])


def libsvm_with(*bad):
    return lines(LIBSVM_ROWS[:N_BEFORE], list(bad), LIBSVM_ROWS[N_BEFORE:])


# name: (contents, number of bad lines, the first of them, what is wrong, in words)
BAD_LINES = {
    "too-few.csv": (csv_with(b"1,2,3"), 1, 152, "3 fields where 4 are expected"),
    "too-many.csv": (csv_with(b"1,2,3,4,5", b"1,2,3,4,5,6"), 2, 152, "5 fields where 4 are expected"),
    "nan.csv": (csv_with(b"1,nan,2,1", b",1,2,0"), 2, 152, "column 2 ('b'): a value is missing ('nan')"),
    "infinite.csv": (csv_with(b"1,2,inf,1"), 1, 152, "column 3 ('c'): 'inf' is not a number"),
    "text.csv": (csv_with(b"abc,1,2,1"), 1, 152, "column 1 ('a'): 'abc' is not a number"),
    "label.csv": (csv_with(b"1,2,3,cat"), 1, 152, "column 4 ('label'): 'cat' is not a number"),
    "quote.csv": (csv_with(b'1,"2,3,1'), 1, 152, "a quote is not closed on its line"),
    "zero-bytes.csv": (csv_with(b"1,\0\0,3,1"), 1, 152, "column 2 ('b')"),
    "junk-within.csv": (csv_with(JUNK, JUNK[::-1]), 2, 152, "is not UTF-8 text"),
    "one-long-field.csv": (csv_with(b"1" * LONG), 1, 152, "1 fields where 4 are expected"),
    "many-fields.csv": (csv_with(b"1," * (LONG // 2)), 1, 152, "5000001 fields where 4 are expected"),
    "too-long.csv": (csv_with(b"1," * (TOO_LONG // 2)), 1, 152, "the line is longer than 16 MB"),
    "wider-later.csv": (lines(HEADER, CSV_ROWS, [b"1,2,3,4,1"] * 50), 50, 302, "5 fields where 4 are expected"),
    "cut-off.csv": (csv_with() + b"0.5,0.25", 1, 302, "2 fields where 4 are expected"),
    "bad-first.csv": (lines(b"2,0.25", CSV_ROWS), 1, 1, "2 fields where 4 are expected"),
    "long-first.csv": (lines(b"1," * (LONG // 2), CSV_ROWS), 1, 1, "5000001 fields where 4 are expected"),
    "too-long-first.csv": (lines(b"1," * (TOO_LONG // 2), CSV_ROWS), 1, 1, "the line is longer than 16 MB"),
    "junk-first.csv": (lines(b"\xfd\xfe", CSV_ROWS), 1, 1, "byte 1 of the line is not UTF-8 text"),
    "order.libsvm": (libsvm_with(b"1 1:2 3:4 2:1"), 1, 151, "column 4: feature 2 is not above the one before it"),
    "nan.libsvm": (libsvm_with(b"1 1:1 2:nan"), 1, 151, "column 3: a value is missing ('nan')"),
    "text.libsvm": (libsvm_with(b"1 1:abc", b"0 1"), 2, 151, "column 2: 'abc' is not a number"),
    "label.libsvm": (libsvm_with(b"cat 1:2"), 1, 151, "column 1 (label): 'cat' is not a number"),
    "beyond.libsvm": (libsvm_with(b"1 1:2 99999999999:1"), 1, 151, "column 3: feature '99999999999' is beyond"),
    "junk-within.libsvm": (libsvm_with(JUNK, JUNK[::-1]), 2, 151, "column 1"),
    "one-long-field.libsvm": (libsvm_with(b"1 1:" + b"1" * LONG), 1, 151, "column 2"),
    "many-fields.libsvm": (libsvm_with(b"1 " + b"x " * (LONG // 2)), 1, 151, "column 2: 'x' is not of the form"),
    "too-long.libsvm": (libsvm_with(b"1 1:" + b"1" * TOO_LONG), 1, 151, "the line is longer than 16 MB"),
    "too-long-first.libsvm": (lines(b"1" * TOO_LONG, LIBSVM_ROWS), 1, 1, "the line is longer than 16 MB"),
    "cut-off.libsvm": (libsvm_with() + b"1 1:0.5 2:", 1, 301, "column 3"),
}

# Files that are not tables of rows at all: name, contents, words
NO_DATA = {
    "empty.csv": (b"", "is empty"),
    "empty.libsvm": (b"", "has no rows"),
    "empty.parquet": (b"", "cannot be read"),
    "header-only.csv": (lines(HEADER), "has no rows"),
    "blank.csv": (b"\n\n\n", "has no rows"),
    "junk.csv": (JUNK * 5, "line 1: byte"),
    "junk.libsvm": (JUNK * 5, "line 1: column 1"),
    "junk.npz": (JUNK, "cannot be read"),
    "junk.npy": (JUNK, "cannot be read"),
    "junk.parquet": (JUNK, "cannot be read"),
    "junk.arrow": (JUNK, "cannot be read"),
    "junk.csv.gz": (JUNK, "is not gz data"),
    "junk.unknown": (b"\0" + JUNK, "in no format that is known"),
    "cut-off.csv.gz": (gzip.compress(csv_with())[:-200], "damaged or cut short"),
    "cut-off.libsvm.gz": (gzip.compress(libsvm_with())[:-200], "damaged or cut short"),
    "old-mac.csv": (csv_with().replace(b"\n", b"\r"), "line 1: there is a carriage return"),
    "utf-16.csv": (csv_with().decode().encode("utf-16"), "is UTF-16 text"),
    "endless-width.libsvm": (libsvm_with(b"1 2147483000:1"), "feature number above"),
}

# Unusual, but right: the model is that of the plain file
RIGHT = {
    "mixed-ends.csv": b"".join(line + (b"\n", b"\r\n", b" \n")[i % 3] for i, line in enumerate([HEADER, *CSV_ROWS])),
    "mixed-ends.libsvm": b"".join(line + (b"\n", b"\r\n", b" \n")[i % 3] for i, line in enumerate(LIBSVM_ROWS)),
    "mark.csv": b"\xef\xbb\xbf" + csv_with(),
    "mark.libsvm": b"\xef\xbb\xbf" + libsvm_with(),
    "no-last-end.csv": csv_with()[:-1],
    "blank-lines.csv": csv_with(b"", b"  ", b"\r"),
    "whole.csv.gz": gzip.compress(csv_with()),
}


def invoke(*arguments):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    crashed = result.exception is not None and not isinstance(result.exception, SystemExit)
    assert not crashed, result.exception
    assert "Traceback" not in result.output
    return result


def trained(data, output, *flags):
    """Everything in a model file but the name of the data, after training on bytes with a name."""
    result = invoke("train", data, "-o", output, *FAST, *flags)
    assert result.exit_code == 0, result.output
    return result


@pytest.fixture
def in_folder(tmp_path, monkeypatch):
    """A folder to work in: model files hold the name of the data, which is the same everywhere then."""

    def write(folder, name, contents):
        (tmp_path / folder).mkdir(exist_ok=True)
        monkeypatch.chdir(tmp_path / folder)
        (tmp_path / folder / name).write_bytes(contents)
        return name

    return write


def good_lines(name, contents):
    """The file without its bad lines, which are those that are in no good file."""
    good = {HEADER, *CSV_ROWS, *LIBSVM_ROWS}
    return b"".join(line + b"\n" for line in contents.split(b"\n") if line in good)


@pytest.mark.parametrize("name", BAD_LINES)
def test_a_bad_line_ends_the_run_and_leaves_no_model(name, in_folder, tmp_path):
    contents, _, line, words = BAD_LINES[name]
    result = invoke("train", in_folder("data", name, contents), "-o", tmp_path / "model.frugal", *FAST)
    assert result.exit_code == Exit.DATA
    assert f"{name}, line {line}: " in result.output
    assert words in result.output
    assert len(result.output) < 500
    assert not list(tmp_path.glob("*.frugal*"))


@pytest.mark.parametrize("name", BAD_LINES)
def test_skipped_lines_are_counted_and_change_nothing(name, in_folder, tmp_path):
    contents, n_bad = BAD_LINES[name][:2]
    skip = ["--on-bad-line", "skip", "--json"]
    models = []
    for folder, text in (("bad", contents), ("good", good_lines(name, contents))):
        output = tmp_path / f"{folder}.frugal"
        told = json.loads(trained(in_folder(folder, name, text), output, *skip).stdout)
        assert told["bad_lines"] == (n_bad if folder == "bad" else 0)
        assert told["examples"] == N_ROWS
        models.append(output.read_bytes())
    assert models[0] == models[1]


def test_the_count_is_told_to_people_too(in_folder, tmp_path):
    name = in_folder("data", "text.csv", csv_with(b"1,x,2,1", b"1,2"))
    result = trained(name, tmp_path / "model.frugal", "--on-bad-line", "skip")
    assert "2 bad lines were skipped" in result.output


def test_several_passes_and_checkpoints_skip_the_same_lines(in_folder, tmp_path):
    contents = csv_with(*(b"1,2" for _ in range(7)))
    flags = ["--on-bad-line", "skip", "--passes", "2", "--checkpoint-every", "100"]
    models = []
    for folder, text in (("bad", contents), ("good", csv_with())):
        output = tmp_path / f"{folder}.frugal"
        trained(in_folder(folder, "data.csv", text), output, *flags)
        models.append(output.read_bytes())
    assert models[0] == models[1]


@pytest.mark.parametrize("mode", ["fail", "skip"])
@pytest.mark.parametrize("name", NO_DATA)
def test_files_without_rows(name, mode, in_folder, tmp_path):
    contents, words = NO_DATA[name]
    name = in_folder("data", name, contents)
    result = invoke("train", name, "-o", tmp_path / "model.frugal", "--on-bad-line", mode, *FAST)
    assert result.exit_code == Exit.DATA
    assert name in result.output
    assert words in result.output
    assert not list(tmp_path.glob("*.frugal*"))


@pytest.mark.parametrize("name", RIGHT)
def test_unusual_files_that_are_right(name, in_folder, tmp_path):
    plain = libsvm_with() if "libsvm" in name else gzip.compress(csv_with()) if name.endswith("gz") else csv_with()
    models = []
    for folder, text in (("unusual", RIGHT[name]), ("plain", plain)):
        output = tmp_path / f"{folder}.frugal"
        trained(in_folder(folder, name, text), output)
        models.append(output.read_bytes())
    assert models[0] == models[1]


WRONG_LABELS = {
    "unknown name": (["--label", "colour"], "has no column 'colour'; its columns are a, b, c, label"),
    "name in capitals": (["--label", "Label"], "has no column 'Label': did you mean 'label'? Its columns are a, b, c,"),
    "unknown number": (["--label", "9"], "has no column with index 9; it has 4 columns"),
    "a feature": (
        ["--label", "a", "--task", "classification"],
        "row 1: the label in column 'a' is 0.126, and classes are whole numbers",
    ),
}


@pytest.mark.parametrize(("flags", "words"), WRONG_LABELS.values(), ids=WRONG_LABELS)
def test_the_wrong_label_column(flags, words, in_folder, tmp_path):
    result = invoke("train", in_folder("data", "rows.csv", csv_with()), "-o", tmp_path / "m.frugal", *FAST, *flags)
    assert result.exit_code == Exit.DATA
    assert "rows.csv" in result.output
    assert words in result.output
    assert not list(tmp_path.glob("*.frugal*"))


def test_a_bad_line_after_checkpoints_keeps_the_last(in_folder, tmp_path):
    """The run ends with an error; what was learned before the bad line is there, and the run can be resumed."""
    n_rows = 3 * 4096
    rows = [CSV_ROWS[i % N_ROWS] for i in range(n_rows)]
    bad = lines(HEADER, rows[: 2 * 4096 + 10], b"1,2,oops,1", rows[2 * 4096 + 10 :])
    output, whole = tmp_path / "model.frugal", tmp_path / "whole.frugal"
    flags = [*FAST, "--checkpoint-every", "4096"]
    result = invoke("train", in_folder("data", "rows.csv", bad), "-o", output, *flags)
    assert result.exit_code == Exit.DATA
    assert "rows.csv, line 8204: column 3 ('c'): 'oops' is not a number" in result.output
    training = json.loads(invoke("inspect", output, "--json").stdout)["training"]
    assert training["counts"]["rows"] == 2 * 4096
    assert not training["finished"]
    in_folder("data", "rows.csv", lines(HEADER, rows))  # somebody repairs the file
    assert invoke("train", "rows.csv", "-o", output, *flags, "--resume").exit_code == 0
    assert invoke("train", "rows.csv", "-o", whole, *flags).exit_code == 0
    assert output.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_other_commands_say_the_same(command, in_folder, tmp_path):
    model = tmp_path / "model.frugal"
    trained(in_folder("data", "rows.csv", csv_with()), model)
    name = in_folder("data", "bad.csv", csv_with(b"1,oops,2,1"))
    result = invoke(command, model, name)
    assert result.exit_code == Exit.DATA
    assert "bad.csv, line 152: column 2 ('b'): 'oops' is not a number" in result.output
    skipped, clean = invoke(command, model, name, "--on-bad-line", "skip"), invoke(command, model, "rows.csv")
    assert skipped.exit_code == 0
    assert skipped.stdout.replace("bad.csv", "rows.csv") == clean.stdout


MEASURED = """
import resource, sys
from typer.testing import CliRunner
from frugalsvm.cli.app import app
def peak(name):
    result = CliRunner().invoke(app, ["train", name, "-o", "m.frugal", "--on-bad-line", "skip", *sys.argv[2:]])
    assert result.exit_code == 0, result.output
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
before = peak("good.csv")
print(peak(sys.argv[1]) - before)
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["one-long-field.csv", "many-fields.csv", "long-first.csv", "too-long.csv"])
def test_memory_for_long_lines_is_bounded(name, in_folder):
    """A line of 10 MB takes a few times its size, and one that is too long no more than that."""
    in_folder("data", "good.csv", csv_with())
    in_folder("data", name, BAD_LINES[name][0])
    output = subprocess.run([sys.executable, "-c", MEASURED, name, *FAST], check=True, capture_output=True, text=True)
    assert float(output.stdout) < 150  # MB; the fields of such a line as Python's texts would take 500
