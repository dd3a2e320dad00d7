"""What every algorithm gives and costs on the same rows: ``python -m benchmarks.tradeoffs``, for docs/choosing.rst.

Two data sets: ijcnn1 (real, standardised) and the noisy checkerboard (generated; 15 % of the training labels are wrong,
those of the test are right). gamma is fixed for each, the same for all; alpha or C is the best of three on the last
third of 6 000 training rows. Accuracies are means over three seeds, which shuffle the rows; seconds are the least CPU
seconds of one thread after everything was compiled. Bytes are what predictions need. The files are CSV, one for each
data set, and a JSON file that says when, where and with what.
"""

import argparse
import csv
import datetime
import json
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from sklearn.base import clone
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from benchmarks.__main__ import machine
from benchmarks.cases import Split, scaled
from frugalsvm import (
    ASSETClassifier,
    BPAClassifier,
    BSGDClassifier,
    BudgetedPerceptron,
    IncrementalSVC,
    LASVMClassifier,
    TrackingSVC,
    TVMClassifier,
)
from frugalsvm.datasets import load, make_checkerboard

GAMMAS = {"ijcnn1": 0.182, "noisy checkerboard": 5.0}
N_TRAIN, N_TEST, N_CHOOSING, SEEDS = 20_000, 20_000, 6_000, (0, 1, 2)
PENALTIES = (1.0, 10.0, 100.0)
ALPHAS = (1e-3, 1e-4, 1e-5)
HEADINGS = ("algorithm", "rows", "accuracy %", "train s", "vectors", "model KB", "predictions/s", "certificate")


class Contender(NamedTuple):
    """An estimator, the values of the parameter that is chosen, and the largest number of rows that is sensible."""

    name: str
    model: Any
    parameter: str | None = None
    values: tuple = ()
    rows: int = N_TRAIN
    certificate: str = ""


def contenders(gamma):
    g = {"gamma": gamma}
    bsgd = ("alpha", ALPHAS, N_TRAIN, "gradient_error_")
    gap = ("C", PENALTIES, N_TRAIN, "member_gap_")
    return [
        Contender("BSGD, budget 100", BSGDClassifier(budget=100, **g), *bsgd),
        Contender("BSGD, budget 500", BSGDClassifier(budget=500, **g), *bsgd),
        Contender("BSGD, budget 500, average='post'", BSGDClassifier(budget=500, average="post", **g), *bsgd),
        Contender("TVM, budget 100", TVMClassifier(budget=100, **g), "C", PENALTIES, N_TRAIN, "kkt_violation_"),
        Contender("Projectron++, budget 500", BudgetedPerceptron("projectron++", budget=500, **g)),
        Contender("BPA, nn, budget 500", BPAClassifier("nn", budget=500, **g), "C", (0.01, 0.1, 1.0)),
        Contender("ASSET, 512 landmarks", ASSETClassifier(n_components=512, **g), "C", PENALTIES, N_TRAIN,
                  "suboptimality_bound_"),
        Contender("LASVM, g", LASVMClassifier("g", **g), *gap),
        Contender("LASVM, nc", LASVMClassifier("nc", **g), *gap),
        Contender("LASVM, i", LASVMClassifier("i", **g), *gap),
        Contender("Tracking", TrackingSVC(**g), "C", PENALTIES, 10_000, "duality_gap_"),
        Contender("Incremental (exact)", IncrementalSVC(**g), "C", PENALTIES, 5_000, "kkt_violation_"),
        Contender("SVC of scikit-learn", SVC(cache_size=500, **g), "C", PENALTIES),
    ]  # fmt: skip


def split(data):
    """Training and test rows in float32."""
    if data == "noisy checkerboard":
        return Split(
            *make_checkerboard(N_TRAIN, noise=0.15, random_state=0), *make_checkerboard(N_TEST, random_state=1)
        )
    X, y = load(data, "train")
    X_test, y_test = load(data, "test")
    order = np.random.default_rng(0).permutation(len(X))[:N_TRAIN]
    X, X_test = scaled("standard", X[order], X_test[:N_TEST])
    return Split(X, y[order], X_test, y_test[:N_TEST])


