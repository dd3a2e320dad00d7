"""How near we come to the machine's limit: ``python -m benchmarks.near_limit [--only PART ...] [--names WORD ...]``.

========= ====================================================================================================
updates   one thread: time of a pass over that of the same kernel values alone, computed in blocks ("x limit")
predict   seconds of predictions for 100 000 rows on one thread and on all (``--threads``)
streams   searches on streams with eight candidates, and with eight half-lives, on one thread and on eight
========= ====================================================================================================

Times of one thread are those of the processor, the least of some runs, in which a pass and its limit take turns: other
programs on the machine change little then.
"""

import argparse
import time

import numpy as np
from rich.console import Console
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from benchmarks.cases import split_of as rows_of
from benchmarks.cores_predict import predict_rows
from benchmarks.limit import BLOCKS, MEASURED_ROWS, all_values, best_of
from benchmarks.printing import table
from benchmarks.regression_data import split_of as regression_rows
from benchmarks.speed import CASES
from frugalsvm import BPAClassifier, BSGDClassifier, BSGDRegressor, BudgetedPerceptron, StreamTuner
from frugalsvm.compiling.threads import thread_count
from frugalsvm.core.kernels import RBF

BUDGET, ROUNDS = 500, 5
BINARY = ("ijcnn1", "a9a", "mnist-8", "usps")
REGRESSION = ("elevators", "kin40k", "pol", "protein")
HALF_LIVES = (500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), help="parts (default: all)")
    parser.add_argument("--names", nargs="+", default=[], help="cases with one of these words")
    parser.add_argument(
        "--threads", dest="last", type=int, default=thread_count(-1), help="for predictions (default: all cores)"
    )
    options = parser.parse_args(namespace=Options())
    options.threads = [1, options.last]
    console = Console(width=120)
    for part in options.only:
        title, columns, rows = PARTS[part]
        shown = table(title, *columns)
        for row in rows(options):
            shown.add_row(*(f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in row))
        console.print(shown)


class Options(argparse.Namespace):
    names: list[str]
    last: int
    threads: list[int]

    def wanted(self, name):
        return not self.names or any(word.lower() in name.lower() for word in self.names)


# --- updates ----------------------------------------------------------------------------------------------------------


def update_rows(options):
    """Each case with its share of updates, microseconds for an example, those of the limit, and their ratio."""
    for name, model, X, y in _update_cases(options):
        clone(model).fit(X[:1000], y[:1000])  # compiled now
        with threadpool_limits(1):
            model.fit(X, y)
            model.partial_fit(X, y)  # full now
            vectors, n_outputs = model.support_vectors_.astype(np.float32), len(model.dual_coef_)
            kernel = RBF(model.gamma_)
            measured = X[: min(len(X), MEASURED_ROWS) // max(BLOCKS) * max(BLOCKS)]
            values = [all_values(kernel, measured, vectors, n_outputs, block) for block in BLOCKS]
            before = model.n_updates_, model.n_kernel_evals_
            seconds, limit = _turns([lambda model=model, X=X, y=y: model.partial_fit(X, y), *values])
            n_values = (model.n_kernel_evals_ - before[1]) / ROUNDS
            share = (model.n_updates_ - before[0]) / ROUNDS / len(X)
            limit *= n_values / (len(vectors) * len(measured))
        yield name, 100 * share, seconds / len(X) * 1e6, limit / len(X) * 1e6, seconds / limit


def _turns(functions):
    """Least processor seconds of the first function, and of any of the others."""
    least = [np.inf] * len(functions)
    for _ in range(ROUNDS):
        for k, function in enumerate(functions):
            start = time.process_time()
            function()
            least[k] = min(least[k], time.process_time() - start)
    return least[0], min(least[1:])


def _update_cases(options):
    for name, model, data in _all_update_cases():
        if not options.wanted(name):
            continue
        if isinstance(data, str):
            split = regression_rows(data)
            yield name, model.set_params(gamma=1 / split.X.shape[1]), split.X[:30_000], split.y[:30_000]
        else:
            yield name, model, *_rows(data)


def _all_update_cases():
    for name in BINARY:
        case = CASES[name]
        yield f"BSGD {name}", BSGDClassifier(budget=BUDGET, gamma=case.gamma, alpha=case.alpha), case
    digits = CASES["mnist-8"]
    yield (
        "BSGD mnist",
        BSGDClassifier(budget=BUDGET, gamma=digits.gamma, alpha=digits.alpha),
        digits._replace(positive=None),
    )
    for name in REGRESSION:
        yield f"BSGD regression {name}", BSGDRegressor(budget=BUDGET, gamma=1.0), name
    for name in ("ijcnn1", "a9a"):
        shared, case = {"budget": BUDGET, "gamma": CASES[name].gamma}, CASES[name]
        yield f"budget perceptron {name}", BudgetedPerceptron("budget", margin=1, **shared), case
        yield f"BPA nn {name}", BPAClassifier("nn", C=0.1, **shared), case
        yield f"BPA simple {name}", BPAClassifier("simple", C=0.1, **shared), case


# --- predictions ------------------------------------------------------------------------------------------------------


def prediction_rows(options):
    """Seconds on one thread and on all, and how many times fewer that is."""
    alone = {}
    for row in predict_rows(options):
        if row["threads"] == 1:
            alone[row["problem"]] = row["seconds"]
        else:
            before = alone[row["problem"]]
            yield row["problem"], row["vectors"], before, row["seconds"], before / row["seconds"]


# --- streams ----------------------------------------------------------------------------------------------------------


def stream_rows(options):
    """Seconds of a search with eight candidates of which none is dropped, on one thread and on eight."""
    for name in ("ijcnn1", "a9a", "mnist-8"):
        case = CASES[name]
        X, y = _rows(case)
        shared = {"budget": BUDGET, "gamma": case.gamma}
        grid = {"gamma": [case.gamma * factor for factor in (0.5, 1, 2, 4)], "alpha": [case.alpha, 3 * case.alpha]}
        for what, model, candidates in (
            ("gamma and alpha", BSGDClassifier(**shared), grid),
            ("half-lives", BSGDClassifier(**shared), {"half_life": HALF_LIVES}),
        ):
            label = f"{name}, {what}"
            if not options.wanted(label):
                continue
            search = StreamTuner(model, candidates, min_rows=10**9, random_state=0)
            clone(search).fit(X[:2000], y[:2000])  # compiled now
            alone, together = (_fit_seconds(clone(search).set_params(n_jobs=n), X, y) for n in (1, 8))
            yield label, alone, together, alone / together


def _fit_seconds(model, X, y):
    return best_of(lambda: model.fit(X, y), 2, warm_up=False)


def _rows(case):
    split = rows_of(case)
    return split.X_train, split.y_train


PARTS = {
    "updates": ("updates, one thread", ("case", "updates, %", "us an example", "limit", "x limit"), update_rows),
    "predict": ("predictions", ("estimator", "vectors", "one thread, s", "all, s", "times"), prediction_rows),
    "streams": ("StreamTuner", ("search", "one thread, s", "eight, s", "times"), stream_rows),
}

if __name__ == "__main__":
    main()
