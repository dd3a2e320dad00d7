"""What is predicted, classes or numbers, is decided by one rule: for files, pipes, one algorithm, and in Python."""

import numpy as np
import pytest
from typer.testing import CliRunner

from frugalsvm import AutoSVC, load
from frugalsvm.cli.app import app
from frugalsvm.exceptions import ManyClassesWarning
from frugalsvm.pipelines.reading import DataOptions

QUICK = ("--gamma", 1.0, "--budget", 30)


def invoke(*arguments, data=None, code=0):
    result = CliRunner().invoke(app, [str(each) for each in arguments], input=data)
    assert result.exit_code == code, result.output
    return result


def rows(n_rows=600, *, fractions=False):
    rng = np.random.default_rng(0)
    size = rng.uniform(1, 9, n_rows)
    price = 100 * size + rng.normal(size=n_rows)
    return size, price if fractions else price.round()


def text(**form):
    return "size,price\n" + "".join(f"{x:.3f},{y:g}\n" for x, y in zip(*rows(**form), strict=True))


def squared_error(model):
    size, price = rows()
    return float(np.mean((load(model).predict(size[:, None]) - price) ** 2))


@pytest.mark.parametrize("fractions", [False, True])
@pytest.mark.parametrize("way", ["pipe", "file"])
def test_whole_prices_are_numbers(way, fractions, tmp_path):
    data, model = text(fractions=fractions), tmp_path / "m.frugal"
    (tmp_path / "rows.csv").write_text(data)
    source = ["-"] if way == "pipe" else [tmp_path / "rows.csv"]
    told = invoke("train", *source, "--label", "price", *QUICK, "-o", model, data=data if way == "pipe" else None)
    assert "note: predicting 'price': numbers from " in told.stderr
    assert ("--task classification takes them as classes" in told.stderr) != fractions
    assert not hasattr(load(model), "classes_")
    assert squared_error(model) < 0.1 * np.var(rows()[1])


def test_few_whole_numbers_are_classes_by_pipe(tmp_path):
    data = "a,y\n" + "".join(f"{i % 7},{i % 3}\n" for i in range(300))
    told = invoke("train", "-", "--label", "y", *QUICK, "-o", tmp_path / "m.frugal", data=data)
    assert "note: predicting 'y': 3 classes" in told.stderr
    assert load(tmp_path / "m.frugal").classes_.tolist() == [0, 1, 2]


def test_a_label_with_a_fraction_among_later_rows_is_no_class(tmp_path):
    lines = [f"{i % 7},{i % 2}" for i in range(9000)] + ["1,0.5"]
    told = invoke("train", "-", "--label", "y", *QUICK, "-o", tmp_path / "m", data="\n".join(["a,y", *lines]), code=3)
    assert "row 9001: the label in column 'y' is 0.5" in told.stderr


def test_classes_by_name_are_warned_of(tmp_path):
    flags = ("-a", "bsgd", "--alpha", 1e-3, "--gamma", 1.0, "--budget", 10)
    told = invoke("train", "-", "--label", "price", *flags, "-o", tmp_path / "m", data=text())
    said = " ".join(told.stderr.split())
    assert "warning: 'price' has" in said
    assert "bsgd takes each for a class: --task regression predicts numbers" in said


@pytest.mark.parametrize("more", [(), ("--device", "cpu")])
@pytest.mark.parametrize("algorithm", ["asset", "bsgd"])
def test_regression_by_algorithms_that_have_it(algorithm, more, tmp_path):
    if more and algorithm == "bsgd":
        return
    (tmp_path / "rows.csv").write_text(text(n_rows=3000))
    model = tmp_path / "m.frugal"
    flags = ("-a", algorithm, "--task", "regression", "--label", "price", "--budget", 30, *more)
    invoke("train", tmp_path / "rows.csv", *flags, "-o", model, "-q")
    assert squared_error(model) < 0.1 * np.var(rows()[1])
    assert "R^2" in invoke("evaluate", model, tmp_path / "rows.csv").output


