"""The Twin Vector Machine beside its paper: ``python -m benchmarks.tvm [table3] [table4] [table5] [stream] [speed]``.

Data, labels, scaling (mean 0, deviation 1, from the training rows) and parameters are those of section 5. ``stream`` is
the noisy checkerboard of ten million examples (section 5.3), with Figure 2 as ``--picture FILE``. ``speed`` compares
with BSGD on the same million rows, and `IncrementalSVC` with `SVC`.
"""

import argparse
import sys
import time

import numpy as np
from rich.console import Console
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from benchmarks.tables import table
from frugalsvm import BSGDClassifier, TVMClassifier
from frugalsvm.datasets import load, make_checkerboard, make_two_gaussians, make_waveform

PARTS = ("table3", "table4", "table5", "stream", "speed")

# Accuracies of the paper: RBF with 100 and 500 twins (Table 3), polynomial and linear with 100 (Table 4), and the
# variants of Table 5: [-1, 1], [-2, 2], no rejection, global, feature space.
PRINTED = {
    "a9a": (82.1, 83.7, 81.2, 81.3, 81.4, 80.5, 83.2, 82.3, 81.8),
    "banana": (89.8, 89.9, 83.0, 56.4, 88.7, 89.8, 90.5, 90.4, 90.3),
    "checkerboard": (98.1, 99.0, 91.1, 51.7, 97.3, 95.2, 97.9, 95.5, 97.4),
    "n-checkerboard": (97.1, 98.8, 93.9, 50.8, 97.1, 89.1, 97.2, 94.6, 96.9),
    "covtype": (76.5, 79.6, 73.9, 75.6, 76.6, 72.7, 75.6, 70.3, 76.0),
    "gauss": (81.1, 81.8, 81.1, 76.9, 81.2, 81.2, 81.2, 81.2, 81.2),
    "ijcnn1": (97.0, 97.9, 96.9, 94.2, 97.3, 92.1, 90.0, 95.9, 96.8),
    "letter": (87.6, 92.0, 84.7, 72.5, 87.5, 78.4, 78.8, 80.4, 86.9),
    "pendigits": (99.1, 99.2, 98.8, 90.1, 98.9, 93.0, 98.8, 98.6, 99.2),
    "shuttle": (99.8, 99.8, 99.6, 98.1, 99.8, 98.0, 99.8, 99.8, 99.8),
    "usps": (92.1, 95.0, 92.8, 83.8, 91.7, 84.3, 81.9, 91.1, 91.9),
    "waveform": (87.7, 88.8, 86.6, 85.3, 87.1, 83.2, 84.3, 88.1, 87.6),
}
VARIANTS = {
    "[-1, 1]": {"m2": 1.0},
    "[-2, 2]": {"m1": 2.0},
    "no rejection": {"reject": None},
    "global": {"one_sided": False},
    "feature space": {"merge_space": "feature"},
}
POSITIVE = {
    "pendigits": (0, 3, 6, 8, 9),
    "usps": (0, 3, 6, 8, 9),
    "letter": tuple(range(14, 27)),
    "shuttle": tuple(range(2, 8)),
    "covtype": (2,),
}


def split_of(name, seed):
    """Standardised training and test rows, and labels -1 and +1, as in section 5.1."""
    rng = np.random.default_rng(seed)
    if name in ("checkerboard", "n-checkerboard"):
        noise = 0.15 if name == "n-checkerboard" else 0.0
        X, y = make_checkerboard(100_000, noise=noise, random_state=seed)
        X_test, y_test = make_checkerboard(5_000, random_state=seed + 10_000)
    elif name in ("gauss", "waveform"):
        make = make_two_gaussians if name == "gauss" else make_waveform
        (X, y), (X_test, y_test) = make(100_000, random_state=seed), make(5_000, random_state=seed + 10_000)
    elif name in ("banana", "covtype"):
        X, y = load(name)
        n_train, n_test = (4_300, 1_000) if name == "banana" else (100_000, 10_000)
        rows = rng.permutation(len(y))[: n_train + n_test]
        X, y, X_test, y_test = X[rows[:n_train]], y[rows[:n_train]], X[rows[n_train:]], y[rows[n_train:]]
    else:
        (X, y), (X_test, y_test) = load(name, "train"), load(name, "test")
    y, y_test = (_signs(name, labels) for labels in (y, y_test))
    X, X_test = np.asarray(X, np.float64), np.asarray(X_test, np.float64)
    mean, spread = X.mean(axis=0), X.std(axis=0)
    spread[spread == 0] = 1.0
    return (X - mean) / spread, y, (X_test - mean) / spread, y_test


def _signs(name, labels):
    if name in POSITIVE:
        return np.where(np.isin(labels, POSITIVE[name]), 1, -1)
    if name == "waveform":  # its first class against the other two
        return np.where(labels == np.min(labels), -1, 1)
    return np.where(np.asarray(labels) > 0, 1, -1)


