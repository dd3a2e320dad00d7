"""Learners in C: compiled with all warnings as errors, called, and compared with Python."""

import ctypes
import itertools
import math
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone, is_classifier

from frugalsvm import BSGDClassifier, BSGDOneClassSVM, BSGDRegressor, BudgetedPerceptron
from frugalsvm.conformal import ConformalClassifier, ConformalDetector, ConformalRegressor
from frugalsvm.export import read_state, to_c, write_state
from frugalsvm.export.learning_c.around import learner_of, pipeline_of
from frugalsvm.pipelines import StreamingScaler, StreamPipeline

FLAGS = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Wconversion", "-Werror", "-O1"]
RBF = {"kernel": "rbf", "gamma": 0.7}
CLASSIFIER = {"budget": 12, "alpha": 1e-3, **RBF}
FAR = 500.0  # float32 needs an origin there
PREPARED = {"impute": "median", "warmup_rows": 40}
# Models that learn in C, and how many classes or targets the streams for them have.
CASES = {
    "merge": (BSGDClassifier(**CLASSIFIER), 2),
    "merge, 3 classes": (BSGDClassifier(**CLASSIFIER), 3),
    "merge, norma": (BSGDClassifier(learner="norma", **CLASSIFIER), 2),
    "merge, norma, 3 classes": (BSGDClassifier(learner="norma", **CLASSIFIER), 3),
    "merge, half-life": (BSGDClassifier(half_life=50, **CLASSIFIER), 2),
    "merge, half-life, 4 classes": (BSGDClassifier(half_life=50, **CLASSIFIER), 4),
    "merge, perceptron": (BSGDClassifier(learner="perceptron", **CLASSIFIER), 3),
    "remove": (BSGDClassifier(maintenance="remove", **CLASSIFIER), 2),
    "remove, 3 classes": (BSGDClassifier(maintenance="remove", **CLASSIFIER), 3),
    "remove, laplacian": (BSGDClassifier(maintenance="remove", budget=12, kernel="laplacian", gamma=0.5), 2),
    "remove, linear": (BSGDClassifier(maintenance="remove", budget=12, alpha=1e-3, kernel="linear"), 2),
    "project": (BSGDClassifier(maintenance="project", **CLASSIFIER), 2),
    "project, 3 classes": (BSGDClassifier(maintenance="project", **CLASSIFIER), 3),
    "project, matern32": (BSGDClassifier(maintenance="project", budget=12, kernel="matern32", gamma=0.5), 2),
    "project, laplacian": (BSGDClassifier(maintenance="project", budget=12, kernel="laplacian", gamma=0.5), 3),
    "weights": (BSGDClassifier(class_weight={0: 3.0, 1: 0.5}, **CLASSIFIER), 2),
    "regression": (BSGDRegressor(budget=12, epsilon=0.1, **RBF), 1),
    "regression, huber": (BSGDRegressor("huber", budget=12, epsilon=0.3, learner="pegasos", alpha=1e-3, **RBF), 1),
    "regression, half-life": (BSGDRegressor("squared", "remove", budget=12, half_life=50, **RBF), 1),
    "regression, squared, project": (BSGDRegressor("squared", "project", budget=12, **RBF), 1),
    "regression, 2 targets": (BSGDRegressor("squared_epsilon_insensitive", budget=12, **RBF), 2),
    "quantiles": (BSGDRegressor("pinball", budget=12, quantile=[0.9, 0.1, 0.5], non_crossing=True, **RBF), 1),
    "one class": (BSGDOneClassSVM(0.3, budget=12, window=100, **RBF), 0),
    "one class, half-life": (BSGDOneClassSVM(0.2, "project", budget=12, alarm_rate=0.1, window=300, half_life=80), 0),
    "stop": (BudgetedPerceptron("stop", 12, **RBF), 3),
    "random": (BudgetedPerceptron("random", 12, random_state=3, **RBF), 3),
    "forgetron": (BudgetedPerceptron("forgetron", 12, **RBF), 2),
    "silk": (BudgetedPerceptron("silk", 12, **RBF), 2),
    "projectron": (BudgetedPerceptron("projectron", 12, threshold=0.3, **RBF), 3),
    "projectron++": (BudgetedPerceptron("projectron++", 12, **RBF), 2),
    "projectron++, 3 classes": (BudgetedPerceptron("projectron++", 12, **RBF), 3),
    "pipeline": (StreamPipeline(BSGDClassifier(**CLASSIFIER), scale=StreamingScaler(renew=False), **PREPARED), 2),
    "half-lives": (BSGDClassifier(half_life="auto", **CLASSIFIER), 2),
    "half-lives, 3 classes": (BSGDClassifier(half_life="auto", **CLASSIFIER), 3),
    "half-lives, project": (BSGDClassifier(maintenance="project", half_life="auto", **CLASSIFIER), 3),
    "half-lives, remove": (BSGDClassifier(maintenance="remove", half_life="auto", **CLASSIFIER), 2),
    "pipeline, as it is": (StreamPipeline(BSGDClassifier(budget=12), warmup_rows=40), 3),
    "pipeline, following": (StreamPipeline(BSGDClassifier(**CLASSIFIER), scale="following", **PREPARED), 3),
    "conformal": (ConformalClassifier(BSGDClassifier(**CLASSIFIER), 0.8, window=50), 2),
    "conformal, 3 classes": (ConformalClassifier(BSGDClassifier(**CLASSIFIER), 0.8, window=50), 3),
    "conformal, pipeline": (
        ConformalClassifier(StreamPipeline(BSGDClassifier(half_life="auto", **CLASSIFIER), **PREPARED), window=100),
        3,
    ),
    "conformal, regression": (ConformalRegressor(BSGDRegressor(budget=12, **RBF), 0.7, window=60, patience=2.0), 1),
    "conformal, quantiles": (
        ConformalRegressor(BSGDRegressor("pinball", budget=12, quantile=[0.9, 0.1], **RBF), 0.8, window=60),
        1,
    ),
    "conformal, one class": (ConformalDetector(BSGDOneClassSVM(0.3, budget=12, window=300, **RBF), 0.1, window=80), 0),
    "pipeline, soft": (
        StreamPipeline(BSGDRegressor(budget=12, **RBF), scale=StreamingScaler(soft_clip=True, renew=False), **PREPARED),
        1,
    ),
}


