"""Tables as people have them: what is seen in the first lines, and what becomes of values that are not there."""

import io
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from stream_files import encoded, joined, table

from frugalsvm.streams import Schema, StreamError, open_stream, reader

ROWS = [(1.5, 20.25, "yes"), (-2.125, 0.5, "no"), (1234.5, 3.75, "yes"), (0.0, -7.0, "no")] * 5


def written(rows, delimiter=",", decimal=".", header="a,b,class", end="\n", number=None):
    """A table as text: numbers with a decimal mark, or as a function writes them."""
    number = number or (lambda value: repr(value).replace(".", decimal))
    head = [header.replace(",", delimiter)] if header else []
    body = [delimiter.join([number(a), number(b), label]) for a, b, label in rows]
    return end.join([*head, *body, ""]).encode()


def read(text, **options):
    stream = open_stream(io.BytesIO(text), format="csv", **options)
    return stream, *joined(stream)


def check(text, **options):
    stream, X, y = read(text, **options)
    np.testing.assert_array_equal(X, [row[:2] for row in ROWS])
    assert y.tolist() == [row[2] for row in ROWS]
    return stream


def thousands(mark, decimal):
    return lambda value: f"{value:,.3f}".replace(",", "T").replace(".", decimal).replace("T", mark)


@pytest.mark.parametrize("header", ["a,b,class", None])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", " "])
def test_delimiters(delimiter, header):
    check(written(ROWS, delimiter, header=header))


@pytest.mark.parametrize("header", ["a,b,class", None])
@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_decimal_commas(delimiter, header):
    stream = check(written(ROWS, delimiter, ",", header))
    assert "numbers have ',' before their decimals" in stream.notes
    check(written(ROWS, delimiter, ",", header), decimal=",")


@pytest.mark.parametrize(
    ("mark", "decimal", "delimiter"), [(".", ",", ";"), (",", ".", ";"), ("'", ".", ","), (" ", ",", ";")]
)
def test_thousands(mark, decimal, delimiter):
    text = written(ROWS, delimiter, number=thousands(mark, decimal))
    stream = check(text)
    assert f"numbers have {mark!r} between thousands" in stream.notes
    check(text, decimal=decimal, thousands=mark)


def test_quoted_numbers_with_commas():
    quoted = [f'"{value:,.3f}"' for row in ROWS for value in row[:2]]
    labels = [row[2] for row in ROWS]
    text = "a,b,class\n" + "".join(f"{quoted[2 * i]},{quoted[2 * i + 1]},{labels[i]}\n" for i in range(len(ROWS)))
    check(text.encode())
    text = "a,b,class\n" + "".join(
        f'"{str(a).replace(".", ",")}","{str(b).replace(".", ",")}",{c}\n' for a, b, c in ROWS
    )
    check(text.encode())


def test_an_ambiguous_comma():
    """``1,234`` is a decimal number beside semicolons, and a thousand beside commas or points."""
    assert read(b"a;b;y\n" + b"1,234;5;0\n" * 9)[1][0, 0] == np.float32(1.234)
    assert read(b"a,b,y\n" + b'"1,234",5,0\n' * 9)[1][0, 0] == 1234
    assert read(b"a;b;y\n" + b"1,234;5.5;0\n" * 9)[1][0, 0] == 1234
    assert read(b"a;b;y\n" + b"1,234;5.5;0\n" * 9, decimal=",", categorical=["b"])[1][0, 0] == np.float32(1.234)


def test_wrong_marks():
    for options in ({"decimal": ":"}, {"thousands": "x"}, {"decimal": ",", "thousands": ","}):
        with pytest.raises(ValueError, match=r"(decimal|thousands) must be"):
            open_stream(io.BytesIO(b"1,2\n"), format="csv", **options)


@pytest.mark.parametrize("header", ["0,1,class", "2019,2020,class", "a,a,class", ",b,class", "#a,b,class"])
def test_headers(header):
    assert "the first line is a header" in check(written(ROWS, header=header)).notes


def test_a_header_of_numbers_alone():
    X = np.random.default_rng(0).normal(size=(20, 4)).round(3)
    text = "0,1,2,3,4\n" + "".join(",".join(map(str, row)) + f",{i % 2}\n" for i, row in enumerate(X.tolist()))
    stream, rows, y = read(text.encode())
    np.testing.assert_array_equal(rows, X.astype(np.float32))
    assert stream.schema.numbers == ("0", "1", "2", "3")
    assert y.tolist() == [0, 1] * 10


