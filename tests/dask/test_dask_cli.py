"""``frugalsvm train --dask``."""

import numpy as np
import pytest

pytest.importorskip("distributed")
pytest.importorskip("typer")
pd = pytest.importorskip("pandas")

from frugalsvm import load  # noqa: E402
from frugalsvm.cli.dask_training import train_on_dask  # noqa: E402
from frugalsvm.datasets import make_checkerboard  # noqa: E402

SETTINGS = {"budget": 50, "gamma": 8.0, "alpha": None, "random_state": 0}


@pytest.fixture
def files(tmp_path):
    X, y = make_checkerboard(3000, random_state=0)
    for number in range(3):
        part = slice(1000 * number, 1000 * (number + 1))
        frame = pd.DataFrame({"a": X[part, 0], "label": y[part], "b": X[part, 1]})
        frame.to_csv(tmp_path / f"part-{number}.csv", index=False)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["asset", "bsgd"])
def test_files_become_a_model(files, algorithm, capsys):
    output = files / "model.frugal"
    told = train_on_dask("local:2", str(files / "*.csv"), "label", algorithm, SETTINGS, output)
    X, y = make_checkerboard(3000, random_state=0)
    model = load(output)
    assert np.mean(model.predict(pd.DataFrame({"a": X[:, 0], "b": X[:, 1]})) == y) > 0.8
    assert told["bytes"] == output.stat().st_size
    shown = capsys.readouterr().err
    assert "Dask dashboard: http" in shown
    assert f"round {told['rounds']}: held accuracy" in shown


@pytest.mark.parametrize(
    ("address", "source", "algorithm", "message"),
    [
        ("local:2", "*.csv", "lasvm", "for the algorithms asset and bsgd"),
        ("local:none", "*.csv", "bsgd", "number of worker processes"),
        ("somewhere", "*.csv", "bsgd", "address of a scheduler"),
    ],
)
def test_what_is_wrong_is_told(files, address, source, algorithm, message):
    with pytest.raises(ValueError, match=message):
        train_on_dask(address, str(files / source), "label", algorithm, SETTINGS, files / "model.frugal")