def stream_for(n_targets, seed, *, n_rows=300, dtype="float64"):
    """Rows of 1 to 12 features with classes, numbers or nothing to learn, some of them wrong."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 1 + seed % 12))
    score = np.sin(2.0 * X[:, 0]) + 0.5 * X[:, -1] + 0.3 * rng.normal(size=n_rows)
    return (X + FAR if seed % 3 == 2 else X).astype(dtype), score


def targets_for(model, n_targets, X, score):
    """What is learned beside the rows."""
    inner = getattr(model, "estimator", model)
    inner = getattr(inner, "estimator", inner)
    if isinstance(inner, BSGDOneClassSVM):
        return None
    if isinstance(inner, BSGDRegressor):
        return 5.0 + 2.0 * score if n_targets == 1 else np.stack([score, X[:, 0] ** 2], axis=1)
    return np.searchsorted(np.linspace(-1.0, 1.0, n_targets + 1)[1:-1], score)


def begun(model, X, y, n_rows):
    """The model after the first rows; all classes are known then."""
    more = {"classes": np.unique(y)} if is_classifier(model) else {}
    return model.partial_fit(X[:n_rows], *([] if y is None else [y[:n_rows]]), **more)


def learn_on(model, X, y, rows):
    """Learn rows in Python, a few at a time: batches of any size give the same model, up to rounding.

    Conformal estimators judge the rows of a batch before they learn it, and devices one row after the other.
    """
    n_rows = 8 if pipeline_of(model) is model else 1
    for start in range(rows.start, rows.stop, n_rows):
        part = slice(start, min(start + n_rows, rows.stop))
        model.partial_fit(X[part], *([] if y is None else [y[part]]))


class LearnerInC:
    """A learner in C, compiled and called."""

    def __init__(self, model, folder, *, dtype="float64", name="model", flags=(), **options):
        self.header, self.source = to_c(model, folder, name=name, dtype=dtype, learn=True, **options)
        library, size = Path(folder) / f"{name}.so", Path(folder) / f"{name}_size.c"
        size.write_text(
            f'#include "{name}.h"\nunsigned long long {name}_context_bytes(void);\n'
            f"unsigned long long {name}_context_bytes(void) {{ return sizeof({name}_context); }}\n"
        )
        compiled_with(*flags, "-shared", "-fPIC", "-o", str(library), str(self.source), str(size), "-lm")
        self.loaded, self.name, self.dtype = ctypes.CDLL(str(library)), name, np.dtype(dtype)
        self.sizes = {key: int(self._size(key)) for key in ("N_FEATURES", "N_OUTPUTS", "BUDGET", "STATE_BYTES")}
        if "_N_SCORES" in self.header.read_text():
            self.sizes["N_OUTPUTS"] = int(self._size("N_SCORES"))
        self.is_regressor = "_N_TARGETS" in self.header.read_text()
        if self.is_regressor:
            getattr(self.loaded, f"{name}_predict").restype = ctypes.c_double
        context_bytes = getattr(self.loaded, f"{name}_context_bytes")
        context_bytes.restype = ctypes.c_ulonglong
        self.context_bytes = context_bytes()  # what the compiler says
        self.context = ctypes.create_string_buffer(self.context_bytes)
        self("init")

    def _size(self, key):
        (line,) = [
            each
            for each in self.header.read_text().splitlines()
            if each.startswith(f"#define {self.name.upper()}_{key} ")
        ]
        return line.split()[-1]

    def __call__(self, what, *arguments):
        return getattr(self.loaded, f"{self.name}_{what}")(self.context, *arguments)

    def learn(self, x, y=None):
        x = np.ascontiguousarray(x, self.dtype)
        target = [] if y is None else [np.ascontiguousarray(y, np.float64).ctypes] if self.is_regressor else [int(y)]
        return self("learn", x.ctypes, *target)

    def learn_all(self, X, y=None):
        for k, x in enumerate(X):
            assert self.learn(x, None if y is None else y[k]) == 0

    def predict(self, x):
        return self("predict", np.ascontiguousarray(x, self.dtype).ctypes)

    def scores(self, x):
        out = np.zeros(self.sizes["N_OUTPUTS"])
        assert self("scores", np.ascontiguousarray(x, self.dtype).ctypes, out.ctypes) == 0
        return out

    def save(self):
        room, n_written = ctypes.create_string_buffer(self.sizes["STATE_BYTES"]), ctypes.c_uint32()
        assert self("save", room, ctypes.c_uint32(len(room)), ctypes.byref(n_written)) == 0
        return room.raw[: n_written.value]

    def load(self, state):
        return self("load", state, ctypes.c_uint32(len(state)))


def compiled_with(*arguments):
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler here")
    subprocess.run([compiler, *FLAGS, *arguments], check=True)


def use_exponentials_of_c():
    """Let NumPy's exp and log of single numbers be those of C, from which its own may differ in the last bit."""
    for name in ("exp", "log"):
        of_numpy, of_c = getattr(np, name), getattr(math, name)

        def either(x, *more, of_numpy=of_numpy, of_c=of_c, **options):
            single = isinstance(x, float | np.floating) and not (more or options)
            return np.float64(of_c(x)) if single else of_numpy(x, *more, **options)

        setattr(np, name, either)