@pytest.mark.parametrize(
    "text", [b"1,2,yes\n3,4,no\n", b"1,2,3\n4,5,6\n", b"red,big,yes\nblue,small,no\nred,big,yes\n"]
)
def test_rows_that_are_no_header(text):
    assert "there is no header" in open_stream(io.BytesIO(text), format="csv").notes


def test_what_stands_before_the_rows():
    check(b"sep=;\n" + written(ROWS, ";"))
    check(b"\xef\xbb\xbfsep=;\r\n" + written(ROWS, ";", ",", end="\r\n"))
    check(b"# made by a program\n#, with commas, and more, of them\n\n" + written(ROWS))
    text = written(ROWS).split(b"\n")
    check(b"\n".join([*text[:7], b"# a comment", b"", b"#,,,,", *text[7:]]))


def test_lines_that_begin_like_comments_but_are_rows():
    text = b"tag,x,y\n" + b"#1,5,0\n#2,6,1\n" * 10 + b"#3,bad,0\n"
    with pytest.raises(StreamError, match=r"line 22: column 2 \('x'\): 'bad'"):
        read(text)
    stream, X, _ = read(text, on_bad_line="skip")
    assert len(X) == 20
    assert stream.n_bad == 1


def test_columns_that_are_no_data():
    index = b"\n".join((b"%d," % i if i else b",") + line for i, line in enumerate(written(ROWS).split(b"\n")[:-1]))
    assert any("numbers the rows" in note for note in check(index + b"\n").notes)
    trailing = written(ROWS).replace(b"\n", b",\n")
    assert any("column 4 is empty" in note for note in check(trailing).notes)
    check(trailing.replace(b"class,", b"class"))
    check(written(ROWS, header=None).replace(b"\n", b",\n"))
    names = written(ROWS).split(b"\n")[1:-1]
    check(b"a,b,class\n" + b"".join(b'"%d",%s\n' % (i, line) for i, line in enumerate(names, 1)))


@pytest.mark.parametrize("size", [40, 1 << 18])
def test_line_ends_in_quotes(size, monkeypatch):
    monkeypatch.setattr(reader, "BLOCK_BYTES", size)
    texts = ['"two\nlines"', '"a ""word"",\n\nand more"', "plain", '"x;y"']
    body = "".join(f"{i},{texts[i % 4]},{i % 2}\n" for i in range(40))
    stream, X, y = read(b"n,t,y\n" + body.encode(), batch_rows=7)
    assert X[:, 0].tolist() == list(range(40))
    found = [text for batch in stream for text in batch.columns["t"]]
    assert found == ["two\nlines", 'a "word",\n\nand more', "plain", "x;y"] * 10
    assert y.tolist() == [0, 1] * 20
    np.testing.assert_array_equal(joined(stream.from_row(23))[0], X[23:])
    with pytest.raises(StreamError, match="line 72: column 1"):
        read(b"n,t,y\n" + body.encode() + b"oops,t,1\n")


def test_text_of_a_bad_line_does_not_stay():
    """A line whose number is bad leaves nothing behind in the row that takes its place."""
    stream, *_ = read(b"t,x,y\na,1,0\nWRONG,oops,1\nb,2,1\n", on_bad_line="skip")
    assert [text for batch in stream for text in batch.columns["t"]] == ["a", "b"]


@pytest.mark.parametrize("word", ["", "NA", "nan", "?", "N/A"])
def test_rows_without_a_label(word):
    for good in (("yes", "no"), ("1", "0")):
        text = f"x,y\n1,{good[0]}\n2,{word}\n3,{good[1]}\n4, {word} \n".encode()
        with pytest.raises(StreamError, match=r"line 3: .*missing"):
            read(text)
        stream, X, y = read(text, unlabeled="skip")
        assert X[:, 0].tolist() == [1, 3]
        assert list(map(str, y.tolist())) == [str(type(y.tolist()[0])(good[0])), str(type(y.tolist()[0])(good[1]))]
        assert stream.n_unlabeled == 2
        assert stream.n_bad == 0
        assert joined(stream.from_row(1))[0].tolist() == [[3]]
        assert joined(open_stream(io.BytesIO(text), format="csv", reads_labels=False))[0].shape == (4, 1)


