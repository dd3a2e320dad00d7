"""``python -m benchmarks.exports [DATA ...]``: whether exported models predict what Python does, on real data.

For every model: the share of test rows with the class that Python gives, and the worst differences of scores, relative
to ``max(1, |score|)``, to those of Python and to the exact ones, which are those of the model's numbers in float64.
Python itself computes kernel values in float32 for rows in float32, and is a line of the table. The last column is the
difference to the exact scores relative to ``sum_i |alpha_i| k_i + |b|``, the size of the terms that a score is the sum
of. That is what a type of numbers can promise: where terms are a thousand times larger than their sum, a sum in float32
has lost three of its seven digits, whoever computes it.

LIBSVM's text is for two classes, and for the pairs of classes of `IncrementalSVC`; models with an output for each of
several classes have no such form. Its classes are those of ``svm-predict`` if that is on the PATH, and of the text by
LIBSVM's rules otherwise; scores are from the text.
"""

import ctypes
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console
from sklearn.datasets import dump_svmlight_file
from threadpoolctl import threadpool_limits

from benchmarks.cases import Case, split_of
from benchmarks.printing import table
from frugalsvm import ASSETClassifier, BSGDClassifier, IncrementalSVC, LASVMClassifier
from frugalsvm.export import PlainModel, plain_model, to_c, to_libsvm, to_onnx

TEST_ROWS = 2000
CASES = {  # data, and models that suit it
    "a9a": (
        Case("a9a", "a9a", None, 200, 0.05, 1e-4, rows=4000),
        [
            BSGDClassifier(budget=200, gamma=0.05, alpha=1e-4, random_state=0),
            LASVMClassifier(C=1.0, gamma=0.05, random_state=0),
            ASSETClassifier(n_components=200, gamma=0.05, random_state=0),
        ],
    ),
    "ijcnn1": (
        Case("ijcnn1", "ijcnn1", None, 200, 2.0, 1e-5, rows=4000),
        [
            BSGDClassifier(budget=200, gamma=2.0, alpha=1e-5, random_state=0),
            LASVMClassifier(C=32.0, gamma=2.0, random_state=0),
            IncrementalSVC(C=32.0, gamma=2.0),
            ASSETClassifier("fourier", n_components=300, gamma=2.0, random_state=0),
        ],
    ),
    "usps": (
        Case("usps", "usps", None, 200, 0.01, 1e-4, rows=2000),
        [
            BSGDClassifier(budget=200, gamma=0.01, alpha=1e-4, random_state=0),
            IncrementalSVC(C=10.0, gamma=0.01),
            ASSETClassifier(n_components=200, gamma=0.01, random_state=0),
        ],
    ),
}


class Answers(NamedTuple):
    """What one form of a model says: classes, and scores (or values of pairs of classes)."""

    form: str
    labels: np.ndarray
    scores: np.ndarray


def main():
    console = Console(width=None if sys.stdout.isatty() else 140)
    program = shutil.which("svm-predict")
    console.print(f"svm-predict: {program or 'not found, its rules are followed here'}", highlight=False)
    with threadpool_limits(1):
        for case, estimators in (CASES[name] for name in sys.argv[1:] or CASES):
            data = split_of(case)
            X = data.X_test[:TEST_ROWS]
            shown = table(case.name, "data", "form", "equal classes %", "to Python", "to exact", "of terms")
            for estimator in estimators:
                estimator.fit(data.X_train, data.y_train)
                for row in rows_for(estimator, X, program):
                    shown.add_row(type(estimator).__name__, *row)
            console.print(shown)


def rows_for(estimator, X, program):
    """A line of the table for each form of a model."""
    model = plain_model(estimator)
    python = Answers("Python", estimator.predict(X), estimator.decision_function(X))
    exact, sizes = plain_answers(model, X), sizes_of_terms(model, X)
    answers = [python]
    for dtype in ("float32", "float64"):
        answers += [onnx_answers(estimator, X, dtype), c_answers(estimator, X, dtype)]
    answers.append(rounded_answers(model, X))
    for each in answers:
        yield compared(each, python, exact, sizes)
    if model.kernel != "cosine" and model.decision in ("sign", "votes"):
        answers = libsvm_answers(model, X, program)
        if model.decision == "votes":  # LIBSVM has the values of pairs, of which the scores are made
            exact = exact._replace(scores=model.values(X))
            python, sizes = python._replace(scores=None), sizes_of_terms(model._replace(decision="sign"), X)
        yield compared(answers, python, exact, sizes)


def compared(answers, python, exact, sizes):
    """A line of the table."""
    equal = np.mean(answers.labels == python.labels)
    from_python = None if python.scores is None else distances(answers, python).max()
    of_terms = None if sizes is None else distances(answers, exact, sizes).max()
    figures = (from_python, distances(answers, exact).max(), of_terms)
    return answers.form, f"{100 * equal:.2f}", *("" if each is None else f"{each:.1e}" for each in figures)


def distances(answers, others, sizes=None):
    """Differences of scores, relative to sizes or to ``max(1, |score|)``."""
    reference = others.scores.reshape(len(others.labels), -1)
    scores = answers.scores.reshape(reference.shape).astype(np.float64)
    return np.abs(scores - reference) / (np.maximum(1.0, np.abs(reference)) if sizes is None else sizes)


