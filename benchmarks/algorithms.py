"""What `frugalsvm algorithms` says: ``python -m benchmarks.algorithms``, for `measured.py` and docs/choosing.rst.

Every algorithm as `frugalsvm train -a NAME` runs it with no other flag, parameters chosen on the first rows, on 10,000
and 100,000 rows of ijcnn1 (22 features, 2 classes) and 10,000 of mnist (784 features, 10 classes). Seconds are CPU
seconds of one thread after everything was compiled, reading of the file not counted; accuracy is that on other rows.
"asset --device cpu" learns
all rows at once. What takes longer than the limit is left out. A CSV file, and a JSON file that says when, where and
with what.
"""

import argparse
import csv
import datetime
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.__main__ import machine
from frugalsvm.auto.comparison import Candidate, OutOfTime
from frugalsvm.cli.catalogue import AUTO, CATALOGUE, CLASSES, task_for
from frugalsvm.cli.commands.candidates import auto, low_rank, own_choice
from frugalsvm.cli.options import TrainOptions
from frugalsvm.datasets import load
from frugalsvm.streams.batch import Batch

CASES = (("ijcnn1", 10_000), ("ijcnn1", 100_000), ("mnist", 10_000))
ALL_AT_ONCE = "asset --device cpu"
N_TEST, N_WARM = 5_000, 2_000
HEADINGS = ("algorithm", "data", "rows", "features", "classes", "seconds", "accuracy", "bytes", "microseconds")


def candidate_for(name: str) -> Candidate:
    """The algorithm with all its defaults."""
    if name == AUTO:
        return auto(0, quiet=True)
    if name == ALL_AT_ONCE:
        return low_rank(0, "median", "rbf")
    budget = 500 if CATALOGUE[name].budgeted else None
    return own_choice(TrainOptions(name, budget), "median")


def rows_of(data: str, n_rows: int) -> tuple[Batch, Batch]:
    """Rows to learn, and others, drawn at random."""
    X, y = load(data)
    X = X.toarray() if hasattr(X, "toarray") else X
    order = np.random.default_rng(0).permutation(len(y))
    training, test = order[N_TEST : N_TEST + n_rows], order[:N_TEST]
    return Batch(np.ascontiguousarray(X[training]), y[training]), Batch(np.ascontiguousarray(X[test]), y[test])


def measured(name: str, training: Batch, test: Batch, limit: float) -> dict[str, Any] | None:
    """Figures of an algorithm; None if it takes longer than the limit."""
    candidate = candidate_for(name)
    small = Batch(training.X[:N_WARM], training.y[:N_WARM])
    candidate.learn(small, 10.0 if name == AUTO else None).model.predict(test.X[:100])  # compiles
    try:
        seconds, learned = timed(lambda: candidate.learn(training, None if name == AUTO else limit))
    except OutOfTime:
        return None
    predicting, predicted = timed(lambda: learned.model.predict(test.X))
    return {
        "seconds": round(seconds, 2),
        "accuracy": round(float(np.mean(predicted == test.y)), 4),
        "bytes": learned.n_bytes,
        "microseconds": round(1e6 * predicting / test.n_rows, 1),
    }


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    made = run()
    return time.process_time() - start, made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    of_classes = [name for name in CATALOGUE if task_for(name) == CLASSES]
    names = [AUTO, *of_classes, ALL_AT_ONCE]
    parser.add_argument("names", nargs="*", default=names, help="algorithms; all that learn classes by default")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for each fit")
    parser.add_argument("--output", type=Path, default=Path("docs/measured/algorithms.csv"))
    arguments = parser.parse_args()
    found = []
    with threadpool_limits(1):
        for name in arguments.names:
            for data, n_rows in CASES:
                training, test = rows_of(data, n_rows)
                figures = measured(name, training, test, arguments.limit)
                if figures is None:
                    print(f"{name}, {data}, {n_rows}: longer than {arguments.limit:.0f} s", flush=True)
                    continue
                case = {"rows": n_rows, "features": training.X.shape[1], "classes": len(np.unique(training.y))}
                found.append({"algorithm": name, "data": data, **case, **figures})
                print(found[-1], flush=True)
    with arguments.output.open("w", newline="") as file:
        writer = csv.DictWriter(file, HEADINGS)
        writer.writeheader()
        writer.writerows(found)
    facts = {"date": datetime.date.today().isoformat(), "machine": machine(), "limit_seconds": arguments.limit}
    arguments.output.with_suffix(".json").write_text(json.dumps(facts, indent=2) + "\n")


if __name__ == "__main__":
    main()