def test_words_that_can_be_classes():
    assert read(b"x,y\n1,none\n2,mild\n")[2].tolist() == ["none", "mild"]
    assert read(b"x,y\n1,+\n2,-\n", unlabeled="skip")[2].tolist() == ["+", "-"]


def test_missing_values():
    text = b"a,b,y\n1,,0\nNA,2,1\n3,4,1\n"
    stream, X, _ = read(text, missing="nan")
    np.testing.assert_array_equal(X, [[1, np.nan], [np.nan, 2], [3, 4]])
    assert (stream.n_missing, stream.n_bad) == (2, 0)
    stream, X, _ = read(text, missing="skip")
    assert X.tolist() == [[3, 4]]
    assert (stream.n_incomplete, stream.n_bad) == (2, 0)
    with pytest.raises(StreamError, match=r"line 2: .*a value is missing"):
        read(text)
    with pytest.raises(StreamError, match="'inf' is not a number"):
        read(text + b"inf,2,1\n", missing="nan")


@pytest.mark.parametrize("format", ["npz", "npy", "parquet", "arrow"])
def test_missing_values_in_arrays(tmp_path, format):
    if format in ("parquet", "arrow"):
        pytest.importorskip("pyarrow")
    X, y = table()
    X[5, 2] = np.nan
    path = tmp_path / f"data.{format}"
    path.write_bytes(encoded(X, y, format))
    np.testing.assert_array_equal(joined(open_stream(path, missing="nan"))[0], X)
    stream = open_stream(path, missing="skip")
    np.testing.assert_array_equal(joined(stream)[0], np.delete(X, 5, axis=0))
    assert stream.n_incomplete == 1


@pytest.mark.parametrize(("share", "kind"), [(4, "string"), (9, "string"), (20, "number")])
def test_columns_of_codes_that_are_mostly_numbers(share, kind):
    """One field of so many has letters: with a quarter of them it is text, and few are typing errors."""
    body = "".join(f"{i % 7},{'A/5 ' if i % share == 1 else ''}{1000 + 7 * i},{i % 2}\n" for i in range(200)).encode()
    stream = open_stream(io.BytesIO(b"n,ticket,y\n" + body), format="csv", label="y", on_bad_line="skip")
    assert joined(stream)[1].size == (200 if kind == "string" else 190)
    assert {column.name: column.kind for column in stream.schema.columns}["ticket"] == kind


def test_numbers_that_are_taken_for_text():
    body = "".join(f"{i % 7},${i}.50,{i % 2}\n" for i in range(100)).encode()
    with pytest.raises(StreamError, match=r"line 2: column 2 \('price'\): '\$0.50' looks like a number"):
        read(b"n,price,y\n" + body)
    assert read(b"n,price,y\n" + body, categorical=["price"])[0].schema.strings == ("price",)
    assert read(b"n,price,y\n" + body, ignore=["price"])[0].schema.strings == ()
    mixed = "".join(f"{i % 7},{'$' if i % 3 == 0 else ''}{i}.50,{i % 2}\n" for i in range(100)).encode()
    with pytest.raises(StreamError, match=r"'\$0.50' looks like a number"):
        read(b"n,price,y\n" + mixed)
    dates = "".join(f"{i % 7},{1 + i % 28:02d}.{1 + i // 28:02d}.2020,{i % 2}\n" for i in range(100)).encode()
    assert read(b"n,day,y\n" + dates)[0].schema.strings == ()


def test_columns_like_those_of_another_file():
    first, X, _ = read(b"a,b,t,y\n1,2,u,0\n3,4,v,1\n")
    like = Schema(first.schema.columns)
    stream, rows, y = read(b"y,t,b,a\n1,7,2,1\n0,8,4,3\n", like=like)
    np.testing.assert_array_equal(rows, X)
    assert y.tolist() == [1, 0]
    assert [text for batch in stream for text in batch.columns["t"]] == ["7", "8"]
    rows = joined(open_stream(io.BytesIO(b"t,b,a\nu,2,1\n"), format="csv", like=like, reads_labels=False))[0]
    assert rows.tolist() == [[1, 2]]
    rows = joined(open_stream(io.BytesIO(b"1,2,u\n"), format="csv", like=like, reads_labels=False))[0]
    assert rows.tolist() == [[1, 2]]
    assert read(b"1,2,u,1\n", like=like)[1].tolist() == [[1, 2]]
    for text, words in [
        (b"a,t,y\n1,u,0\n", "no column 'b'"),
        (b"1,2\n", "2 columns where the model"),
        (b"a,b,t,s,y\n1,2,u,v,0\n", "a column 's', which the model"),
    ]:
        with pytest.raises(StreamError, match=words):
            read(text, like=like)