def sizes_of_terms(model: PlainModel, X):
    """``sum_i |alpha_i| k_i + |b|`` of all outputs; None where scores are not such sums (votes)."""
    if model.decision == "votes":
        return None
    kernel = np.abs(model.kernel_values(model.scaled(X)))
    return kernel @ np.abs(model.coefficients).T + np.abs(model.intercepts)


def plain_answers(model, X):
    return Answers("exact", model.predict(X), model.decision_function(X))


def rounded_answers(model, X):
    """What a form with numbers in float32 and sums in float64 would say: float32 storage alone, and how it rounds."""
    parts = {name: getattr(model, name) for name in ("vectors", "coefficients", "intercepts", "offsets")}
    rounded = {name: None if part is None else part.astype(np.float32) for name, part in parts.items()}
    model = model._replace(**{k: None if v is None else v.astype(np.float64) for k, v in rounded.items()})
    return plain_answers(model, X)._replace(form="stored float32, computed float64")


def onnx_answers(estimator, X, dtype):
    import onnxruntime

    text = to_onnx(estimator, dtype=dtype).SerializeToString()
    session = onnxruntime.InferenceSession(text, providers=["CPUExecutionProvider"])
    return Answers(f"onnxruntime {dtype}", *session.run(["label", "scores"], {"X": X.astype(dtype)}))


def c_answers(estimator, X, dtype):
    """The C code compiled with gcc -O2 and called row by row."""
    model = plain_model(estimator)
    n_scores = 1 if model.decision == "sign" else len(model.classes)
    scores, places = np.empty((len(X), n_scores), dtype), np.empty(len(X), int)
    pointer = ctypes.POINTER(ctypes.c_float if dtype == "float32" else ctypes.c_double)
    with tempfile.TemporaryDirectory() as folder:
        _, source = to_c(estimator, folder, dtype=dtype)
        library = Path(folder) / "model.so"
        flags = ["-std=c99", "-O2", "-shared", "-fPIC"]
        subprocess.run(["gcc", *flags, "-o", str(library), str(source), "-lm"], check=True)
        loaded = ctypes.CDLL(str(library))
        loaded.model_decision.argtypes, loaded.model_decision.restype = [pointer, pointer], None
        loaded.model_predict.argtypes = [pointer]
        for i, row in enumerate(np.ascontiguousarray(X, dtype)):
            at = row.ctypes.data_as(pointer)
            loaded.model_decision(at, scores[i].ctypes.data_as(pointer))
            places[i] = loaded.model_predict(at)
    return Answers(f"C {dtype}", model.classes[places], scores)


# --- LIBSVM ---------------------------------------------------------------------------------------------------


def libsvm_answers(model, X, program):
    """Scores from the model text, in the signs of this library, and classes from the program."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [str(Path(folder) / name) for name in ("rows.txt", "model.txt", "out.txt")]
        path = to_libsvm(model, paths[1])
        values, labels = values_of_text(path.read_text(), X)
        if program is None:
            return Answers("LIBSVM's rules", votes_of(values, labels), -values)
        dump_svmlight_file(X.astype(np.float64), np.zeros(len(X)), paths[0], zero_based=False)
        subprocess.run([program, "-b", "0", *paths], check=True, stdout=subprocess.DEVNULL)
        return Answers("svm-predict", np.loadtxt(paths[2]).astype(int), -values)


def values_of_text(text, X):
    """Decision values of all pairs of classes by LIBSVM's rules, and the labels in its order."""
    head, body = text.split("\nSV\n")
    fields = {name: values for name, *values in map(str.split, head.splitlines())}
    lines, labels = [line.split() for line in body.splitlines()], np.array(fields["label"], int)
    n_coefficients = len(labels) - 1
    coefficients = np.array([line[:n_coefficients] for line in lines], float).T
    vectors = np.zeros((len(lines), X.shape[1]))
    for vector, line in zip(vectors, lines, strict=True):
        for place, value in (feature.split(":") for feature in line[n_coefficients:]):
            vector[int(place) - 1] = float(value)
    nothing = np.zeros((1, len(vectors))), np.zeros(1), "value"
    kernel = PlainModel("rbf", vectors, *nothing, gamma=float(fields["gamma"][0])).kernel_values(X.astype(np.float64))
    ends, rho = np.cumsum([0, *map(int, fields["nr_sv"])]), np.array(fields["rho"], float)
    values = []
    for i in range(len(labels)):
        for j in range(i + 1, len(labels)):
            own, other = slice(ends[i], ends[i + 1]), slice(ends[j], ends[j + 1])
            values.append(
                kernel[:, own] @ coefficients[j - 1, own] + kernel[:, other] @ coefficients[i, other] - rho[len(values)]
            )
    return np.transpose(values), labels


def votes_of(values, labels):
    """The class with most votes, the first of several."""
    votes = np.zeros((len(values), len(labels)), int)
    pairs = [(i, j) for i in range(len(labels)) for j in range(i + 1, len(labels))]
    for value, (i, j) in zip(values.T, pairs, strict=True):
        votes[np.arange(len(votes)), np.where(value > 0, i, j)] += 1
    return labels[votes.argmax(axis=1)]


if __name__ == "__main__":
    main()
