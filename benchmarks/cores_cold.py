"""First fits of new processes: with no machine code on disk, and with all of it."""

import json
import os
import subprocess
import sys
import tempfile
import time

from frugalsvm._homes import ESTIMATORS

__all__ = ["cold_rows"]

_FIRST = """
import json, sys, time
import numpy as np
import frugalsvm

estimator = getattr(frugalsvm, sys.argv[1])
imported = time.process_time()
X = np.random.default_rng(0).normal(size=(1000, 10))
y = X[:, 0] * X[:, 1]
model = estimator().fit(X, y if "Regressor" in sys.argv[1] else y > 0)
fitted = time.process_time()
model.predict(X[:1])
print(json.dumps([imported, fitted - imported]))
"""


def cold_rows(options):
    """CPU seconds of the import and of the first fit, and seconds from the start to the end of the whole process.

    Defaults of each estimator, 1000 rows of 10 features in float64, two classes; one thread.
    """
    for name in ESTIMATORS:
        if not options.wanted(name):
            continue
        with tempfile.TemporaryDirectory() as cache:
            (_, cold, cold_process), *warm = (_first(name, cache) for _ in range(3))
        imported, fit, process = (min(values) for values in zip(*warm, strict=True))
        times = {"import": imported, "warm_fit": fit, "warm_process": process}
        yield {"problem": name, "cold_fit": cold, "cold_process": cold_process, **times}


def _first(name, cache):
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    environment = {**os.environ, **one, "NUMBA_CACHE_DIR": cache, "FRUGALSVM_QUIET": "1"}
    start = time.perf_counter()
    command = [sys.executable, "-W", "ignore", "-c", _FIRST, name]
    out = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    return *json.loads(out), time.perf_counter() - start
