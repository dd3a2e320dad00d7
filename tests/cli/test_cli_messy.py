"""A folder of messy tables: each trains as well as its clean twin, or is refused with file, line and what to do.

All are the same few hundred rows, made messy in one way, and learned by the command line with no flag but the label.
"""

import bz2
import gzip
import io
import json
import lzma
import zipfile

import numpy as np
import pytest
from typer.testing import CliRunner

from frugalsvm.cli.app import app
from frugalsvm.cli.errors import Exit

NAMES = ["height", "width", "mass", "age", "speed"]
CLASSES = ["ash", "elm", "oak"]
TOLERANCE = 0.01
PARAMETERS = ("-a", "bsgd", "--gamma", "0.02", "--alpha", "1e-4")  # reading is tested, not how they are chosen


def make_rows(n_rows, seed):
    """Three groups that overlap a little; values have three decimals, and some are thousands."""
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n_rows)
    centers = 3.0 * np.array([[0, 0, 0, 0, 0], [1, 1, 0, 0, 1], [0, 1, 1, 1, 0]])
    X = centers[y] + rng.normal(size=(n_rows, 5))
    X = X * [1.0, 10.0, 2000.0, 1.0, 0.5] + [0.0, 100.0, 9000.0, 5.0, 0.0]
    return X.round(3), [CLASSES[place] for place in y]


TRAIN, TEST = make_rows(900, 0), make_rows(1000, 1)


def cells(X, y, number=repr):
    """The table as rows of text."""
    return [[*(number(float(value)) for value in row), label] for row, label in zip(X, y, strict=True)]


def text(rows, names=(*NAMES, "kind"), delimiter=",", end="\n"):
    lines = [] if names is None else [names]
    return end.join([delimiter.join(line) for line in [*lines, *rows]] + [""]).encode()


def grouped(mark, decimal, quote=""):
    """Numbers with a mark between thousands."""

    def number(value):
        plain = f"{value:,.3f}".replace(",", "T").replace(".", decimal).replace("T", mark)
        return f"{quote}{plain}{quote}"

    return number


def comma(value):
    return repr(value).replace(".", ",")


def with_column(X, y, values, name="extra"):
    """One more column before the label."""
    rows = [[*row[:-1], value, row[-1]] for row, value in zip(cells(X, y), values, strict=True)]
    return text(rows, (*NAMES, name, "kind"))


def numbered(X, y):
    return range(len(y))


def with_holes(X, y, words, share=0.01):
    rng = np.random.default_rng(3)
    rows = cells(X, y)
    for row in rows:
        for place in range(5):
            if rng.random() < share:
                row[place] = words[rng.integers(len(words))]
    return text(rows)


def with_unlabeled(X, y, word):
    rows = cells(X, y)
    others = [[*row[:-1], word] for row in rows[::10]]
    return text([*others, *rows, *others])


def by_label(X, y, descending=False):
    order = np.argsort(y, kind="stable")
    order = order[::-1] if descending else order
    return X[order], [y[place] for place in order]


def archive(members):
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in members.items():
            made.writestr(name, data)
    return target.getvalue()


def halves(X, y):
    middle = len(y) // 2
    return {"a.csv": text(cells(X[:middle], y[:middle])), "b.csv": text(cells(X[middle:], y[middle:]))}


def lines_between(data, *extra):
    """The same lines, with others after every hundredth."""
    lines = data.split(b"\n")[:-1]
    made = []
    for number, line in enumerate(lines):
        made.append(line)
        if number % 100 == 99:
            made += extra
    return b"\n".join(made) + b"\n"


def day(i):
    return np.datetime64("2019-01-01") + np.timedelta64(int(i), "D")


def quoted(X, y):
    return text([[f'"{cell}"' for cell in row] for row in cells(X, y)], [f'"{name}"' for name in (*NAMES, "kind")])


def r_table(X, y):
    rows = [[f'"{number}"', *row[:-1], f'"{row[-1]}"'] for number, row in enumerate(cells(X, y), 1)]
    return text(rows, [f'"{name}"' for name in (*NAMES, "kind")], " ")


def remark(X, y, words):
    return with_column(X, y, [words[i % len(words)] for i in numbered(X, y)], "remark")