def chosen(contender, rows):
    """The estimator with the best value of its parameter on the last third of some training rows."""
    if contender.parameter is None:
        return contender.model
    n, m = min(N_CHOOSING, contender.rows), 2 * min(N_CHOOSING, contender.rows) // 3
    scores = []
    for value in contender.values:
        model = seeded(contender.model, 0).set_params(**{contender.parameter: value})
        model.fit(rows.X_train[:m], rows.y_train[:m])
        scores.append(model.score(rows.X_train[m:n], rows.y_train[m:n]))
    return clone(contender.model).set_params(**{contender.parameter: contender.values[int(np.argmax(scores))]})


def seeded(model, seed):
    model = clone(model)
    return model.set_params(random_state=seed) if "random_state" in model.get_params() else model


def measure(contender, rows):
    """A row of the table."""
    best = chosen(contender, rows)
    accuracies, seconds, X = [], [], rows.X_train[: contender.rows]
    for seed in SEEDS:
        model = seeded(best, seed)
        order = np.random.default_rng(seed).permutation(len(X))  # for those that do not shuffle
        start = time.process_time()
        model.fit(X[order], rows.y_train[order])
        seconds.append(time.process_time() - start)
        accuracies.append(model.score(rows.X_test, rows.y_test))
    shown = rows.X_test[:5_000]
    model.decision_function(shown[:100])
    start = time.process_time()
    model.decision_function(shown)
    rate = len(shown) / (time.process_time() - start)
    vectors = model.landmarks_ if isinstance(model, ASSETClassifier) else model.support_vectors_
    value = f"``{contender.certificate}`` {getattr(model, contender.certificate):.2g}" if contender.certificate else ""
    numbers = (
        f"{100 * np.mean(accuracies):.1f}",
        f"{min(seconds):.2g}",
        len(vectors),
        f"{bytes_of(model, vectors) / 1024:.0f}",
        f"{float(f'{rate:.2g}'):.0f}",
    )
    return (contender.name, len(X), *numbers, value), {contender.parameter: getattr(best, str(contender.parameter), "")}


def bytes_of(model, vectors):
    if hasattr(model, "model_bytes_"):
        return model.model_bytes_
    return vectors.nbytes + model.dual_coef_.nbytes


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tradeoffs", description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("docs/measured"), help="where the tables go")
    parser.add_argument("--data", choices=list(GAMMAS), nargs="+", default=list(GAMMAS), help="measure these only")
    parser.add_argument("--only", default="", help="measure algorithms with this in their names; others stay")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    console = Console(soft_wrap=True)
    with threadpool_limits(1):
        for data in options.data:
            rows = split(data)
            for contender in contenders(GAMMAS[data]):
                if options.only in contender.name:
                    row, parameters = measure(contender, rows)
                    note(options.folder, data, row, parameters)
                    console.print(data, *row, highlight=False)


def note(folder, data, row, parameters):
    """Put a row into its table at once, so that a run that is interrupted loses nothing."""
    path = folder / f"tradeoffs_{data.replace(' ', '_')}.csv"
    known = {}
    if path.exists():
        with path.open(newline="") as file:
            known = {old[0]: old for old in list(csv.reader(file))[1:]}
    known[row[0]] = row
    names = [contender.name for contender in contenders(GAMMAS[data])]
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([HEADINGS, *(known[name] for name in names if name in known)])
    path = folder / "tradeoffs.json"
    about = json.loads(path.read_text()) if path.exists() else {}
    chosen_values = {**about.get("parameters", {}), f"{data}: {row[0]}": parameters}
    about |= {"date": datetime.date.today().isoformat(), "machine": machine(), "gamma": GAMMAS}
    path.write_text(json.dumps({**about, "parameters": chosen_values}, indent=2) + "\n")


if __name__ == "__main__":
    main()
