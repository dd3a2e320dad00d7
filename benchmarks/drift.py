"""Streams that change, prequential: every row is predicted, then learned, in one pass and in the given order.

``python -m benchmarks.drift`` prints the table of ``docs/howto/drift.rst``; seconds are CPU seconds of one thread.
Nothing is chosen with a look at later rows: gamma is chosen by the estimator on the first rows unless it is named.
Learners of river run beside on elec2 where it is installed.
"""

import argparse
import time
import warnings

import numpy as np

from frugalsvm import BSGDClassifier
from frugalsvm.core.experts import HALF_LIVES
from frugalsvm.datasets import DriftStream, load, make_checkerboard
from frugalsvm.pipelines import StreamPipeline

N_BEFORE, N_AFTER = 100_000, 20_000  # rows of the checkerboard before and after it becomes its negative
WINDOW = 1000
GAMMAS = {"checkerboard": 5.0, "rotating_checkerboard": 5.0, "sea": 0.1, "hyperplane": 0.1, "moving_rbf": 0.3}
FIXED = (None, *HALF_LIVES, 200)  # one is shorter than those of the pool, so that it can lose
N_ROTATING = 20_000  # rows of streams that change all the time; they get to another concept every 10 000
HELD = 2000  # rows that the pipeline chooses gamma on; rates are measured after them


def print_row(*cells):
    """One line as soon as it is known: some take minutes."""
    print(*cells, sep="  ", flush=True)


def prequential_by_rows(model, X, y):
    """Whether each row was predicted right, and rows per CPU second after the warm-up."""
    model.partial_fit(X[:1], y[:1], classes=np.unique(y))
    right, begin = np.zeros(len(y), bool), 0.0
    for i in range(1, len(y)):
        if i == HELD + 1:
            begin = time.process_time()
        right[i] = model.predict_one_row(X[i]) == y[i]
        model.learn_one_row(X[i], y[i])
    return right[1:], (len(y) - HELD) / (time.process_time() - begin)


def rate_in_batches(model, X, y, size=1000):
    """Rows per CPU second that are learned in batches, after the warm-up."""
    model.partial_fit(X[:HELD], y[:HELD], classes=np.unique(y))
    begin = time.process_time()
    for start in range(HELD, len(y), size):
        model.partial_fit(X[start : start + size], y[start : start + size])
    return (len(y) - HELD) / (time.process_time() - begin)


def adaptive(half_life="auto", **params):
    return BSGDClassifier(budget=500, half_life=half_life, random_state=0, **params)


def elec2():
    """The given order is that of time."""
    X, y = load("elec2")
    for half_life in ("auto", None):
        model = StreamPipeline(adaptive(half_life), scale="following")
        right, rate = prequential_by_rows(model, X, y)
        batches = rate_in_batches(StreamPipeline(adaptive(half_life), scale="following"), X, y)
        print_row("elec2", f"half_life={half_life}", f"{100 * right.mean():.2f} %", f"{rate:.0f}/s", f"{batches:.0f}/s")
    for name, accuracy, rate in _river_on(X, y):
        print_row("elec2", name, f"{100 * accuracy:.2f} %", f"{rate:.0f}/s", "")


def _river_on(X, y):
    try:
        from river import forest, linear_model, optim, preprocessing, tree
    except ImportError:
        return
    models = {
        "river logistic regression": preprocessing.StandardScaler()
        | linear_model.LogisticRegression(optimizer=optim.SGD(0.1)),
        "river Hoeffding adaptive tree": tree.HoeffdingAdaptiveTreeClassifier(seed=0),
        "river ARF": forest.ARFClassifier(seed=0),
    }
    names = [str(j) for j in range(X.shape[1])]
    rows = [dict(zip(names, x, strict=True)) for x in X.tolist()]
    for name, model in models.items():
        n_right, begin = 0, time.process_time()
        for x, label in zip(rows, y.tolist(), strict=True):
            n_right += model.predict_one(x) == label
            model.learn_one(x, label)
        yield name, n_right / len(y), len(y) / (time.process_time() - begin)


def negative(n_seeds):
    """The checkerboard becomes its negative: accuracy before, and in windows after."""
    for half_life in ("auto", None):
        curves = []
        for seed in range(n_seeds):
            X, y = make_checkerboard(N_BEFORE + N_AFTER, random_state=seed)
            y = (y > 0).astype(int)
            y[N_BEFORE:] = 1 - y[N_BEFORE:]
            model = StreamPipeline(adaptive(half_life, gamma=8.0), scale=False, warmup_rows=1)
            curves.append(prequential_by_rows(model, X, y)[0])
        right = np.mean(curves, axis=0)
        level = 100 * right[N_BEFORE - 10_000 : N_BEFORE - 1].mean()
        after = right[N_BEFORE - 1 :][: 10 * WINDOW].reshape(-1, WINDOW).mean(axis=1)
        print_row(
            "negative", f"half_life={half_life}", f"{level:.2f} %", " ".join(f"{100 * each:.1f}" for each in after)
        )


def stationary(n_seeds):
    """What adaptive forgetting costs where nothing changes."""
    for name in ("noisy checkerboard", "ijcnn1"):
        for half_life in ("auto", None):
            scores = []
            for seed in range(n_seeds):
                X, y, gamma = _stationary_stream(name, seed)
                model = StreamPipeline(adaptive(half_life, gamma=gamma), scale=False, warmup_rows=1)
                scores.append(prequential_by_rows(model, X, y)[0].mean())
            print_row(name, f"half_life={half_life}", f"{100 * np.mean(scores):.2f} %")


def _stationary_stream(name, seed):
    rng = np.random.default_rng(seed)
    if name == "ijcnn1":
        X, y = load("ijcnn1", "train")
        order = rng.permutation(len(y))
        return np.asarray(X)[order], (y[order] > 0).astype(int), 2.0
    X, y = make_checkerboard(60_000, random_state=seed)
    y = (y > 0).astype(int)
    return X, np.where(rng.random(len(y)) < 0.2, 1 - y, y), 8.0


def rotation(n_seeds):
    """Streams that change a little with every row: the pool beside every half-life by itself."""
    for name, gamma in GAMMAS.items():
        scores = {}
        for half_life in ("auto", *FIXED):
            for seed in range(n_seeds):
                X, y = DriftStream(name, "incremental", changes=10_000, random_state=seed).take(N_ROTATING)
                model = StreamPipeline(adaptive(half_life, gamma=gamma), scale=False, warmup_rows=1)
                scores.setdefault(half_life, []).append(100 * prequential_by_rows(model, X, y)[0].mean())
        means = {half_life: np.mean(each) for half_life, each in scores.items()}
        fixed = " ".join(f"{half_life}: {means[half_life]:.2f}" for half_life in FIXED)
        short_of_best = max(means[half_life] for half_life in FIXED) - means["auto"]
        print_row("rotation", name, f"auto {means['auto']:.2f} %", f"short of the best by {short_of_best:.2f}", fixed)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", choices=("elec2", "negative", "stationary", "rotation"))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)
    parts = {"elec2": elec2, "negative": lambda: negative(arguments.seeds)}
    parts["stationary"] = lambda: stationary(arguments.seeds)
    parts["rotation"] = lambda: rotation(arguments.seeds)
    for name, part in parts.items():
        if arguments.only in (None, name):
            part()


if __name__ == "__main__":
    main()
