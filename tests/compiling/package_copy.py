"""Copies of the package that may be edited, and that compute in processes of their own."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import frugalsvm

# What compiles fast, for a part. Values of the kernel are exp(-d): how many are not zero depends on FARTHEST.
SLOPES = """
import json
import numpy as np
import frugalsvm
from frugalsvm.core.kernels import RBF
from frugalsvm.core.slopes import slope_block

slopes = np.zeros((1, 5))
slope_block(RBF(1.0), np.zeros((1, 5)), np.array([0.0, 20.0, 40.0, 60.0, 80.0]), np.zeros(1), slopes)
print(json.dumps({
    "file": frugalsvm.__file__,
    "n_near": int(np.count_nonzero(slopes)),
    "hits": sum(slope_block.stats.cache_hits.values()),
    "misses": sum(slope_block.stats.cache_misses.values()),
}))
"""


def python(code, *arguments, path, **environment):
    """Run code in another process that finds modules in the folders of ``path`` first; None unsets a variable."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path)), **environment}
    environment = {name: value for name, value in environment.items() if value is not None}
    command = [sys.executable, "-c", code, *map(str, arguments)]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout


def copied_package(folder):
    """A copy of the package in a folder, without its machine code; returns where it is.

    Files keep their times, so that Python compiles again what is edited, and nothing else.
    """
    root = folder / "frugalsvm"
    left_out = shutil.ignore_patterns("_machine_code")
    shutil.copytree(Path(frugalsvm.__file__).parent, root, ignore=left_out)
    return root


def make_nearer(root):
    """Edit a constant in the file of a callee, not in that of the called function; returns what undoes it."""
    path = root / "core" / "fastmath.py"
    source = path.read_text()
    assert source.count("\nFARTHEST = 100.0") == 1
    path.write_text(source.replace("\nFARTHEST = 100.0", "\nFARTHEST = 50.0"))
    return lambda: path.write_text(source)


def computed(root, cache, before="", **environment):
    """Compute slopes with a copy of the package, after other code; machine code is kept in a folder.

    Returns how many are not zero, and how often machine code was found and was not.
    """
    environment = {"NUMBA_CACHE_DIR": str(cache), "NUMBA_CPU_NAME": None, "NUMBA_CPU_FEATURES": None, **environment}
    report = json.loads(python(before + SLOPES, path=[root.parent], **environment))
    assert Path(report.pop("file")).is_relative_to(root)
    return report