def parameters(name, n_features, kernel="rbf"):
    board = "checkerboard" in name
    chosen = {"C": 1.0 if name == "a9a" else 100.0, "kernel": kernel}
    if kernel == "rbf":
        chosen["gamma"] = 1 / (2 * 0.37) if board else 1 / n_features  # exp(-d^2 / (2 delta)), delta = n_features / 2
    elif kernel == "poly":
        chosen |= {"gamma": 1.0, "coef0": 1.0, "degree": 7 if board else 3}
    return chosen


def accuracies(name, seeds, budget=100, kernel="rbf", **settings):
    """Test accuracies in percent, one pass, and training examples per second."""
    scores, seconds, n_rows = [], 0.0, 0
    for seed in range(seeds):
        X, y, X_test, y_test = split_of(name, seed)
        model = TVMClassifier(budget, random_state=seed, **{**parameters(name, X.shape[1], kernel), **settings})
        if seed == 0:
            TVMClassifier(**{**model.get_params(), "budget": 20}).fit(X[:300], y[:300])
        start = time.process_time()
        model.fit(X, y)
        seconds += time.process_time() - start
        n_rows += len(y)
        scores.append(100 * model.score(X_test, y_test))
    return np.array(scores), n_rows / seconds


def table3(console, seeds, names):
    out = table(f"RBF, {seeds} seeds", "data", "B=100", "paper", "B=500", "paper", "examples/s", "examples/s, B=500")
    means = []
    for name in names:
        (small, speed), (large, slower) = (accuracies(name, seeds, budget) for budget in (100, 500))
        means.append((small.mean(), large.mean()))
        out.add_row(
            name, _spread(small), f"{PRINTED[name][0]}", _spread(large), f"{PRINTED[name][1]}", *_rates(speed, slower)
        )
        console.print(f"{name}: {_spread(small)}, {_spread(large)}")
    out.add_row("mean", *(text for k in (0, 1) for text in (f"{np.mean(means, 0)[k]:.2f}", _printed_mean(names, k))))
    console.print(out)


def table4(console, seeds, names):
    out = table(f"100 twins, {seeds} seeds", "data", "polynomial", "paper", "linear", "paper")
    means = []
    for name in names:
        poly, linear = (accuracies(name, seeds, kernel=kernel)[0] for kernel in ("poly", "linear"))
        means.append((poly.mean(), linear.mean()))
        out.add_row(name, _spread(poly), f"{PRINTED[name][2]}", _spread(linear), f"{PRINTED[name][3]}")
        console.print(f"{name}: {_spread(poly)}, {_spread(linear)}")
    out.add_row(
        "mean", *(text for k in (0, 1) for text in (f"{np.mean(means, 0)[k]:.2f}", _printed_mean(names, k + 2)))
    )
    console.print(out)


def table5(console, seeds, names):
    out = table(f"RBF, 100 twins, {seeds} seeds: ours (paper)", "data", "default", *VARIANTS)
    for name in names:
        columns = [accuracies(name, seeds, **settings)[0].mean() for settings in ({}, *VARIANTS.values())]
        printed = [PRINTED[name][0], *PRINTED[name][4:]]
        out.add_row(name, *(f"{ours:.1f} ({theirs})" for ours, theirs in zip(columns, printed, strict=True)))
        console.print(f"{name}: {[round(value, 1) for value in columns]}")
    console.print(out)


def _spread(values):
    return f"{np.mean(values):.2f} ± {np.std(values):.2f}"


def _rates(*speeds):
    return (f"{speed:,.0f}" for speed in speeds)


def _printed_mean(names, k):
    return f"{np.mean([PRINTED[name][k] for name in names]):.2f}"