def test_a_kernel_alone_is_compared(tmp_path):
    (tmp_path / "rows.csv").write_text(text(n_rows=120))
    flags = ("--label", "price", "--time-budget", "2s", "-o", tmp_path / "m.frugal")
    told = invoke("train", tmp_path / "rows.csv", "--kernel", "laplacian", *flags).output
    assert "Chosen: the Laplacian kernel" in told
    assert "Gaussian" not in told
    nowhere, output = tmp_path / "nowhere.csv", tmp_path / "m.frugal"
    told = invoke("train", nowhere, "--kernel", "poly", "-o", output, code=3)  # flags are looked at first
    assert "note: --kernel is for one algorithm" in told.stderr


def test_prices_as_classes_in_python():
    size, price = rows(200)
    with pytest.warns(ManyClassesWarning, match="different numbers in 200 rows.* AutoSVR predicts numbers"):
        AutoSVC(kernel="rbf", metric=None, n_components=16, random_state=0).fit(size[:, None], price // 8)


def test_prices_as_classes_on_a_cluster(tmp_path):
    pytest.importorskip("dask.dataframe")
    from frugalsvm.cli.io.dask_table import read_table

    (tmp_path / "rows.csv").write_text(text())
    data = DataOptions(str(tmp_path / "rows.csv"), label="price")
    assert "a classifier takes each for a class" in str(read_table(data, labels="classes").doubt)
    assert read_table(data, labels="numbers").doubt is None


def test_rows_that_are_left_out_on_a_cluster(tmp_path):
    pytest.importorskip("dask.dataframe")
    from frugalsvm.cli.io.dask_table import read_table

    lines = [f"{'' if k % 10 == 1 else k},{'NA' if k % 5 == 0 else k % 2}" for k in range(100)]
    (tmp_path / "rows.csv").write_text("\n".join(["a,y", *lines]) + "\n")
    table = read_table(DataOptions(str(tmp_path / "rows.csv"), label="y", missing="skip"), labels="classes")
    assert {"20 rows without a label: left out", "10 rows with missing values: left out"} < set(table.notes)
    assert len(table.X) == len(table.y) == 70


def test_tables_on_a_cluster_are_those_of_one_machine(tmp_path):
    """Row numbers, blanks, truth values, codes, words for what is missing, and a label of numbers."""
    pytest.importorskip("dask.dataframe")
    from frugalsvm.cli.io.dask_table import read_table
    from frugalsvm.streams import open_stream

    words = ["x ", "NA", "", "x"]
    lines = [
        f"{7 * k % 60}, {words[k % 4]}, {k % 2 == 0}, {k % 3:03d}, {'.' if k % 5 == 0 else k / 4}, {k % 2}"
        for k in range(60)
    ]
    path = tmp_path / "rows.csv"
    path.write_text("\n".join([", word, flag, code, number, y", *lines]) + "\n")
    table = read_table(DataOptions(str(path), label="y", categorical="code"), labels="classes")
    (batch,) = open_stream(path, label="y", categorical=["code"], missing="nan")
    assert "the first column has no name and numbers the rows: it is left out" in table.notes
    rows = table.X.compute()
    for name, values in batch.columns.items():
        assert rows[name].tolist() == values.tolist()
    np.testing.assert_array_equal(rows["number"], batch.X[:, 0])
    assert set(rows.columns) == {*batch.columns, "number"}
    assert table.y.compute().tolist() == batch.y.tolist()


def test_names_of_rows_as_classes_are_told(tmp_path):
    """A column of ids that was taken for the label."""
    data = "a,id\n" + "".join(f"{i % 7},row {i}\n" for i in range(60))
    told = invoke("train", "-", "--label", "id", *QUICK, "-o", tmp_path / "m.frugal", "-q", data=data)
    doubt = (
        "warning: 'id' has 60 different texts in 60 rows, and bsgd takes each for a class: is --label the right column?"
    )
    assert doubt in " ".join(told.stderr.split())
