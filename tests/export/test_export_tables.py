"""The models that ``frugalsvm train FILE --label L`` makes of raw tables leave as C and ONNX, text and gaps too."""

import csv
import gzip

import numpy as np
import pytest
from export_support import CompiledModel, exported_onnx
from typer.testing import CliRunner

from frugalsvm.cli.app import app
from frugalsvm.export import plain_model
from frugalsvm.persist import describe, load
from frugalsvm.streams.columns import schema_of

TABLES = {
    "penguins": "species",
    "mpg": "mpg",
    "titanic": "Survived",
    "churn": "Churn",
    "housing": "median_house_value",
    "diamonds": "price",
}


def number(text):
    try:
        return float(text)
    except ValueError:
        return np.nan


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_a_default_model(name, shared_data, tmp_path):
    file = shared_data.parent / "tables" / f"{name}.csv.gz"
    if not file.is_file():
        pytest.skip("the raw tables are not here")
    path = tmp_path / "model.frugal"
    train = ["train", str(file), "--label", TABLES[name], "-o", str(path), "--quiet", "--time-budget", "20s"]
    assert CliRunner().invoke(app, train).exit_code == 0
    model = plain_model(load(path))
    numbers = schema_of(describe(path).metadata["training"]["data"]["columns"]).numbers
    with gzip.open(file, "rt") as lines:
        rows = list(csv.DictReader(lines))[:1000]
    X = np.array([[number(row[column]) for column in numbers] for row in rows])
    names = [] if model.encoder is None else model.encoder.names_
    text = [[row[column] for column in names] for row in rows] if names else None
    told = CliRunner().invoke(app, ["predict", str(path), str(file)]).stdout.split()[: len(rows)]
    expected = np.array(told, float if model.classes is None else model.classes.dtype)
    for dtype in ("float32", "float64"):
        found = CompiledModel(model, tmp_path, name=f"m_{dtype}", dtype=dtype).predictions(X, text)
        labels, scores = exported_onnx(model, X, dtype, text)
        if model.classes is None:
            for values in (found, scores):
                # Python itself computes kernel values in float32: some rows that are landmarks are off by more.
                errors = np.abs(values - expected) / np.abs(expected).max()
                assert np.median(errors) < 3e-4
                assert errors.max() < 1e-2
        else:
            np.testing.assert_array_equal(found, expected)
            np.testing.assert_array_equal(labels, expected)
