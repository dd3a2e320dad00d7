"""Code as users write it: type checkers must accept it (test_types_of_users.py)."""

from pathlib import Path

import numpy as np

import frugalsvm
from frugalsvm import AutoSVC, BSGDClassifier, IncrementalSVC
from frugalsvm.datasets import make_checkerboard, stream
from frugalsvm.exceptions import ParameterError
from frugalsvm.export import to_c
from frugalsvm.pipelines import StreamPipeline


def train(n_rows: int) -> BSGDClassifier:
    model = BSGDClassifier(budget=100, gamma=3.0, alpha=1e-4, random_state=0)
    for X, y in stream("checkerboard", n_rows, chunk_size=1_000, random_state=0):
        model.partial_fit(X, y)
    return model


def share_correct(model: BSGDClassifier) -> float:
    X, y = make_checkerboard(1_000, random_state=1)
    return float(np.mean(model.predict(X) == y))


def keep(model: BSGDClassifier, folder: Path) -> list[str]:
    frugalsvm.save(model, folder / "model.frugal")
    return [path.name for path in to_c(model, folder, name="board")]


def table(X: np.ndarray, y: np.ndarray) -> str:
    try:
        model = AutoSVC(time_budget="10s").fit(X, y)
    except ParameterError as error:
        return error.parameter
    return str(model.report())


def forget(X: np.ndarray, y: np.ndarray) -> int:
    model = IncrementalSVC(C=10.0, gamma=5.0).fit(X, y)
    return int(model.unlearn([0, 1]).n_examples_)


def one_by_one(rows: list[dict[str, float]], labels: list[str]) -> None:
    model = StreamPipeline(BSGDClassifier(budget=10))
    for row, label in zip(rows, labels, strict=True):
        model.learn_one_row(row, label)
