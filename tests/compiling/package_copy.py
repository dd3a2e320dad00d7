"""Copies of the package that may be edited, and that train in processes of their own."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import frugalsvm

# The parts that compile fastest. Margins are 0, 0.75, 1.28, 1.71, 2.09: how many rows are learned depends on MARGIN.
TRAINING = """
import json
import numpy as np
import frugalsvm
from frugalsvm.budgeted.norm_constraint import Unconstrained
from frugalsvm.budgeted.policy import Unlimited
from frugalsvm.budgeted.sgd import Parts, learn, run
from frugalsvm.core.expansion import new_expansion
from frugalsvm.core.kernels import Linear
from frugalsvm.core.losses import BinaryHinge
from frugalsvm.core.schedules import Norma

parts = Parts(BinaryHinge(), Linear(), Norma(1e-9, 0.75), Unlimited(), Unconstrained())
_, model = learn(parts, new_expansion(8, 1, 1, np.float64), np.ones((6, 1)), np.ones(6, np.int64))
print(json.dumps({
    "file": frugalsvm.__file__,
    "n_learned": int(model.counts[0]["n_slots"]),
    "hits": sum(run.stats.cache_hits.values()),
    "misses": sum(run.stats.cache_misses.values()),
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
    """A copy of the package in a folder, without what is kept of it; returns where it is."""
    root = folder / "frugalsvm"
    left_out = shutil.ignore_patterns("__pycache__", "_machine_code")
    shutil.copytree(Path(frugalsvm.__file__).parent, root, ignore=left_out)
    return root


def train(root, cache, before="", **environment):
    """Train with a copy of the package, after other code; machine code is kept in a folder.

    Returns how many rows were learned, and how often machine code was found and was not.
    """
    environment = {"NUMBA_CACHE_DIR": str(cache), "NUMBA_CPU_NAME": None, "NUMBA_CPU_FEATURES": None, **environment}
    report = json.loads(python(before + TRAINING, path=[root.parent], **environment))
    assert Path(report.pop("file")).is_relative_to(root)
    return report
