"""What is the same for people is the same for readers: text with blanks, row numbers, feature numbers, and formats."""

import io

import numpy as np
import pytest
from stream_files import joined

from frugalsvm.streams import StreamError, open_stream


def read(text, format="csv", **options):
    return open_stream(io.BytesIO(text.encode()), format=format, **options)


def texts(stream, name):
    return [text for batch in stream for text in batch.columns[name]]


def test_blanks_around_text_do_not_count():
    """Whether a line is read by the parser or by Python, as those with missing numbers and quotes in quotes are."""
    lines = [
        '1,"x ",no',
        'NA,"x ",no ',
        "3, x , no",
        "4,\tx,\tno",
        ",x\u00a0,no\u00a0",
        "5,x\u00a0,no\u00a0",
        '6,"x","no "',
    ]
    stream = read("a,t,y\n" + "\n".join(lines) + "\n7,z,yes\n", missing="nan")
    assert set(texts(stream, "t")) == {"x", "z"}
    assert set(joined(stream)[1].tolist()) == {"no", "yes"}


@pytest.mark.parametrize("name", ["", "Unnamed: 0"])
def test_an_index_in_any_order_is_no_feature(name):
    """As pandas writes it after rows were drawn or sorted."""
    text = f"{name},a,y\n" + "".join(f"{7 * k % 30},{k / 4},{k % 2}\n" for k in range(30))
    stream = read(text)
    assert stream.schema.numbers == ("a",)
    assert "the first column has no name and numbers the rows: it is left out" in stream.notes
    repeated = read(f"{name},a,y\n" + "".join(f"{k % 5},{k / 4},{k % 2}\n" for k in range(30)))
    assert len(repeated.schema.numbers) == 2


def test_words_of_databases_for_missing_numbers():
    X = joined(read("a,b,y\n\\N,1,0\n#NA,2,1\n3,\\N,1\n4,4,0\n", missing="nan"))[0]
    np.testing.assert_array_equal(X, [[np.nan, 1], [np.nan, 2], [3, np.nan], [4, 4]])


def test_feature_numbers_can_be_those_of_other_rows():
    first = read("1 0:5 1:6\n0 1:3\n", "libsvm")
    assert first.zero_based is True
    assert joined(read("1 1:3\n", "libsvm", n_features=2, zero_based=first.zero_based))[0].tolist() == [[0, 3]]
    later = read("1 1:3\n", "libsvm")
    assert later.zero_based is False
    with pytest.raises(StreamError, match="feature number 0 where numbers start at 1"):
        joined(read("1 0:3\n", "libsvm", n_features=2, zero_based=later.zero_based))
    assert read("a,y\n1,0\n2,1\n").zero_based is None


class TestTables:
    """Parquet and Arrow as pandas, polars and databases write them."""

    @pytest.fixture(autouse=True)
    def arrow(self):
        self.pa = pytest.importorskip("pyarrow")

    def read(self, columns, **options):
        from pyarrow import parquet

        target = io.BytesIO()
        parquet.write_table(self.pa.table({**columns, "y": [0, 1, 0]}), target)
        return open_stream(io.BytesIO(target.getvalue()), format="parquet", missing="nan", **options)

    def test_the_index_of_a_data_frame_is_no_feature(self):
        stream = self.read({"a": [1.0, 2.0, 3.0], "__index_level_0__": [5, 2, 9]})
        assert stream.schema.numbers == ("a",)
        assert "column '__index_level_0__' is the index of a data frame: it is left out" in stream.notes
        assert joined(stream)[0].tolist() == [[1], [2], [3]]

    def test_text_is_that_of_delimited_files(self):
        like = read("t,flag,nothing,y\nx,True,u,1\nz,False,v,0\n").schema
        columns = {"t": ["x ", None, "\tz"], "flag": [True, False, None], "nothing": self.pa.nulls(3)}
        stream = self.read(columns, like=like)
        assert texts(stream, "t") == ["x", "", "z"]
        assert texts(stream, "flag") == ["True", "False", ""]
        assert texts(stream, "nothing") == ["", "", ""]

    def test_columns_without_a_value(self):
        stream = self.read({"a": [1.0, 2.0, 3.0], "nothing": self.pa.nulls(3)})
        np.testing.assert_array_equal(joined(stream)[0], [[1, np.nan], [2, np.nan], [3, np.nan]])

    def test_views_of_text(self):
        assert texts(self.read({"t": self.pa.array(["x", None, "z"], self.pa.string_view())}), "t") == ["x", "", "z"]

    @pytest.mark.parametrize("kind", ["timestamp", "time64"])
    def test_nanoseconds(self, kind):
        nine = 9 * 3600 * 10**9
        column = self.pa.array([nine, nine + 1, None], getattr(self.pa, kind)("ns"))
        X = joined(self.read({"when": column}))[0]
        np.testing.assert_allclose(X[:2, 0], 9 / 24)
        assert np.isnan(X[2, 0])


def test_numbers_that_could_be_either_are_as_in_other_rows():
    first = read("a;b;y\n1.234,5;2;0\n12.345;3,5;1\n").schema
    assert first.notation == (",", ".")
    assert joined(read("a;b;y\n1.234;7;0\n", like=first))[0].tolist() == [[1234, 7]]
    assert joined(read("a;b;y\n1.5;7;0\n1,234.5;8;1\n", like=first))[0].tolist() == [[1.5, 7], [1234.5, 8]]
    assert joined(read("a;b;y\n1.234;7;0\n", like=first, decimal="."))[0].tolist() == [[np.float32(1.234), 7]]
    assert joined(read("a;b;y\n1.234;7;0\n"))[0].tolist() == [[np.float32(1.234), 7]]
