"""Every example of the gallery runs, draws something, and leaves no warning."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "examples").glob("plot_*.py"))
# All in one process: imports and machine code are shared.
RUNNER = """
import runpy, sys, warnings
import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
warnings.simplefilter("error", RuntimeWarning)
for path in sys.argv[1:]:
    runpy.run_path(path, run_name="__main__")
    assert plt.get_fignums(), f"{path} draws nothing"
    plt.gcf().canvas.draw()
    plt.close("all")
    print("ran", path)
"""


def test_the_gallery_has_examples():
    assert len(EXAMPLES) >= 6


@pytest.mark.slow
def test_every_example_runs(tmp_path):
    pytest.importorskip("matplotlib")
    environment = {**os.environ, "MPLBACKEND": "Agg", "MPLCONFIGDIR": str(tmp_path)}
    command = [sys.executable, "-c", RUNNER, *map(str, EXAMPLES)]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("ran ") == len(EXAMPLES)
