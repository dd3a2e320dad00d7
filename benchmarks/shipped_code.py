"""Is machine code for a named level of processors as fast as code for this very processor?

    python -m benchmarks.shipped_code [--rounds 5] [--work output/machine_code] [CASE ...]

Fits and predictions of all families run with code for this processor, and for each level that it reaches, in processes
that take turns. Seconds are of the processor, and the smallest of all repetitions counts: what else runs on the machine
only adds to them. Code is compiled when it is not in the ``--work`` folder, which ``python -m frugalsvm.warming.wheel``
fills too.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from frugalsvm.compiling.baselines import baselines_here
from frugalsvm.compiling.code_cache import features_here

NATIVE = "native"
# Name: estimator, its settings, rows, features, classes (0 for numbers)
CASES = {
    "bsgd": ("BSGDClassifier", {"budget": 500}, 40_000, 22, 2),
    "bsgd, many features": ("BSGDClassifier", {"budget": 500}, 15_000, 123, 2),
    "bsgd, 8 classes": ("BSGDClassifier", {"budget": 300}, 10_000, 30, 8),
    "bsgd-regressor": ("BSGDRegressor", {"budget": 200}, 10_000, 20, 0),
    "one-class": ("BSGDOneClassSVM", {"budget": 200}, 40_000, 20, 0),
    "perceptron": ("BudgetedPerceptron", {"budget": 300}, 40_000, 30, 2),
    "bpa": ("BPAClassifier", {"budget": 200}, 20_000, 30, 2),
    "lasvm": ("LASVMClassifier", {"variant": "g"}, 2_000, 60, 2),
    "lasvm-nc": ("LASVMClassifier", {"variant": "nc"}, 3_000, 60, 2),
    "tracking": ("TrackingSVC", {}, 2_000, 20, 2),
    "incremental": ("IncrementalSVC", {}, 1_500, 30, 2),
    "tvm": ("TVMClassifier", {"budget": 100}, 3_000, 20, 2),
    "asset": ("ASSETClassifier", {"n_components": 256}, 20_000, 22, 2),
    "local": ("LocalSVC", {"cell_size": 1024}, 8_000, 20, 2),
    "local-regressor": ("LocalSVR", {"cell_size": 1024}, 8_000, 20, 0),
}
RUN = """
import json, sys, time, warnings
warnings.simplefilter("ignore")
import numpy as np
import frugalsvm

name, settings, n_rows, n_features, n_classes = json.loads(sys.argv[1])
estimator = getattr(frugalsvm, name)
rng = np.random.default_rng(0)
X = rng.normal(size=(n_rows, n_features)).astype(np.float32)
y = X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * rng.normal(size=n_rows)
if n_classes:
    y = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
if "gamma" in estimator().get_params():
    settings["gamma"] = 1.0 / n_features  # not chosen by its own fits
seconds = []
while len(seconds) < 4 or sum(seconds) < 1.0:
    start = time.process_time()
    estimator(**settings).fit(X, y).predict(X[:2000])
    seconds.append(time.process_time() - start)
print(min(seconds[1:]))
"""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.shipped_code", description=__doc__.partition("\n")[0])
    parser.add_argument("cases", nargs="*", help=f"any of: {', '.join(CASES)} (default: all)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--work", type=Path, default=Path("output/machine_code"), help="folder for compiled code; kept")
    options = parser.parse_args()
    levels = {each.name: each.environment for each in baselines_here() if not each.lacking(features_here())}
    targets = {NATIVE: {}, **levels}
    table = Table(title="CPU seconds of a fit and a prediction", title_justify="left")
    for column in ("case", *targets, *(f"speed of {level}" for level in levels)):
        table.add_column(column, justify="left" if column == "case" else "right")
    for case in options.cases or CASES:
        seconds: dict[str, list[float]] = {target: [] for target in targets}
        for _ in range(options.rounds):
            for target, environment in targets.items():
                seconds[target].append(_seconds(CASES[case], options.work.resolve() / target, environment))
        least = {target: min(each) for target, each in seconds.items()}
        speeds = {level: least[NATIVE] / least[level] for level in levels}
        table.add_row(case, *(f"{each:.4f}" for each in least.values()), *(f"{100 * s:.0f} %" for s in speeds.values()))
        print(case, least, speeds, file=sys.stderr, flush=True)
    Console(width=120).print(table)


def _seconds(case: tuple, cache: Path, environment: dict[str, str]) -> float:
    cache.mkdir(parents=True, exist_ok=True)
    kept = {name: value for name, value in os.environ.items() if name != "NUMBA_OPT"}
    environment = {**kept, "NUMBA_CACHE_DIR": str(cache), "FRUGALSVM_QUIET": "1", **environment}
    command = [sys.executable, "-c", RUN, json.dumps(case)]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return float(run.stdout)


if __name__ == "__main__":
    main()