# name of the file: the table as its bytes; a dict is a folder of files
TRAINS = {
    "semicolons.csv": lambda X, y: text(cells(X, y), delimiter=";"),
    "tabs.tsv": lambda X, y: text(cells(X, y), delimiter="\t"),
    "tabs-in.csv": lambda X, y: text(cells(X, y), delimiter="\t"),
    "bars.txt": lambda X, y: text(cells(X, y), delimiter="|"),
    "blanks.txt": lambda X, y: text(cells(X, y), delimiter="  "),
    "decimal-commas.csv": lambda X, y: text(cells(X, y, comma), delimiter=";"),
    "decimal-commas-no-header.csv": lambda X, y: text(cells(X, y, comma), None, ";"),
    "decimal-commas.tsv": lambda X, y: text(cells(X, y, comma), delimiter="\t"),
    "decimal-commas-in-quotes.csv": lambda X, y: text(cells(X, y, lambda value: f'"{comma(value)}"')),
    "thousands-points.csv": lambda X, y: text(cells(X, y, grouped(".", ",")), delimiter=";"),
    "thousands-commas.csv": lambda X, y: text(cells(X, y, grouped(",", ".", '"'))),
    "thousands-blanks.csv": lambda X, y: text(cells(X, y, grouped(" ", ",")), delimiter=";"),
    "thousands-apostrophes.csv": lambda X, y: text(cells(X, y, grouped("'", ".")), delimiter=";"),
    "header-of-numbers.csv": lambda X, y: text(cells(X, y), [*map(str, range(5)), "kind"]),
    "no-header.csv": lambda X, y: text(cells(X, y), None),
    "pandas-index.csv": lambda X, y: text(
        [[str(i), *row] for i, row in enumerate(cells(X, y))], ("", *NAMES, "kind")
    ),
    "row-names.txt": r_table,
    "mark.csv": lambda X, y: b"\xef\xbb\xbf" + text(cells(X, y)),
    "windows.csv": lambda X, y: text(cells(X, y), end="\r\n"),
    "excel.csv": lambda X, y: b"\xef\xbb\xbfsep=;\r\n" + text(cells(X, y, comma), delimiter=";", end="\r\n"),
    "quotes.csv": quoted,
    "delimiters-in-quotes.csv": lambda X, y: remark(X, y, ['"a, b"', '"c"', '"say ""hi"""']),
    "line-ends-in-quotes.csv": lambda X, y: remark(X, y, ['"two\nlines"', "one", '"three\r\n\nlines"']),
    "sorted.csv": lambda X, y: text(cells(*by_label(X, y))),
    "sorted-downwards-with-index.csv": lambda X, y: text(
        [[str(i), *row] for i, row in enumerate(cells(*by_label(X, y, True)))], ("", *NAMES, "kind")
    ),
    "missing.csv": lambda X, y: with_holes(X, y, [""]),
    "missing-words.csv": lambda X, y: with_holes(X, y, ["NA", "?", "nan"]),
    "no-label.csv": lambda X, y: with_unlabeled(X, y, ""),
    "label-na.csv": lambda X, y: with_unlabeled(X, y, "NA"),
    "category.csv": lambda X, y: remark(X, y, ["red", "green", "blue"]),
    "dates.csv": lambda X, y: with_column(X, y, [str(day(i)) for i in numbered(X, y)], "date"),
    "german-dates.csv": lambda X, y: with_column(X, y, [day(i).item().strftime("%d.%m.%Y") for i in numbered(X, y)]),
    "names.csv": lambda X, y: with_column(X, y, [f"person {i}" for i in numbered(X, y)], "name"),
    "booleans.csv": lambda X, y: remark(X, y, ["true", "false"]),
    "duplicate-names.csv": lambda X, y: text(cells(X, y), ("a", "a", "b", "b", "b", "kind")),
    "duplicate-rows.csv": lambda X, y: text([row for row in cells(X, y) for _ in range(2)]),
    "constant-number.csv": lambda X, y: with_column(X, y, ["4711"] * len(y)),
    "constant-text.csv": lambda X, y: with_column(X, y, ["always"] * len(y)),
    "empty-column.csv": lambda X, y: with_column(X, y, [""] * len(y)),
    "trailing-delimiters.csv": lambda X, y: text(cells(X, y)).replace(b"\n", b",\n"),
    "trailing-under-the-header.csv": lambda X, y: text(cells(X, y)).replace(b"\n", b",\n").replace(b"kind,", b"kind"),
    "blank-lines.csv": lambda X, y: b"\n" + lines_between(text(cells(X, y)), b"", b"   "),
    "comments.csv": lambda X, y: b"# by a program, of a kind\n" + lines_between(text(cells(X, y)), b"# more"),
    "blanks-around.csv": lambda X, y: text([[f"  {cell} " for cell in row] for row in cells(X, y)]),
    "one.zip": lambda X, y: archive({"table.csv": text(cells(X, y))}),
    "several.zip": lambda X, y: archive({f"parts/{name}": data for name, data in halves(X, y).items()}),
    "packed.csv.gz": lambda X, y: gzip.compress(text(cells(X, y))),
    "packed.csv.bz2": lambda X, y: bz2.compress(text(cells(X, y))),
    "packed.csv.xz": lambda X, y: lzma.compress(text(cells(X, y))),
    "folder": halves,
}  # fmt: skip


