"""Libraries for Arduino and PlatformIO: the folders that they expect, and examples that compile."""

import json
import shutil
import subprocess

import numpy as np
import pytest

from frugalsvm import BSGDClassifier, BSGDOneClassSVM, BSGDRegressor
from frugalsvm.export import to_c

BOARD = """
struct { void begin(long) {} int available() { return 1; } int read() { return '1'; } float parseFloat() { return 1; }
    template <class T> void println(T) {} } Serial;
enum { A0 = 14 };
int analogRead(int pin) { return pin; }
void delay(int) {}
"""
rng = np.random.default_rng(0)
X = rng.normal(size=(80, 3))
MODELS = {
    "class": (BSGDClassifier(budget=8, gamma=1.0), (X[:, 0] > 0).astype(int)),
    "number": (BSGDRegressor(budget=8), X[:, 0]),
    "nothing": (BSGDOneClassSVM(budget=8, window=50), None),
}


@pytest.mark.parametrize("learn", [True, False])
@pytest.mark.parametrize("kind", MODELS)
def test_a_library(kind, learn, tmp_path):
    model, y = MODELS[kind]
    model = model.partial_fit(X, y)
    header, source = to_c(model, tmp_path, name="probe", learn=learn, layout="arduino")
    assert header == tmp_path / "probe" / "src" / "probe.h"
    assert source.exists()
    assert "includes=probe.h" in (tmp_path / "probe" / "library.properties").read_text()
    assert json.loads((tmp_path / "probe" / "library.json").read_text())["name"] == "probe"
    sketch = tmp_path / "probe" / "examples" / "probe" / "probe.ino"
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("there is no g++ here")
    program = tmp_path / "sketch.cpp"
    program.write_text(BOARD + sketch.read_text())
    subprocess.run(
        [compiler, "-Wall", "-Wextra", "-Werror", f"-I{header.parent}", "-fsyntax-only", program], check=True
    )


def test_layouts_that_there_are_not(tmp_path):
    model, y = MODELS["class"]
    with pytest.raises(ValueError, match="layout"):
        to_c(model.partial_fit(X, y), tmp_path, layout="pico")
    with pytest.raises(ValueError, match="precision is for layout='files'"):
        to_c(model, tmp_path, layout="arduino", precision="int8")
