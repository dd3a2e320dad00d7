"""Learners in C under hostile rows, labels and states, with the sanitizers of addresses and undefined behavior."""

import re
import subprocess
from pathlib import Path

import pytest
from learning_support import CASES, begun, compiled_with, stream_for, targets_for
from sklearn.base import clone

from frugalsvm.export import to_c

SANITIZERS = ["-g", "-O0", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-static-libasan"]


@pytest.fixture(autouse=True)
def sanitizers(tmp_path):
    """Skip where the compiler has none."""
    (tmp_path / "nothing.c").write_text("int main(void) { return 0; }\n")
    try:
        compiled_with(*SANITIZERS, "-o", str(tmp_path / "nothing"), str(tmp_path / "nothing.c"))
    except subprocess.CalledProcessError:
        pytest.skip("the compiler has no sanitizers here")


def fuzz(name, dtype, folder, n_calls):
    model, n_targets = CASES[name]
    X, score = stream_for(n_targets, 3)
    model = begun(clone(model), X, targets_for(model, n_targets, X, score), 60)
    to_c(model, folder, learn=True, dtype=dtype)
    driver = Path(__file__).with_name("learning_fuzz.c").read_text()
    driver = re.sub(r"\bNAME_", "MODEL_", re.sub(r"\bname_", "model_", driver)).replace("FUZZED", '"model.c"')
    (folder / "fuzz.c").write_text(driver)
    compiled_with(*SANITIZERS, "-o", str(folder / "fuzz"), str(folder / "fuzz.c"), "-lm")
    done = subprocess.run([str(folder / "fuzz"), str(n_calls), "1"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("merge, 3 classes", "float32"),
        ("project", "float64"),
        ("one class", "float64"),
        ("conformal, pipeline", "float32"),
        ("conformal, regression", "float64"),
    ],
)
def test_hostile_calls(name, dtype, tmp_path):
    fuzz(name, dtype, tmp_path, 10_000)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", CASES)
def test_a_million_hostile_calls(name, dtype, tmp_path):
    fuzz(name, dtype, tmp_path, 1_000_000)
