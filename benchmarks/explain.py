"""``python -m benchmarks.explain``: exact Shapley values, how exact, how fast, how they grow, and what noise gets.

One thread, CPU time, the best of some runs. Peers are measured where they are installed: shapiq (exact values of
product kernels) and shap (KernelExplainer). Noise: 20 columns of random numbers beside those of a9a and letter, a model
with factors for its features, shares of 500 training rows. Its size and C are fixed; test rows are not loaded.
"""

import argparse
import itertools
import sys
import time
import warnings
from math import factorial

import numpy as np
from rich.console import Console

from benchmarks.printing import table
from frugalsvm import ASSETClassifier
from frugalsvm.core.kernels import RBF
from frugalsvm.core.quadrature import new_rules
from frugalsvm.core.shapley import add_shapley_values, new_game, new_room
from frugalsvm.datasets import load
from frugalsvm.explain import shapley_values
from frugalsvm.export import PlainModel

CASES = ((100, 22, 1 / 22), (100, 22, 0.5), (500, 123, 0.01), (500, 123, 0.5))
REPEATS = 5
N_NOISE = 20


def machine(n_vectors, n_features, gamma, n_outputs=1, seed=0):
    """A random expansion, and rows for it."""
    rng = np.random.default_rng(seed)
    vectors, coefficients = rng.normal(size=(n_vectors, n_features)), rng.normal(size=(n_outputs, n_vectors))
    model = PlainModel("rbf", vectors, coefficients, np.zeros(n_outputs), "value", gamma=gamma)
    return model, rng.normal(size=(400, n_features))


def cpu_seconds(function, repeats=REPEATS):
    """CPU time of the fastest of some calls, after one that compiles."""
    function()
    best = np.inf
    for _ in range(repeats):
        start = time.process_time()
        function()
        best = min(best, time.process_time() - start)
    return best


def seconds_per_row(n_vectors, n_features, gamma, n_rows, n_background=0):
    """Of the compiled values alone."""
    model, X = machine(n_vectors, n_features, gamma)
    rows, background = X[:n_rows], X[300 : 300 + n_background]
    rules, game = new_rules(n_features, 1e-12), new_game(model.vectors, model.coefficients, np.arange(n_features + 1))
    room = new_room(n_features, n_rows, n_background)
    out = np.zeros((n_rows, 1, n_features))
    return cpu_seconds(lambda: add_shapley_values(RBF(gamma), rows, background, rules, game, room, out)) / n_rows


def speed(console):
    made = table("Rows a second on one core, without background rows", "vectors", "features", "gamma", "rows/s")
    for n_vectors, n_features, gamma in CASES:
        rate = 1.0 / seconds_per_row(n_vectors, n_features, gamma, 200 if n_features < 100 else 40)
        made.add_row(f"{n_vectors}", f"{n_features}", f"{gamma:.3g}", f"{rate:,.0f}")
    console.print(made)
    ratios = []
    for n_vectors, n_features, gamma in CASES[::2]:
        n_rows = 32 if n_features < 100 else 8
        pair = [seconds_per_row(n_vectors, n_features, gamma, n_rows, n) for n in (100, 0)]
        ratios.append(pair[0] / pair[1])
    console.print("100 background rows take", ", ".join(f"{ratio:.0f}" for ratio in ratios), "times as long")


def growth(console):
    """Exponents, with the same sum of gaps for all numbers of features."""
    vectors = (125, 250, 500, 1000, 2000)
    of_vectors = [seconds_per_row(n, 32, 1 / 32, 50) for n in vectors]
    features = (16, 32, 64, 128, 256, 512)
    of_features = [seconds_per_row(200, n, 1 / n, 30) for n in features]
    narrow = [seconds_per_row(200, n, 0.5, 30) for n in features]
    made = table("Exponents of growth", "in vectors", "in features (gamma 1/d)", "in features (gamma 0.5)")
    pairs = ((vectors, of_vectors), (features, of_features), (features, narrow))
    made.add_row(*(f"{np.polyfit(np.log(n), np.log(seconds), 1)[0]:.2f}" for n, seconds in pairs))
    console.print(made)


def by_subsets(own, others, coefficients):
    """Values of one row by their definition, from the values of all 2^d sets of features."""
    d = own.shape[1]
    sets = np.array(list(itertools.product([False, True], repeat=d)))
    values = np.array([(np.where(each, own, others).prod(axis=2) @ coefficients.T).mean(axis=0) for each in sets])
    sizes, numbers = sets.sum(axis=1), sets @ (1 << np.arange(d)[::-1])
    place = np.argsort(numbers)
    out = np.zeros((d, len(coefficients)))
    for j in range(d):
        without = np.flatnonzero(~sets[:, j])
        with_j = place[numbers[without] + (1 << (d - 1 - j))]
        weights = np.array([factorial(s) * factorial(d - 1 - s) / factorial(d) for s in sizes[without]])
        out[j] = weights @ (values[with_j] - values[without])
    return out