def board_chunks(seed, n_rows, size=100_000):
    """The noisy checkerboard in chunks."""
    for part in range(n_rows // size):
        X, y = make_checkerboard(size, noise=0.15, dtype=np.float64, random_state=1000 * seed + part)
        yield X, np.where(y > 0, 1, -1)


def stream(console, seeds, n_rows, C):
    """Accuracy on clean rows along the stream, and what stays constant."""
    X_test, y_test = make_checkerboard(5_000, random_state=99)
    y_test = np.where(y_test > 0, 1, -1)
    out = table(
        f"Noisy checkerboard, 100 twins, C = {C:g}", "seed", "1e5", "1e6", "last ten", "best", "end", "KKT", "s"
    )
    lasts = []
    for seed in range(seeds):
        model = TVMClassifier(100, C, gamma=1 / (2 * 0.37))
        scores, violation, seconds = [], 0.0, 0.0
        for X, y in board_chunks(seed, n_rows):
            start = time.process_time()
            model.partial_fit(X, y, classes=[-1, 1])
            seconds += time.process_time() - start
            violation = max(violation, model.kkt_violation_)
            scores.append(100 * model.score(X_test, y_test))
        last = np.mean(scores[-10:])
        lasts.append(last)
        at = [scores[min(k, len(scores) - 1)] for k in (0, 9)]
        numbers = *at, last, np.max(scores), scores[-1]
        out.add_row(str(seed), *(f"{value:.2f}" for value in numbers), f"{violation:.0e}", f"{seconds:.1f}")
    console.print(out, f"mean of the last ten checkpoints: {np.mean(lasts):.2f}")


def speed(console):
    """Against BSGD on the same million rows, and exact learning against a batch solver."""
    X, y = (np.concatenate(parts) for parts in zip(*board_chunks(0, 1_000_000), strict=True))
    tvm = TVMClassifier(100, 100.0, gamma=1 / (2 * 0.37), shuffle=False)
    bsgd = BSGDClassifier(budget=100, gamma=1 / (2 * 0.37), shuffle=False)
    out = table("One pass over a million noisy checkerboard rows", "model", "CPU s", "examples/s")
    for name, model in (("BSGD merge", bsgd), ("TVM", tvm)):
        model.fit(X[:500], y[:500])
        start = time.process_time()
        model.fit(X, y)
        seconds = time.process_time() - start
        out.add_row(name, f"{seconds:.2f}", f"{len(y) / seconds:,.0f}")
    console.print(out)
    exact(console)


def exact(console):
    from frugalsvm import IncrementalSVC

    X, y = load("banana")
    X, y = np.asarray(X[:4_000], np.float64), np.asarray(y[:4_000])
    out = table(
        "4,000 banana rows one by one, gamma = 1",
        "C",
        "IncrementalSVC s",
        "SVC s",
        "ratio",
        "unlearn ms",
        "refit / unlearn",
    )
    for C in (1.0, 10.0, 100.0):
        model = IncrementalSVC(C=C, gamma=1.0)
        model.fit(X[:100], y[:100]).unlearn([0])
        seconds, batch = (
            _seconds(lambda model=model: model.fit(X, y)),
            _seconds(lambda C=C: SVC(C=C, gamma=1.0).fit(X, y)),
        )
        chosen = np.random.default_rng(0).permutation(4_000)[:200]
        each = _seconds(lambda model=model, chosen=chosen: [model.unlearn([k]) for k in chosen]) / 200
        out.add_row(
            f"{C:g}",
            f"{seconds:.2f}",
            f"{batch:.2f}",
            f"{seconds / batch:.2f}",
            f"{1000 * each:.2f}",
            f"{batch / each:.0f}",
        )
    console.print(out)


def _seconds(function):
    start = time.process_time()
    function()
    return time.process_time() - start


def picture(path, checkpoints=(100, 1_000, 10_000, 10_000_000)):
    """Figure 2: boundary, margins and twins after some numbers of examples."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 10), layout="constrained")
    model, seen = TVMClassifier(100, 100.0, gamma=1 / (2 * 0.37)), 0
    ticks = np.linspace(-1.8, 1.8, 200)
    grid = np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)
    chunks = board_chunks(0, max(checkpoints), size=min(100_000, max(checkpoints)))
    X, y = next(chunks)
    for place, stop in enumerate(checkpoints):
        while seen < stop:
            if len(y) == 0:
                X, y = next(chunks)
            take = min(stop - seen, len(y))
            model.partial_fit(X[:take], y[:take], classes=[-1, 1])
            X, y, seen = X[take:], y[take:], seen + take
        axes = figure.add_subplot(2, 2, place + 1, aspect="equal", title=f"{stop:,} examples")
        values = model.decision_function(grid).reshape(200, 200)
        axes.contourf(ticks, ticks, values, levels=[-1e9, 0, 1e9], colors=["#dce9f5", "#fbe3d6"])
        axes.contour(
            ticks, ticks, values, levels=[-1, 0, 1], colors=["#2b7bba", "black", "#d9731a"], linewidths=[1, 2, 1]
        )
        weights = model.twin_weights_
        share = weights[:, 1] / weights.sum(axis=1)
        sizes = 12 + 70 * np.sqrt(weights.sum(axis=1) / weights.sum(axis=1).max())
        axes.scatter(
            *model.twin_vectors_.T,
            c=share,
            cmap="coolwarm",
            vmin=0,
            vmax=1,
            s=sizes,
            edgecolors="black",
            linewidths=0.6,
        )
        axes.set(xlim=(-1.8, 1.8), ylim=(-1.8, 1.8), xticks=[], yticks=[])
    figure.savefig(path, dpi=110)


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tvm", description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", help=f"some of {', '.join(PARTS)} (default: all)")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--data", nargs="+", choices=PRINTED, default=list(PRINTED))
    parser.add_argument("--rows", type=int, default=10_000_000, help="length of the stream")
    parser.add_argument("--C", type=float, default=100.0, help="of the stream")
    parser.add_argument("--picture", help="write Figure 2 to this file")
    options = parser.parse_args()
    options.parts = options.parts or ([] if options.picture else PARTS)
    console = Console(width=None if sys.stdout.isatty() else 140)
    with threadpool_limits(1):
        for name, part in (("table3", table3), ("table4", table4), ("table5", table5)):
            if name in options.parts:
                part(console, options.seeds, options.data)
        if "stream" in options.parts:
            stream(console, options.seeds, options.rows, options.C)
        if "speed" in options.parts:
            speed(console)
        if options.picture:
            picture(options.picture)


if __name__ == "__main__":
    main()