NAMED, NAMELESS = b"a,b,t,y\n5,6,w,1\n7,8,w,0\n", b"5,6,w,1\n7,8,w,0\n"


@pytest.mark.parametrize(
    ("known", "text", "label"),
    [
        (NAMED, b"9,2,u,0\n3,4,v,1\n", None),
        (NAMED, b"0,9,2,u\n1,3,4,v\n", 0),
        (NAMED, b"9,2,u,0\n3,4,v,1\n", "y"),
        (NAMELESS, b"9,2,u,0\n3,4,v,1\n", None),
        (NAMELESS, b"p,q,r,s\n9,2,u,0\n3,4,v,1\n", None),
        (NAMELESS, b"y,q,r,s\n0,9,2,u\n1,3,4,v\n", "y"),
    ],
)
def test_columns_by_their_order_have_the_names_of_the_other_file(known, text, label):
    schema = read(known)[0].schema
    stream, X, y = read(text, like=schema, label=label)
    assert (X.tolist(), y.tolist()) == ([[9, 2], [3, 4]], [0, 1])
    assert (stream.schema.numbers, stream.schema.strings) == (schema.numbers, schema.strings)
    assert [value for batch in stream for value in batch.columns[schema.strings[0]]] == ["u", "v"]


def test_labels_that_order_and_name_tell_apart():
    text, like = b"y,q,r,s\n0,9,2,u\n1,3,4,v\n", read(NAMELESS)[0].schema
    with pytest.raises(StreamError, match=r"labels in column 'y', .* would take them from 's': say which with label="):
        read(text, like=like)
    with pytest.raises(StreamError, match="no column of labels"):
        read(b"9,2,u\n3,4,v\n", like=like)


def test_columns_of_parquet_tables(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import datetime

    from pyarrow import parquet

    days = pa.array([datetime.timedelta(hours=hour) for hour in (1, 2, 3)])
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"b": [1.0, 2.0, 3.0], "day": days, "a": [4, 5, None], "y": ["u", None, "v"]}), path)
    with pytest.raises(StreamError, match=r"column 'day' is duration.*ignore= leaves it out"):
        list(open_stream(path))
    stream = open_stream(path, ignore=["day"], missing="nan", unlabeled="skip")
    X, y = joined(stream)
    np.testing.assert_array_equal(X, [[1, 4], [3, np.nan]])
    assert y.tolist() == ["u", "v"]
    assert (stream.n_unlabeled, stream.n_missing) == (1, 1)
    like = Schema(read(b"a,b,y\n1,2,u\n")[0].schema.columns + stream.schema.columns[1:2])
    rows = joined(open_stream(path, like=like, missing="nan", reads_labels=False))[0]
    np.testing.assert_array_equal(rows, [[4, 1], [5, 2], [np.nan, 3]])
    parquet.write_table(pa.table({"p": [9.0, 3.0], "q": [2, 4], "r": ["u", "v"], "s": [0, 1]}), path)
    stream = open_stream(path, like=read(NAMELESS)[0].schema)
    assert joined(stream)[0].tolist() == [[9, 2], [3, 4]]
    assert [value for batch in stream for value in batch.columns["column 2"]] == ["u", "v"]