def at_line(number, line):
    """The clean table with another line in a place; the header is line 1."""

    def make(X, y):
        lines = text(cells(X, y)).split(b"\n")
        return b"\n".join([*lines[: number - 1], line, *lines[number - 1 :]])

    return make


# name: the table, what the sentence must have besides the name
REFUSED = {
    "text-in-numbers.csv": (at_line(501, b"1,2,sensor error,4,5,oak"), ("line 501", "column 3", "--on-bad-line skip")),
    "ragged.csv": (at_line(77, b"1,2,3,4,oak"), ("line 77", "5 fields where 6", "--on-bad-line skip")),
    "title.csv": (at_line(1, b"Measurements of 2020"), ("line 1", "1 fields where 6", "--on-bad-line skip")),
    "open-quote.csv": (at_line(600, b'1,2,3,4,5,"oak'), ("line 600", "quote is not closed", "--on-bad-line skip")),
    "latin-1.csv": (at_line(9, b"1,2,3,4,5,\xe4sh"), ("line 9", "save the file as UTF-8", "--on-bad-line skip")),
    "infinite.csv": (at_line(300, b"1,2,inf,4,5,oak"), ("line 300", "'inf' is not a number", "--on-bad-line skip")),
    "currency.csv": (
        lambda X, y: with_column(X, y, [f"${i}.50" for i in numbered(X, y)], "price"),
        ("line 2", "'price'", "looks like a number", "--ignore"),
    ),
    "two-labels.csv": (lambda X, y: text(cells(X, y), (*NAMES[:4], "kind", "kind")), ("line 1", "by index")),
    "utf-16.csv": (lambda X, y: text(cells(X, y)).decode().encode("utf-16"), ("save it as UTF-8",)),
    "header-alone.csv": (lambda X, y: text([]), ("no rows",)),
}


def invoke(*arguments):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def put(folder, name, data):
    path = folder / name
    if isinstance(data, dict):
        path.mkdir(parents=True)
        for each, contents in data.items():
            (path / each).write_bytes(contents)
    else:
        folder.mkdir(exist_ok=True)
        path.write_bytes(data)
    return path


def label_flags(data):
    """The label by name, or by number where the file has no names."""
    return ["--label", "5" if data.name in ("no-header.csv", "decimal-commas-no-header.csv") else "kind"]


def accuracy(train, test, folder):
    model = folder / "model.frugal"
    result = invoke("train", train, *PARAMETERS, "-o", model, *label_flags(train))
    assert result.exit_code == 0, result.output
    told = invoke("evaluate", model, test, *label_flags(test), "--json")
    assert told.exit_code == 0, told.output
    return json.loads(told.stdout)["accuracy"], result.output


@pytest.fixture(scope="module")
def clean(tmp_path_factory):
    """Accuracy of the model of the clean table."""
    folder = tmp_path_factory.mktemp("clean")
    train = put(folder, "train.csv", text(cells(*TRAIN)))
    found, _ = accuracy(train, put(folder, "test.csv", text(cells(*TEST))), folder)
    assert found > 0.95
    return found


@pytest.mark.parametrize("name", TRAINS)
def test_as_good_as_the_clean_twin(name, clean, tmp_path):
    make = TRAINS[name]
    train, test = put(tmp_path / "train", name, make(*TRAIN)), put(tmp_path / "test", name, make(*TEST))
    found, _ = accuracy(train, test, tmp_path)
    assert abs(found - clean) <= TOLERANCE


@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_what_to_do(name, tmp_path):
    make, words = REFUSED[name]
    path = put(tmp_path, name, make(*TRAIN))
    result = invoke("train", path, "-o", tmp_path / "model.frugal", "--label", "kind", "-a", "bsgd", "-q")
    assert result.exit_code == Exit.DATA
    for word in (name, *words):
        assert word in result.output
    assert result.output.count("\n") == 1
    assert not list(tmp_path.glob("*.frugal*"))


def test_the_folder_is_large_enough():
    assert len(TRAINS) + len(REFUSED) >= 40