def exactness(console):
    made = table("Largest error, relative to the largest value", "compared with", "features", "error")
    worst = 0.0
    for seed, d in enumerate((1, 3, 6, 8, 10)):
        model, X = machine(30, d, 0.4, n_outputs=3, seed=seed)
        for background in (None, X[50:53]):
            found = shapley_values(model, X[:3], background).values
            own = np.exp(-0.4 * (X[:3, None] - model.vectors) ** 2)
            others = np.ones((1, 30, d))
            if background is not None:
                others = np.exp(-0.4 * (background[:, None] - model.vectors) ** 2)
            expected = np.array([by_subsets(each, others, model.coefficients) for each in own])
            worst = max(worst, np.abs(found - expected).max() / np.abs(expected).max())
    made.add_row("all subsets", "up to 10", f"{worst:.1e}")
    for d in (22, 123, 500):
        model, X = machine(200, d, 1 / d)
        found = shapley_values(model, X[:20], background=None)
        error = np.abs(found.predictions - model.values(X[:20])[:, 0]).max()
        made.add_row("sums (absolute)", f"{d}", f"{error:.1e}")
    for d in (10, 30, 60):
        error = shapiq_error(d)
        made.add_row("shapiq", f"{d}", "not installed" if error is None else f"{error:.1e}")
    console.print(made)


def shapiq_error(d):
    """The largest difference from shapiq's exact values of a support vector machine with an RBF kernel."""
    try:
        from shapiq.explainer.product_kernel import ProductKernelExplainer
    except ImportError:
        return None
    from sklearn.svm import SVR

    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, d))
    model = SVR(kernel="rbf", gamma=1 / d, C=10.0).fit(X, np.sin(X[:, 0]) + X[:, 1])
    plain = PlainModel("rbf", model.support_vectors_, model.dual_coef_, model.intercept_, "value", gamma=1 / d)
    found = shapley_values(plain, X[:5], background=None).values
    explainer = ProductKernelExplainer(model=model, max_order=1, index="SV")
    expected = np.array([[each[(j,)] for j in range(d)] for each in map(explainer.explain, X[:5])])
    return np.abs(found - expected).max() / np.abs(expected).max()


def against_shap(console):
    try:
        import shap
    except ImportError:
        console.print("shap is not installed: no comparison with its KernelExplainer.")
        return
    model, X = machine(100, 22, 1 / 22)
    background = X[300:400]
    explainer = shap.KernelExplainer(lambda rows: model.values(rows)[:, 0], background)
    own = cpu_seconds(lambda: shapley_values(model, X[:100], background)) / 100
    found = shapley_values(model, X[:2], background).values
    made = table(
        "shap's KernelExplainer: 100 vectors, 22 features, 100 background rows", "samples", "s/row", "ratio", "off by"
    )
    for n_samples in ("auto", 8192):
        start = time.process_time()
        # Its default keeps ten features and drops the others.
        theirs = explainer.shap_values(X[:2], silent=True, l1_reg=False, nsamples=n_samples)
        peer = (time.process_time() - start) / 2
        difference = np.abs(theirs - found).max() / np.abs(found).max()
        made.add_row(f"{n_samples}", f"{peer:.2f}", f"{peer / own:,.0f}", f"{100 * difference:.2f} %")
    console.print(made)
    console.print(f"Exact values take {1e3 * own:.2f} ms a row.")


def noise_shares(name: str, standardized: bool) -> list[float]:
    """Shares of the noise with background rows, without, and in the metric."""
    X, y = load(name, "train")
    X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, np.float64)
    rng = np.random.default_rng(0)
    order = rng.permutation(len(X))
    X, y = X[order], y[order]
    if standardized:
        spread = X.std(axis=0)
        X = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    X = np.column_stack([X, rng.normal(size=(len(X), N_NOISE))])
    model = ASSETClassifier(n_components=512, metric="diag", C=1.0, random_state=0).fit(X, y)
    shares = []
    for background in (X[500:600], None):
        found = shapley_values(model, X[:500], background)
        sizes = found.importances if found.values.ndim == 2 else found.importances.sum(axis=1)
        shares.append(sizes[-N_NOISE:].sum() / sizes.sum())
    return [*shares, model.feature_importances_[-N_NOISE:].sum()]


def usefulness(console):
    made = table(
        f"What {N_NOISE} columns of noise get",
        "data",
        "columns",
        "100 background rows",
        "without",
        "share in the metric",
    )
    for name, standardized in (("a9a", True), ("a9a", False), ("letter", True)):
        shares = noise_shares(name, standardized)
        columns = "standardized" if standardized else "as they are"
        made.add_row(name, columns, *(f"{100 * share:.2f} %" for share in shares))
    console.print(made)


PARTS = {
    "exactness": exactness,
    "speed": speed,
    "growth": growth,
    "shap": against_shap,
    "noise": usefulness,
}


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.explain", description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="which parts to run (default: all)")
    chosen = parser.parse_args(arguments).parts or list(PARTS)
    console = Console()
    warnings.filterwarnings("ignore", category=UserWarning)
    for name in chosen:
        PARTS[name](console)
    return 0


if __name__ == "__main__":
    sys.exit(main())