def test_patterns_folders_and_archives(tmp_path):
    X, y = table()
    parts = [slice(0, 20), slice(20, 21), slice(21, None)]
    for format in ("csv", "libsvm"):
        folder = tmp_path / format
        folder.mkdir()
        with zipfile.ZipFile(tmp_path / f"{format}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("__MACOSX/._part0.csv", b"junk")
            for i, rows in enumerate(parts):
                data = encoded(X[rows], y[rows], format)
                (folder / f"part{i}.{format}").write_bytes(data)
                archive.writestr(f"inner/part{i}.{format}", data)
        (folder / "notes.md").write_text("no data")
        for source in (folder, str(folder / "part*"), tmp_path / f"{format}.zip"):
            stream = open_stream(source, n_features=5, batch_rows=8)
            for _ in range(2):
                rows, labels = joined(stream)
                np.testing.assert_array_equal(rows, X)
                np.testing.assert_array_equal(labels, y)
            np.testing.assert_array_equal(joined(stream.from_row(33))[1], y[33:])
    with pytest.raises(StreamError, match="No file matches"):
        open_stream(str(tmp_path / "none*.csv"))


def test_a_table_in_an_archive(tmp_path):
    with zipfile.ZipFile(tmp_path / "t.zip", "w") as archive:
        archive.writestr("rows.csv", b"a,y\n1,0\nx,1\n")
    with pytest.raises(StreamError, match=r"t.zip/rows.csv, line 3: column 1"):
        list(open_stream(tmp_path / "t.zip"))
    with zipfile.ZipFile(tmp_path / "empty.zip", "w"):
        pass
    with pytest.raises(StreamError, match="archive without files"):
        open_stream(tmp_path / "empty.zip")
    with zipfile.ZipFile(tmp_path / "table.xlsx", "w") as archive:
        archive.writestr("[Content_Types].xml", b"<Types/>")
        archive.writestr("xl/worksheets/sheet1.xml", b"<sheet/>")
    with pytest.raises(StreamError, match="spreadsheet or another document: save its table as CSV"):
        open_stream(tmp_path / "table.xlsx")
    np.savez(tmp_path / "arrays.npz", X=np.ones((3, 2)), y=np.arange(3))
    (tmp_path / "arrays.npz").rename(tmp_path / "arrays.zip")
    assert joined(open_stream(tmp_path / "arrays.zip"))[0].shape == (3, 2)


def test_hashed_features():
    text = b"1 1:1 5000000:2\n0 2:3 5000000:1\n" * 50
    stream = open_stream(io.BytesIO(text), format="libsvm", hash_features=64)
    X, y = joined(stream)
    assert stream.n_features == 64
    assert X.shape == (100, 64)
    assert y.tolist() == [1, 0] * 50
    np.testing.assert_allclose(np.linalg.norm(X[:2], axis=1), np.sqrt([5, 10]), rtol=1e-6)
    # Products are kept on average: here, where nothing collides, exactly.
    np.testing.assert_allclose(X[0] @ X[1], 2.0, rtol=1e-6)
    zero_based = open_stream(io.BytesIO(b"1 0:4\n" + text), format="libsvm", hash_features=64)
    np.testing.assert_array_equal(joined(zero_based)[0][1:], X)
    with pytest.raises(StreamError, match="csv data, and hash_features=64 is for LIBSVM"):
        open_stream(io.BytesIO(b"a,y\n1,2\n"), format="csv", hash_features=64)


MESSY = [
    written(ROWS, ";", ","),
    written(ROWS, header="0,1,class"),
    b"sep=;\r\n" + written(ROWS, ";", ",", end="\r\n"),
    written(ROWS, ";", number=thousands(".", ",")),
    b"n,t,y\n" + b'1,"two\nlines",0\n2,plain,1\n3,"a ""b""",NA\n,c,1\n' * 5,
    b"# a comment\n" + written(ROWS).replace(b"\n", b",\n"),
]
BITS = [b'"', b",", b";", b"\n", b"\r", b"#", b"\t", b" ", b"1", b".", b"NA", b"\xff", b"sep=;", b"-", b"\x00", b'""']


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(MESSY),
    st.lists(st.tuples(st.integers(0, 10**6), st.sampled_from(BITS), st.booleans()), max_size=5),
    st.sampled_from(["fail", "skip"]),
    st.sampled_from(["fail", "skip", "nan"]),
    st.sampled_from([50, 300, 1 << 18]),
)
def test_changed_tables_never_crash_and_resume(monkeypatch, data, changes, on_bad_line, missing, block_bytes):
    """An error of ours, or rows that are the same from wherever reading begins."""
    for place, new, replaces in changes:
        at = place % (len(data) + 1)
        data = data[:at] + new + data[at + (len(new) if replaces else 0) :]
    monkeypatch.setattr(reader, "BLOCK_BYTES", block_bytes)
    options = {"on_bad_line": on_bad_line, "missing": missing, "unlabeled": on_bad_line}
    stream = open_stream(io.BytesIO(data), format="csv", batch_rows=7, **options)
    try:
        X, y = joined(stream)
    except StreamError as error:
        assert len(str(error)) < 1500  # noqa: PT017 - both ways are right
        return
    assert np.isfinite(X).all() or missing == "nan"
    assert not np.isinf(X).any()
    start = len(X) // 2
    rows, labels = joined(stream.from_row(start))
    np.testing.assert_array_equal(rows, X[start:])
    assert labels.tolist() == y[start:].tolist()


