"""What the tests of exports share: models of random numbers, onnxruntime, gcc, and a reader of LIBSVM's model text."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

from frugalsvm.export import PlainModel, plain_model, to_c, to_onnx

KERNELS = {
    "rbf": {"gamma": 0.2},
    "laplacian": {"gamma": 0.2},
    "matern12": {"gamma": 0.2},
    "matern32": {"gamma": 0.2},
    "matern52": {"gamma": 0.2},
    "intersection": {},
    "tanimoto": {},
    "cosine": {},
    "poly": {"gamma": 0.3, "coef0": 1.0, "degree": 3},
    "linear": {},
    "fourier": {},
}
LABELS = {"sign": [-1, 7], "argmax": ["a", "b", "c"], "votes": [3, 5, 8, 9], "value": None}
C_FLAGS = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-O1"]


def random_model(kernel, decision, *, n=30, n_features=5, seed=0, classes=None):
    """A model of random numbers, exact in float32."""
    rng = np.random.default_rng(seed)
    classes = LABELS[decision] if classes is None else classes
    n_classes = 0 if classes is None else len(classes)
    n_outputs = {"sign": 1, "value": 1, "argmax": n_classes, "votes": n_classes * (n_classes - 1) // 2}[decision]
    scale = 0.3 if kernel == "fourier" else 1.0
    model = PlainModel(
        kernel,
        in_float32(scale * rng.normal(size=(n, n_features))),
        in_float32(rng.normal(size=(n_outputs, n))),
        in_float32(rng.normal(size=n_outputs)),
        decision,
        None if classes is None else np.array(classes),
        offsets=in_float32(rng.random(n)) if kernel == "fourier" else None,
        **KERNELS[kernel],
    )
    return pairwise(model) if decision == "votes" else model


def pairwise(model):
    """The model with coefficients as one-vs-one machines have them: of pairs with the class of the vector."""
    n_classes = len(model.classes)
    pairs = [(i, j) for i in range(n_classes) for j in range(i + 1, n_classes)]
    home = np.arange(len(model.vectors)) % n_classes
    coefficients = np.zeros_like(model.coefficients)
    for p, (first, second) in enumerate(pairs):
        sizes = np.abs(model.coefficients[p])
        coefficients[p] = np.where(home == second, sizes, np.where(home == first, -sizes, 0.0))
    return model._replace(coefficients=coefficients)


def in_float32(values):
    return np.asarray(values, np.float32).astype(np.float64)


def rows_for(model, n=200, seed=1):
    rng = np.random.default_rng(seed)
    return in_float32(rng.normal(size=(n, model.n_features)))


def python_scores(estimator, X):
    """What the library itself says."""
    decide = getattr(estimator, "decision_function", estimator.predict)
    return decide(X)


def assert_same_scores(scores, expected, tolerance=1e-5):
    """Equal relative to the size of the scores."""
    assert scores.shape == expected.shape
    assert np.abs(scores - expected).max() <= tolerance * np.abs(expected).max()


def onnx_outputs(proto, X, dtype, text=None):
    """What onnxruntime makes of a model: labels (or None) and scores."""
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    inputs = {"X": np.asarray(X, dtype)} if np.shape(X)[1] else {}
    if text is not None:
        inputs["text"] = np.array([["(missing)" if each is None else each for each in row] for row in text], object)
    outputs = session.run(None, inputs)
    return (None, outputs[0]) if len(outputs) == 1 else tuple(outputs)


def exported_onnx(estimator, X, dtype, text=None):
    pytest.importorskip("onnx")
    return onnx_outputs(to_onnx(estimator, dtype=dtype), X, dtype, text)


class CompiledModel:
    """A model in C, compiled with all warnings as errors, and called."""

    options: dict = {}  # noqa: RUF012

    def __init__(self, estimator, folder, *, name="model", dtype="float32"):
        self.model, self.name, self.dtype = plain_model(estimator), name, dtype
        self.header, self.source = to_c(estimator, folder, name=name, dtype=dtype, **self.options)
        library = folder / f"{name}.so"
        compiled_with("-shared", "-fPIC", "-o", str(library), str(self.source), "-lm")
        self.loaded = ctypes.CDLL(str(library))
        self.real = ctypes.c_float if dtype == "float32" else ctypes.c_double
        self.pointer = ctypes.POINTER(self.real)

    def _called(self, what, result, X, text, *more):
        """What a function of the model returns for each row, and for its part of further arrays."""
        function = getattr(self.loaded, f"{self.name}_{what}")
        pointers = [self.pointer] if text is None else [self.pointer, ctypes.POINTER(ctypes.c_char_p)]
        function.argtypes, function.restype = [*pointers, *[self.pointer] * len(more)], result
        rows = [[each] for each in np.ascontiguousarray(X, self.dtype)]
        for row, strings in zip(rows, [] if text is None else text, strict=False):
            row.append(strings)
        return [
            function(*map(self._pointer_to, row), *(self._pointer_to(each[k]) for each in more))
            for k, row in enumerate(rows)
        ]

    def _pointer_to(self, values):
        if isinstance(values, np.ndarray):
            return values.ctypes.data_as(self.pointer)
        return (ctypes.c_char_p * len(values))(*(None if each is None else each.encode() for each in values))

    def scores(self, X, text=None):
        """Scores of rows of numbers and, in a list for each row, of strings; ``codes`` are the values returned."""
        single = self.model.decision in ("sign", "inlier", "value")
        out = np.empty((len(X), 1 if single else len(self.model.classes)), self.dtype)
        self.codes = self._called("decision", ctypes.c_int, X, text, out)
        return out[:, 0] if single else out

    def predictions(self, X, text=None):
        """Predicted classes, or numbers."""
        if self.model.classes is None:
            kind = self.real if self.model.decision == "value" else ctypes.c_int
            return np.array(self._called("predict", kind, X, text))
        return self.model.classes[self._called("predict", ctypes.c_int, X, text)]

    def labels(self, label_type):
        return list((label_type * len(self.model.classes)).in_dll(self.loaded, f"{self.name}_labels"))


def compiled_with(*arguments):
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("there is no gcc here")
    subprocess.run([compiler, *C_FLAGS, *arguments], check=True)


class LibsvmReader:
    """LIBSVM's model text, read and used as its README and its source say, with nothing of this library."""

    def __init__(self, path):
        head, body = path.read_text().split("\nSV\n")
        self.fields = {name: values for name, *values in (line.split() for line in head.splitlines())}
        lines = [line.split() for line in body.splitlines()]
        self.n_classes = int(self.fields["nr_class"][0])
        self.rho = np.array(self.fields["rho"], float)
        self.coefficients = np.array([line[: self.n_classes - 1] for line in lines], float).T
        self.features = [[feature.split(":") for feature in line[self.n_classes - 1 :]] for line in lines]
        assert len(lines) == int(self.fields["total_sv"][0])

    def _kernel(self, X):
        vectors = np.zeros((len(self.features), X.shape[1]))
        for vector, features in zip(vectors, self.features, strict=True):
            for place, value in features:
                vector[int(place) - 1] = float(value)
        name, number = self.fields["kernel_type"][0], lambda field: float(self.fields[field][0])
        if name == "rbf":
            return np.exp(-number("gamma") * np.square(X[:, None] - vectors).sum(axis=2))
        products = X @ vectors.T
        if name == "polynomial":
            return (number("gamma") * products + number("coef0")) ** int(self.fields["degree"][0])
        assert name == "linear"
        return products

    def decision_values(self, X):
        """Of all pairs of classes, the first being the positive one; or of the regression."""
        kernel = self._kernel(np.asarray(X, float))
        if self.fields["svm_type"][0] in ("epsilon_svr", "one_class"):
            return kernel @ self.coefficients.T - self.rho
        ends = np.cumsum([0, *map(int, self.fields["nr_sv"])])
        values = []
        for i in range(self.n_classes):
            for j in range(i + 1, self.n_classes):
                own, other = slice(ends[i], ends[i + 1]), slice(ends[j], ends[j + 1])
                first = kernel[:, own] @ self.coefficients[j - 1, own]
                values.append(first + kernel[:, other] @ self.coefficients[i, other])
        return np.transpose(values) - self.rho

    def votes(self, X):
        values = self.decision_values(X)
        votes = np.zeros((len(values), self.n_classes), int)
        pairs = [(i, j) for i in range(self.n_classes) for j in range(i + 1, self.n_classes)]
        for value, (i, j) in zip(values.T, pairs, strict=True):
            votes[np.arange(len(votes)), np.where(value > 0, i, j)] += 1
        return votes

    def predictions(self, X):
        return np.array(self.fields["label"], int)[self.votes(X).argmax(axis=1)]
