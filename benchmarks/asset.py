"""ASSET beside its peers: ``python -m benchmarks.asset PART ...``; its paper is in ``experiments/asset``.

======== =====================================================================================================
objective objectives over those of a converged reference, and for C from 0.1 to 10 000 on ijcnn1
speed    CPU seconds against `Nystroem` + `LinearSVC` with the same landmarks, and the kernel block over its limit
path     ten values of C against one
digits   ten classes of mnist with 1024 landmarks; ``--svc`` fits `SVC` too, which takes minutes
online   the stream of deformed digits with Fourier features, structured and not
file     5 million rows of 54 features from a file larger than the limit of memory
======== =====================================================================================================
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from sklearn.kernel_approximation import Nystroem
from sklearn.svm import SVC, LinearSVC
from threadpoolctl import threadpool_limits

from benchmarks.asset_data import CASES, split_of
from benchmarks.limit import best_of, nanoseconds_per_value
from benchmarks.printing import table
from experiments.asset.data import digit_groups
from frugalsvm import ASSETClassifier
from frugalsvm.core.kernels import RBF
from frugalsvm.datasets import load, make_deformed_mnist, stream_deformed_mnist
from frugalsvm.lowrank.nystroem import kernel_rows, new_nystroem

SETS = ("a9a", "mnist", "ijcnn1", "covtype")


def timed(model, X, y):
    """A fitted model and the CPU seconds that it took."""
    start = time.process_time()
    model.fit(X, y)
    return model, time.process_time() - start


def warm_up(model, X, y):
    """Compile what a model needs."""
    type(model)(**{**model.get_params(), "n_components": 16, "max_iter": 2}).fit(X[:2000], y[:2000])


def asset_for(name, seed, n_components=512, **settings):
    case = CASES[name]
    return ASSETClassifier(
        **{"n_components": n_components, "C": case.C, "gamma": case.gamma, "random_state": seed, **settings}
    )


def show_objective(console, options):
    """The reference is the same solver with tolerance 1e-4 times that of the default; its bound says how good it is."""
    shown = table("Objectives", "data", "C", "objective", "reference", "above it %", "certified: reference within %")
    cases = [(name, CASES[name].C) for name in options.data] + [("ijcnn1", C) for C in 10.0 ** np.arange(-1, 5)]
    for name, C in cases:
        X, y, *_ = split_of(name, 0)
        warm_up(asset_for(name, 0), X, y)
        model = asset_for(name, 0, C=C).fit(X, y)
        reference = asset_for(name, 0, C=C, tol=1e-4, max_iter=200).fit(X, y)
        best = min(reference.objective_, model.objective_)
        shown.add_row(
            name,
            f"{C:g}",
            f"{model.objective_:.5f}",
            f"{best:.5f}",
            f"{100 * (model.objective_ / best - 1):.3f}",
            f"{100 * reference.suboptimality_bound_ / best:.2f}",
        )
    console.print(shown)


def show_speed(console, options):
    shown = table(
        "CPU seconds, s = 512",
        "data",
        "frugalsvm",
        "error %",
        "Nystroem + LinearSVC",
        "error %",
        "times",
        "block/limit",
    )
    for name in (*options.data, "checkerboard"):
        X, y, X_test, y_test = split_of(name, 0)
        case = CASES[name]
        warm_up(asset_for(name, 0), X, y)
        ours, seconds = min((timed(asset_for(name, seed), X, y) for seed in range(options.seeds)), key=lambda r: r[1])
        start = time.process_time()
        # on the same landmarks, so that errors can be compared
        features = Nystroem(gamma=case.gamma, n_components=len(ours.landmarks_)).fit(ours.landmarks_)
        peer = LinearSVC(C=case.C, loss="hinge", max_iter=1000, random_state=0).fit(features.transform(X), y)
        peer_seconds = time.process_time() - start
        peer_error = 1 - peer.score(features.transform(X_test), y_test)
        shown.add_row(
            name,
            f"{seconds:.2f}",
            f"{100 * (1 - ours.score(X_test, y_test)):.2f}",
            f"{peer_seconds:.1f}{'' if peer.n_iter_ < 1000 else ' (not converged)'}",
            f"{100 * peer_error:.2f}",
            f"{peer_seconds / seconds:.1f}",
            f"{block_over_limit(X, case.gamma):.2f}",
        )
    console.print(shown)


def block_over_limit(X, gamma):
    """Time of a block of kernel values with 512 landmarks over that of its matrix product and exponentials."""
    X = np.ascontiguousarray(X[:50_000])
    nystroem = new_nystroem(RBF(gamma), X[:512])
    out = np.empty((len(X), 512), np.float32)
    ours = best_of(lambda: kernel_rows(nystroem, X, out)) / out.size * 1e9
    return ours / nanoseconds_per_value(RBF(gamma), X, nystroem.landmarks)


def show_path(console, options):
    shown = table(
        "Ten values of C, from C / 100 to 10 C", "data", "one fit s", "path s", "times", "chosen C", "error %"
    )
    for name in options.data:
        X, y, X_test, y_test = split_of(name, 0)
        C = CASES[name].C
        warm_up(asset_for(name, 0), X, y)
        _, one = timed(asset_for(name, 0), X, y)
        path, ten = timed(asset_for(name, 0, C=np.geomspace(C / 100, 10 * C, 10).tolist()), X, y)
        shown.add_row(
            name,
            f"{one:.2f}",
            f"{ten:.2f}",
            f"{ten / one:.2f}",
            f"{path.C_:g}",
            f"{100 * (1 - path.score(X_test, y_test)):.2f}",
        )
    console.print(shown)


def show_digits(console, options):
    (X, y), (X_test, y_test) = (load("mnist", split) for split in ("train", "test"))
    X, X_test = X.astype(np.float32) / 255, X_test.astype(np.float32) / 255
    shown = table("mnist, 10 classes, C = 10, gamma = 0.02", "data", "fit s", "predict s", "error %")
    model = ASSETClassifier(n_components=1024, C=10.0, gamma=0.02, random_state=0)
    warm_up(model, X, y)
    peers = {"frugalsvm, s = 1024": model}
    if options.svc:
        peers["SVC"] = SVC(C=10.0, gamma=0.02, cache_size=2000)
    for name, peer in peers.items():
        peer, seconds = timed(peer, X, y)
        start = time.process_time()
        error = 100 * (1 - peer.score(X_test, y_test))
        shown.add_row(name, f"{seconds:.1f}", f"{time.process_time() - start:.2f}", f"{error:.2f}")
    console.print(shown)


def show_online(console, options):
    """Test digits are deformed too, and come from the 10 000 real digits that no training digit comes from."""
    X_test, y_test = make_deformed_mnist(20_000, split="test", random_state=1)
    y_test = digit_groups(y_test)
    shown = table("Deformed digits, 0-4 against 5-9", "data", "d", "structured", "error %", "examples/s")
    for d in (1024, 4096):
        for structured in (True, False) if d == 1024 else (True,):
            model = ASSETClassifier(
                "fourier", d, solver="asset", alpha=1 / (100 * options.rows), gamma=0.01, structured=structured,
                fit_intercept=False, random_state=0,
            )  # fmt: skip
            seconds, errors, seen = 0.0, [], 0
            for X, y in stream_deformed_mnist(options.rows, chunk_size=10_000, random_state=0):
                start = time.process_time()
                model.partial_fit(X, digit_groups(y), classes=[-1, 1])
                seconds += time.process_time() - start
                seen += len(y)
                if seen > 0.95 * options.rows:
                    errors.append(100 * (1 - model.score(X_test, y_test)))
            shown.add_row(
                f"{seen:,} examples", str(d), str(structured), f"{np.mean(errors):.2f}", f"{seen / seconds:,.0f}"
            )
    console.print(shown)


_FROM_FILE = """
import json, sys, time
import numpy as np
from frugalsvm import ASSETClassifier
from frugalsvm.compiling.memory import peak_megabytes