def test_a_line_that_begins_with_a_zero_byte_is_counted():
    stream = open_stream(io.BytesIO(b"a,b,y\n\x00,5,u\n" + b"x,2,v\nx,4,u\n" * 9), format="csv")
    X, _ = joined(stream)
    np.testing.assert_array_equal(joined(stream.from_row(5))[0], X[5:])


DATES = "day,a,y\n" + "".join(f"{1 + i % 28:02d}.{1 + i // 28 % 12:02d}.2020,{i % 7},{i % 2}\n" for i in range(400))


def test_dates_become_numbers():
    stream, X, _ = read(DATES.encode())
    cycles = tuple(f"day ({wave} of {cycle})" for cycle in ("year", "week") for wave in ("sin", "cos"))
    assert stream.schema.numbers == ("a", "day", "day (month)", "day (weekday)", *cycles)
    assert "column 'day' has dates: days, months, weekdays, cycles of year and week are learned" in stream.notes
    assert X[0, :4].tolist() == [0, 18262, 1, 2]  # a Wednesday
    assert X[28, :4].tolist() == [0, 18293, 2, 5]
    turned = b"y,a,day\n1,5,03.01.2020\n0,6,\n"  # in any order, and missing
    rows = joined(open_stream(io.BytesIO(turned), format="csv", like=Schema(stream.schema.columns), missing="nan"))[0]
    np.testing.assert_array_equal(rows[:, :4], [[5, 18264, 1, 4], [6, np.nan, np.nan, np.nan]])
    assert read(DATES.encode(), categorical=["day"])[0].schema.strings == ("day",)


@pytest.mark.parametrize("mark", [",", ";", "\t"])
@pytest.mark.parametrize("clock", ["{:02d}:30", "{:02d}:30:15", "{:02d}:30:15.5", "{:02d}:30 PM"])
def test_blanks_between_dates_and_times_cut_no_lines(mark, clock):
    rows = [f"{1 + i % 28:02d}.03.2020 {clock.format(1 + i % 9)},red,blue,1.5,{i % 2}" for i in range(60)]
    text = "\n".join(["when,a,b,c,y", *rows]).replace(",", mark).encode()
    stream, X, _ = read(text)
    week = ("when (sin of week)", "when (cos of week)")
    assert stream.schema.numbers[:6] == ("c", "when", "when (weekday)", "when (hour)", *week)
    assert X[0, 1] == pytest.approx(18322.06 if "PM" not in clock else 18322.56, abs=0.01)


def test_blanks_between_dates_times_and_numbers_do():
    text = "\n".join(f"{1 + i % 28:02d}.03.2020 {i % 9:02d}:30 {i % 7} {i % 2}" for i in range(60))
    assert len(read(text.encode())[0].schema.columns) == 4


def test_what_is_not_a_date_is_a_bad_line():
    text = (DATES + "soon,1,0\n").encode()
    with pytest.raises(StreamError, match=r"line 402: column 'day': 'soon' is not a date like 31\.12\.2021"):
        read(text)
    stream = open_stream(io.BytesIO(text), format="csv", on_bad_line="skip")
    assert len(joined(stream)[0]) == 400
    assert stream.n_bad == 1


def test_dates_in_tables(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    when = np.array(["2020-01-01T05:30", "NaT", "2020-02-01T06:00"], "datetime64[us]")
    parquet.write_table(pyarrow.table({"when": when, "a": [1.0, 2.0, 3.0], "y": [0, 1, 0]}), tmp_path / "rows.parquet")
    stream = open_stream(tmp_path / "rows.parquet", missing="nan")
    nothing = [np.nan] * 4
    np.testing.assert_allclose(
        joined(stream)[0][:, :5], [[1, 18262 + 5.5 / 24, 1, 2, 5], [2, *nothing], [3, 18293.25, 2, 5, 6]], rtol=1e-6
    )
