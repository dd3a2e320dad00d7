"""Model files that earlier releases wrote are loaded, and the models say and learn what they said and learned then.

``make_old_files.py`` wrote them; each file has its own questions and answers in its metadata.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from make_old_files import answers, given

import frugalsvm
from frugalsvm.persist.model import read_model

# Those whose learners other tests compile anyway
USUAL = (
    "bsgd-merge", "bsgd-merge-3", "bsgd-project", "bsgd-remove", "perceptron-random", "bpa-nn", "lasvm-g", "lasvm-g-3",
    "lasvm-lasvm", "lasvm-lasvm-checkpoint", "tracking", "incremental", "incremental-checkpoint", "tvm",
    "asset-stream", "asset-waiting", "regressor-stream", "pipeline",
    "pipeline-checkpoint", "far", "far-lasvm",
)  # fmt: skip
FILES = sorted((Path(__file__).parent / "data").glob("0.*/*.frugal"))


def probe_of(told):
    X, y = np.array(told["rows"], told["dtype"]), np.array(told["targets"])
    return given(told["name"], X, y), y


def assert_near(found, expected, tolerance):
    """Other machines round otherwise, and learning makes more of that."""
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * np.abs(expected).max())


def test_there_are_files_of_all_kinds():
    assert len(FILES) > 80


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("ignore:The pipeline was saved with scikit-learn")
def test_old_file(path):
    model, told = read_model(path)
    X, _ = probe_of(told)
    if told["answers"] is not None:
        assert_near(answers(model, X), told["answers"], 1e-5)


def by_speed(path):
    return pytest.param(path, id=path.stem, marks=() if path.stem in USUAL else pytest.mark.slow)


@pytest.mark.parametrize("path", map(by_speed, FILES))
def test_old_file_goes_on(path):
    model, told = read_model(path)
    X, y = probe_of(told)
    if told.get("later") is not None:
        assert_near(answers(model.partial_fit(X, y), X), told["later"], 1e-3)


MOVED = {"core/expansion.py": "core/support_vectors.py", "core/kernels.py": "core/kernel_functions.py"}
SAY = """
import sys, numpy, frugalsvm
from frugalsvm.persist.model import read_model
for path in sys.argv[1:]:
    model, told = read_model(path)
    found = numpy.asarray(model.decision_function(numpy.array(told["rows"], told["dtype"])))
    assert numpy.allclose(found, told["answers"], rtol=1e-5, atol=1e-6), path
print(frugalsvm.__file__)
"""


def test_files_outlive_a_rename(tmp_path):
    """Modules of a copy of the package get other names; it loads files of before."""
    package = tmp_path / "frugalsvm"
    shutil.copytree(Path(frugalsvm.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    for old, new in MOVED.items():
        (package / old).rename(package / new)
    for path in package.rglob("*.py"):
        text = path.read_text()
        for old, new in MOVED.items():
            old_name, new_name = (re.escape("frugalsvm." + name.replace("/", ".")[:-3]) for name in (old, new))
            text = re.sub(rf"{old_name}\b", new_name.replace("\\", ""), text)
        path.write_text(text)
    files = [path for path in FILES if path.stem in ("bsgd-merge", "perceptron-projectron", "lasvm-g", "tvm", "asset")]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "NUMBA_DISABLE_JIT": "1"}
    told = subprocess.run(
        [sys.executable, "-c", SAY, *map(str, files)], env=environment, capture_output=True, text=True, check=False
    )
    assert told.returncode == 0, told.stderr
    assert told.stdout.strip().startswith(str(tmp_path))
