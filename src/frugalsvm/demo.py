"""A million noisy examples through a model of a hundred support vectors: ``python -m frugalsvm.demo``.

Prints accuracy, speed, model size and peak memory beside an `sklearn.svm.SVC` that gets about the same time, and
saves a picture of the decision boundary.
"""

import argparse
import shutil
import sys
import time
import warnings
from pathlib import Path

import numpy as np

from frugalsvm.compiling.memory import peak_megabytes

N_EXAMPLES = 1_000_000
CHUNK = 64_000
NOISE = 0.15
GAMMA = 3.0


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m frugalsvm.demo", description=__doc__.splitlines()[0])
    parser.add_argument("--examples", type=int, default=N_EXAMPLES, help="how many to stream (default: %(default)s)")
    parser.add_argument("--budget", type=int, default=100, help="support vectors (default: %(default)s)")
    parser.add_argument("--output", type=Path, default=Path("output"), help="folder for the picture")
    options = parser.parse_args(arguments)
    try:
        from rich.console import Console
    except ImportError:
        raise SystemExit("The demo shows its progress with rich: pip install 'frugalsvm[cli,plots]'") from None

    from frugalsvm import BSGDClassifier
    from frugalsvm.datasets import make_checkerboard

    console = Console()
    # The test rows carry no noise: 100 % can be reached, although 15 % of the labels that are learned are wrong.
    X_test, y_test = make_checkerboard(50_000, random_state=1)
    model = BSGDClassifier(budget=options.budget, gamma=GAMMA, alpha=1e-3)
    console.print("Compiling (the first time only) ...")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a model of ten vectors and a hundred rows is a poor one
        BSGDClassifier(budget=10, gamma=GAMMA).fit(X_test[:100], y_test[:100]).predict(X_test[:10])

    seconds = _train(console, model, options.examples)
    rival, rival_rows, rival_seconds = _svc_in_about(seconds)
    console.print(_table(model, rival, options.examples, seconds, rival_rows, rival_seconds, X_test, y_test))
    console.print(
        f"15 % of the labels learned from were wrong. Keeping to {options.budget} support vectors (SVs) cost "
        f"{model.gradient_error_:.3f} of a gradient step per example. Peak memory: {peak_megabytes():.0f} MB."
    )
    _picture(console, model, X_test, options.output / "demo.png")
    console.print("Next, on a table of yours (CSV, LIBSVM text, Parquet), in one or two minutes:")
    console.print(f"  {_command()} train table.csv -o model.frugal", soft_wrap=True, highlight=False)


def _command():
    """The command as it can be typed here: with its folder where the shell would not find it."""
    installed = Path(sys.executable).with_name("frugalsvm")
    if shutil.which("frugalsvm") or not installed.exists():
        return "frugalsvm"
    return str(installed.relative_to(Path.cwd())) if installed.is_relative_to(Path.cwd()) else str(installed)


def _train(console, model, n_examples):
    """Stream the examples through the model; returns the seconds spent learning."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from frugalsvm.datasets import stream

    columns = (BarColumn(20), TextColumn("{task.fields[shown]}"), TimeRemainingColumn(compact=True))
    spent, seen, correct = 0.0, 0, 0
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("", total=n_examples, shown="")
        for X, y in stream("noisy_checkerboard", n_examples, chunk_size=CHUNK, random_state=0, noise=NOISE):
            if seen:  # test, then train
                correct += int(np.count_nonzero(model.predict(X) == y))
            start = time.perf_counter()
            model.partial_fit(X, y)
            spent += time.perf_counter() - start
            seen += len(X)
            accuracy = correct / max(seen - CHUNK, 1)
            shown = f"{seen:,} learned, {seen / spent:,.0f}/s, {accuracy:.1%} correct before learning"
            progress.update(task, completed=seen, shown=shown)
    return spent


def _svc_in_about(seconds):
    """An SVC trained on as many rows as it manages in about a number of seconds."""
    from sklearn.svm import SVC

    from frugalsvm.datasets import make_checkerboard

    n_rows = 1000
    while True:
        X, y = make_checkerboard(n_rows, noise=NOISE, random_state=0)
        start = time.perf_counter()
        svc = SVC(C=10.0, gamma=GAMMA).fit(X, y)
        taken = time.perf_counter() - start
        if taken * 3 > seconds or n_rows > 100_000:
            return svc, n_rows, taken
        n_rows *= 2


def _table(model, rival, n_examples, seconds, rival_rows, rival_seconds, X_test, y_test):
    from rich.table import Table

    table = Table(title="Noisy checkerboard, tested on clean labels", title_justify="left")
    for heading in ("", "examples", "seconds", "examples/s", "accuracy", "SVs", "model"):
        table.add_column(heading, justify="left" if not heading else "right", no_wrap=True)
    size = rival.support_vectors_.nbytes + rival.dual_coef_.nbytes
    rows = (
        ("frugalsvm", model, n_examples, seconds, model.model_bytes_),
        ("sklearn SVC", rival, rival_rows, rival_seconds, size),
    )
    for name, fitted, learned, spent, n_bytes in rows:
        table.add_row(
            name,
            f"{learned:,}",
            f"{spent:.2f}",
            f"{learned / spent:,.0f}",
            f"{fitted.score(X_test, y_test):.2%}",
            f"{len(fitted.support_vectors_):,}",
            f"{n_bytes / 1024:,.1f} KB",
        )
    return table


def _picture(console, model, X, path):
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:
        console.print("No picture: matplotlib is missing (pip install 'frugalsvm[plots]').")
        return
    from frugalsvm.plots import DecisionBoundaryDisplay

    _, axes = pyplot.subplots(figsize=(6.4, 6), layout="constrained")
    shown = DecisionBoundaryDisplay.from_estimator(
        model, X, grid_resolution=300, plot_points=0, feature_names=("x", "y"), ax=axes
    )
    axes.set(title=f"{model.t_:,} noisy examples, {len(model.support_vectors_)} support vectors", aspect="equal")
    path.parent.mkdir(parents=True, exist_ok=True)
    shown.figure_.savefig(path, dpi=120)
    pyplot.close(shown.figure_)
    console.print(f"The decision boundary and its support vectors are in {path}")


if __name__ == "__main__":
    main()
