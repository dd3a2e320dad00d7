"""``python -m benchmarks.maps``: feature maps against scikit-learn's, and a machine for fingerprints.

CPU seconds on one thread. Maps have 512 landmarks each, and both get the same rows. Fingerprints are rows of 2048 bits,
of which about 50 are set, with classes by patterns of bits.
"""

import argparse
import time

import numpy as np
from scipy.sparse import csr_array
from sklearn.kernel_approximation import Nystroem, RBFSampler
from threadpoolctl import threadpool_limits

from frugalsvm import ASSETClassifier, FourierMap, NystroemMap
from frugalsvm.datasets import load

N_COMPONENTS, N_TRIES = 512, 3
PATTERNS, BITS, SET_BITS = 200, 2048, 50


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.maps", description=__doc__)
    parser.add_argument("--sets", nargs="*", default=["a9a", "ijcnn1"], help="data sets for the maps")
    parser.add_argument("--fingerprints", type=int, default=150_000, metavar="N", help="0 leaves them out")
    options = parser.parse_args()
    with threadpool_limits(1):
        for name in options.sets:
            _compare_maps(name, np.asarray(load(name)[0], np.float64))
        if options.fingerprints:
            _fit_fingerprints(options.fingerprints)


def _compare_maps(name, X):
    gamma = 1.0 / X.var(axis=0).sum()
    pairs = {
        "Nystroem": (NystroemMap(N_COMPONENTS, gamma=gamma), Nystroem(n_components=N_COMPONENTS, gamma=gamma)),
        "Fourier": (FourierMap(N_COMPONENTS, gamma=gamma), RBFSampler(n_components=N_COMPONENTS, gamma=gamma)),
    }
    for kind, (ours, theirs) in pairs.items():
        for each in (ours, theirs):
            each.set_params(random_state=0).fit(X[:5000]).transform(X[:2000])
        times = np.array([[_seconds(each, X) for each in (ours, theirs)] for _ in range(N_TRIES)]).min(axis=0)
        shown = f"{name}, {kind}, {X.shape[0]:,} rows: {times[0]:.2f} s, scikit-learn {times[1]:.2f} s"
        print(f"{shown}: {times[1] / times[0]:.1f} times as fast", flush=True)


def _seconds(feature_map, X):
    start = time.process_time()
    feature_map.transform(X)
    return time.process_time() - start


def fingerprints(n_rows, seed=0):
    """Sparse rows of bits, each mostly those of one of some patterns, and a class for each pattern."""
    rng = np.random.default_rng(seed)
    patterns = rng.random((PATTERNS, BITS)) < SET_BITS / BITS
    classes = rng.integers(2, size=PATTERNS)
    own = rng.integers(PATTERNS, size=n_rows)
    blocks = []
    for start in range(0, n_rows, 10_000):
        rows = patterns[own[start : start + 10_000]]
        rows = np.where(rng.random(rows.shape) < 0.4, rng.random(rows.shape) < SET_BITS / BITS, rows)
        blocks.append(csr_array(rows.astype(np.float32)))
    data, lengths = np.concatenate([each.data for each in blocks]), np.concatenate([np.diff(e.indptr) for e in blocks])
    indices = np.concatenate([each.indices for each in blocks])
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    return csr_array((data, indices, indptr), shape=(n_rows, BITS)), classes[own]


def _fit_fingerprints(n_rows):
    X, y = fingerprints(n_rows + n_rows // 10)
    model = ASSETClassifier(n_components=1024, kernel="tanimoto", C=1.0, random_state=0)
    model.fit(X[:3000], y[:3000])  # compiles
    start = time.process_time()
    model.fit(X[:n_rows], y[:n_rows])
    seconds = time.process_time() - start
    accuracy = model.score(X[n_rows:], y[n_rows:])
    print(f"tanimoto, {n_rows:,} fingerprints of {BITS} bits, 1024 landmarks: {seconds:.1f} s, accuracy {accuracy:.3f}")


if __name__ == "__main__":
    main()