path, memory, n_rows = sys.argv[1], sys.argv[2], int(sys.argv[3])
record = np.dtype([("X", "<f4", 54), ("y", "i1")])

def batches():
    with open(path, "rb") as file:
        while len(chunk := np.fromfile(file, record, 20_000)):
            yield np.ascontiguousarray(chunk["X"]), chunk["y"]

small = np.fromfile(path, record, 20_000)
ASSETClassifier(C=3.0, gamma=1.0, n_components=64, memory="8MB").fit_batches([(small["X"].copy(), small["y"])])
before = peak_megabytes()
start = time.process_time()
model = ASSETClassifier(C=3.0, gamma=1.0, memory=memory, random_state=0).fit_batches(batches)
seconds = time.process_time() - start
error = 100 * (1 - model.score(small["X"], small["y"]))
print(json.dumps([before, peak_megabytes(), seconds, model.n_iter_, error]))
"""


def show_file(console, options):
    """Rows are those of covtype again and again, each time with other noise."""
    X, y, *_ = split_of("covtype", 0)
    rng = np.random.default_rng(0)
    record = np.dtype([("X", "<f4", 54), ("y", "i1")])
    n_rows = 5 * options.rows
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.bin"
        with path.open("wb") as file:
            for _ in range(0, n_rows, 50_000):
                index = rng.integers(len(y), size=50_000)
                chunk = np.empty(50_000, record)
                chunk["X"] = X[index] + rng.normal(0, 0.01, (50_000, 54)).astype(np.float32)
                chunk["y"] = y[index]
                chunk.tofile(file)
        size = path.stat().st_size / 2**20
        command = [sys.executable, "-c", _FROM_FILE, str(path), options.memory, str(n_rows)]
        result = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    before, after, seconds, n_iter, error = json.loads(result)
    console.print(
        f"{n_rows:,} rows, file of {size:.0f} MB, memory={options.memory!r}: peak {before:.0f} MB before and "
        f"{after:.0f} MB after fitting (+{after - before:.0f} MB), {seconds:.0f} CPU s, {n_iter} steps, "
        f"error on the first rows {error:.1f} %"
    )


PARTS = {
    "objective": show_objective,
    "speed": show_speed,
    "path": show_path,
    "digits": show_digits,
    "online": show_online,
    "file": show_file,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="+", choices=PARTS)
    parser.add_argument("--data", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=1_000_000, help="length of the stream, and a fifth of the file")
    parser.add_argument("--memory", default="512MB", help="limit of memory for rows from a file")
    parser.add_argument("--svc", action="store_true", help="fit SVC on all digits as well")
    options = parser.parse_args()
    console = Console(width=140)
    with threadpool_limits(1):
        for part in options.parts:
            PARTS[part](console, options)


if __name__ == "__main__":
    main()
