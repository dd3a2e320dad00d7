"""Makes small model files, one for each estimator, part and pipeline that files can hold, for tests that keep them.

Run it with the code of a release whose files are to stay readable, into a folder of that name; never for an old one:

python tests/persist/make_old_files.py tests/persist/data/0.1

Each file has its own answers in its metadata: rows, and what the model says of them before and after learning them.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import RBFSampler
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from frugalsvm import (
    ASSETClassifier,
    ASSETRegressor,
    BPAClassifier,
    BSGDClassifier,
    BudgetedPerceptron,
    IncrementalSVC,
    LASVMClassifier,
    LocalSVC,
    LocalSVR,
    TrackingSVC,
    TVMClassifier,
)
from frugalsvm.persist import save, save_checkpoint
from frugalsvm.pipelines import ColumnEncoder, MissingValueFiller, StreamingScaler, StreamPipeline

SEED = {"gamma": 0.5, "random_state": 0}
CACHED = {**SEED, "cache_size": 0.02}
BSGD = BSGDClassifier(budget=8, **SEED)
POLYNOMIAL = {"kernel": "poly", "degree": 2}

ONLINE = {
    **{f"bsgd-{name}": BSGDClassifier(maintenance=name, budget=8, **SEED) for name in ("merge", "remove", "project")},
    "bsgd-unlimited": BSGDClassifier(budget=None, **SEED),
    "bsgd-averaged": BSGDClassifier(budget=8, average=True, **SEED),
    "bsgd-poly": BSGDClassifier(maintenance="remove", budget=8, **POLYNOMIAL, **SEED),
    "bsgd-linear": BSGDClassifier(maintenance="project", budget=8, kernel="linear", random_state=0),
    "bsgd-growing": BSGDClassifier(budget=8, new_classes="grow", **SEED),
    "norma": BSGDClassifier("norma", budget=8, **SEED),
    "bmp": BSGDClassifier("perceptron", budget=8, **SEED),
    **{
        f"perceptron-{name.replace('+', 'p')}": BudgetedPerceptron(name, 8, **SEED)
        for name in ("stop", "random", "forgetron", "budget", "tighter", "tightest", "projectron", "projectron++")
    },
    "perceptron-silk": BudgetedPerceptron("silk", 8, margin=1, **SEED),
    "perceptron-unlimited": BudgetedPerceptron("stop", None, **SEED),
    **{f"bpa-{name}": BPAClassifier(name, budget=8, **SEED) for name in ("simple", "nn", "projecting")},
    **{f"lasvm-{name}": LASVMClassifier(name, **CACHED) for name in ("g", "nc", "i", "lasvm")},
    "tracking": TrackingSVC(**CACHED),
    "tracking-cached": TrackingSVC(3, average=False, cached=True, **CACHED),
    "incremental": IncrementalSVC(gamma=0.5, cache_size=0.02),
    "tvm": TVMClassifier(8, **SEED),
    "asset-stream": ASSETClassifier(n_components=8, **SEED),
    "asset-waiting": ASSETClassifier(n_components=99, **SEED),
    "asset-strong": ASSETClassifier(n_components=8, solver="asset*", **SEED),
    "asset-stream-squared": ASSETClassifier(n_components=8, loss="squared_hinge", **SEED),
    "regressor-stream": ASSETRegressor(n_components=8, **SEED),
    "regressor-stream-squared": ASSETRegressor(n_components=8, loss="squared_epsilon_insensitive", **SEED),
    "scaler-stream": StreamingScaler(),
    "pipeline": StreamPipeline(BSGD, warmup_rows=20, calibrate=True),
    "pipeline-held": StreamPipeline(BSGD, warmup_rows=500),
    "pipeline-map": StreamPipeline(BSGD, warmup_rows=20, feature_map=RBFSampler(n_components=4, random_state=0)),
    "pipeline-filled": StreamPipeline(BSGD, warmup_rows=20, impute="median"),
    "pipeline-standard": StreamPipeline(BSGD, warmup_rows=20, scale=StreamingScaler("standard")),
    "pipeline-regressor": StreamPipeline(ASSETRegressor(n_components=8, **SEED), warmup_rows=20),
    "pipeline-text": StreamPipeline(BSGD, warmup_rows=20, encoder=ColumnEncoder()),
    "pipeline-hashed": StreamPipeline(BSGD, warmup_rows=20, encoder=ColumnEncoder("hash", n_features=8)),
    "far": BSGD,  # from zero: rows are relative to an origin
    "far-lasvm": LASVMClassifier(**CACHED),
}
FITTED = {
    "bsgd-frozen": BSGDClassifier(budget=8, average="post", **SEED),
    "bsgd-ball": BSGDClassifier(budget=8, radius=1.0, **SEED),
    "lasvm-fitted": LASVMClassifier(**CACHED),
    "asset": ASSETClassifier(n_components=8, **SEED),
    "asset-squared": ASSETClassifier(n_components=8, loss="squared_hinge", **SEED),
    "asset-poly": ASSETClassifier(n_components=8, **POLYNOMIAL, **SEED),
    "asset-fourier": ASSETClassifier("fourier", 8, structured=False, **SEED),
    "asset-structured": ASSETClassifier("fourier", 8, structured=True, **SEED),
    "asset-paper": ASSETClassifier(n_components=8, solver="asset", **SEED),
    "asset-path": ASSETClassifier(n_components=8, C=[0.1, 1.0, 10.0], **SEED),
    "asset-device": ASSETClassifier(n_components=8, **SEED),
    "regressor": ASSETRegressor(n_components=8, **SEED),
    "regressor-squared": ASSETRegressor(n_components=8, loss="squared_epsilon_insensitive", **SEED),
    "far-asset": ASSETClassifier(n_components=8, **SEED),
    "local": LocalSVC(cell_size=9, n_trees=2, **SEED),
    "far-local": LocalSVC(cell_size=9, **SEED),
    "regressor-local": LocalSVR(cell_size=9, **SEED),
    "sklearn": make_pipeline(SimpleImputer(), StandardScaler(), BSGD),
}
TRANSFORMERS = {
    "scaler": StreamingScaler(),
    "scaler-standard": StreamingScaler("standard"),
    "filler": MissingValueFiller(),
}
SEVERAL = (
    "bsgd-merge", "bsgd-averaged", "bsgd-project", "perceptron-random", "perceptron-projectronpp",
    "perceptron-forgetron", "bpa-nn", "lasvm-g", "lasvm-lasvm", "tracking", "incremental", "tvm",
    "asset-stream", "pipeline",
)  # fmt: skip
FOR_PREDICTION = ("bsgd-merge", "bpa-nn", "lasvm-g", "tracking", "incremental", "tvm", "pipeline")


def rows(name, n_classes):
    """48 rows in three features that any machine can make again exactly, with labels or targets."""
    X = np.arange(144).reshape(48, 3) * 37 % 149 / 32.0 - 2.0
    y = (np.arange(48) * 5 + (X[:, 0] > X[:, 1])) % n_classes
    X[:, 0] += 2.0 * y
    if name.startswith("far"):
        return (X + 2.0**13).astype(np.float32), y
    if name == "pipeline-filled":
        X[::7, 1] = np.nan
    return X, X[:, 2] if "regressor" in name else y


def given(name, X, y):
    """Rows as a model of that name takes them."""
    if name in ("pipeline-text", "pipeline-hashed"):
        return X, {"color": np.array(["red", "green", "blue"], object)[np.asarray(y, int)]}
    return X


def answers(model, X):
    """Scores, predictions of a regressor, or transformed rows."""
    for method in ("decision_function", "predict", "transform"):
        if hasattr(model, method):
            return np.asarray(getattr(model, method)(X), float)
    raise TypeError(type(model))


def write(folder, name, n_classes=2, **options):
    X, y = rows(name, n_classes)
    model = clone({**ONLINE, **FITTED, **TRANSFORMERS}[name])
    learn = model.partial_fit if name in ONLINE else model.fit
    first, rest = slice(36), slice(36, 48)
    if name == "asset-device":
        import torch

        learn(torch.asarray(X[first], dtype=torch.float32), torch.asarray(y[first]))
    else:
        learn(given(name, X[first], y[first]), y[first])
    probe = given(name, X[rest], y[rest])
    told = {"name": name, "rows": X[rest].tolist(), "targets": y[rest].tolist(), "dtype": X.dtype.str}
    waits = name == "pipeline-held"
    told["answers"] = None if waits else answers(model, probe).tolist()
    suffix = "".join(f"-{key}" for key, value in options.items() if value) + ("-3" if n_classes == 3 else "")
    path = folder / f"{name}{suffix}.frugal"
    if name in ONLINE and not options.get("for_prediction"):
        later = clone(model).partial_fit(given(name, X[first], y[first]), y[first]).partial_fit(probe, y[rest])
        told["later"] = None if waits else answers(later, probe).tolist()
    if options.pop("checkpoint", False):
        save_checkpoint(model, path, metadata=told)
    else:
        save(model, path, metadata=told, **options)


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    for name in (*ONLINE, *FITTED, *TRANSFORMERS):
        write(folder, name)
    for name in SEVERAL:
        write(folder, name, 3)
    for name in FOR_PREDICTION:
        write(folder, name, for_prediction=True)
    for name in ("lasvm-lasvm", "incremental", "tvm", "bsgd-merge", "pipeline"):
        write(folder, name, checkpoint=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