def is_same(model, state, dtype):
    """Whether a state is that of a model: bit for bit, but for what is said to be equal up to rounding."""
    made, tolerance = read_state(model, state), 1e-4 if dtype == "float32" else 1e-7
    if isinstance(getattr(model, "scale", None), str):  # that follows the stream: its statistics are rounded otherwise
        pairs = [(model.scaler_, made.scaler_, name) for name in ("center_", "scale_", "limit_")]
        pairs += [(model.estimator_, made.estimator_, name) for name in ("t_", "support_vectors_", "dual_coef_")]
        return all(
            np.allclose(getattr(own, name), getattr(other, name), rtol=tolerance, atol=tolerance)
            for own, other, name in pairs
        )
    if pipeline_of(model) is model:
        return state == write_state(model, dtype=dtype)
    own, other = model._reservoirs[0], made._reservoirs[0]
    return (
        write_state(made.estimator_, dtype=dtype) == write_state(model.estimator_, dtype=dtype)
        and np.array_equal(own.counts, other.counts)
        and np.allclose(own.ring, other.ring, rtol=tolerance, atol=tolerance)
        and np.allclose(made.thresholds_, model.thresholds_, rtol=tolerance, atol=tolerance)
    )


def differences(name, seed, dtype, folder):
    """What differs between a stream that Python learns and one that goes on in C, and then again in Python."""
    model, n_targets = CASES[name]
    model = clone(model)
    X, score = stream_for(n_targets, seed, dtype=dtype)
    y = targets_for(model, n_targets, X, score)
    if getattr(getattr(model, "estimator", model), "impute", None) or getattr(model, "impute", None):
        X[::9, 0] = np.nan
    model = begun(model, X, y, 60)
    device = LearnerInC(model, folder, dtype=dtype)
    if not is_same(model, device.save(), dtype):
        yield "as exported"
    before = read_state(model, device.save())
    learn_on(model, X, y, range(60, 200))
    device.learn_all(X[60:200], None if y is None else y[60:200])
    if not is_same(model, device.save(), dtype):
        yield "learned in C"
    later = read_state(before, device.save())
    for each in (model, later):
        learn_on(each, X, y, range(200, 300))
    if not is_same(model, write_state(later, dtype=dtype), dtype):
        yield "learned on in Python"
    device.load(write_state(model, dtype=dtype))
    scores = np.array([device.scores(x) for x in X])
    asked = model if isinstance(model, ConformalDetector) else pipeline_of(model)
    expected = (asked.predict if device.is_regressor else asked.decision_function)(X).reshape(scores.shape)
    tolerance = 1e-5 if dtype == "float32" else 1e-8  # of what is added up, for rows far from zero
    largest = np.nanmax(np.square(X, dtype=np.float64).sum(axis=1)) if learner_of(model).kernel == "linear" else 1.0
    if np.abs(scores - expected).max() > tolerance * (1.0 + largest * np.abs(learner_of(model).dual_coef_).sum()):
        yield "scores"


if __name__ == "__main__":  # in plain Python: NUMBA_DISABLE_JIT=1
    use_exponentials_of_c()
    n_streams, names = int(sys.argv[1]), sys.argv[2:] or list(CASES)
    streams = list(itertools.product(range(n_streams), ("float64", "float32")))
    for k, name in enumerate(names):
        for seed, dtype in streams if n_streams > 1 else [streams[k % 2]]:  # of one stream, one of the types in turn
            with tempfile.TemporaryDirectory() as folder:
                for what in differences(name, seed, dtype, Path(folder)):
                    print(f"{name}, stream {seed}, {dtype}: {what}", flush=True)
