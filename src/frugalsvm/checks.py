"""Checks of what all estimators here promise, for estimators that are built on their parts.

`sklearn.utils.estimator_checks` tests what scikit-learn asks of an estimator. These test what a learner on a budget
owes besides: that the budget holds at every moment, that the size of batches does not matter, that a sparse matrix is
learned like a dense one, that a saved model resumes where it stopped, that bad input changes nothing, that several
threads may use a model at once, and that an example which is unlearned is forgotten.

With pytest::

    @pytest.mark.parametrize("check", checks_of(MyClassifier()), ids=check_name)
    def test_mine(check):
        check(MyClassifier(budget=20, gamma=0.5, random_state=0))

Each check works on clones, makes its data itself, and raises an AssertionError that says what was expected. Estimators
with a parameter ``random_state`` need it to be set, and what would be taken from the first batch, such as
``gamma="scale"``, must be a number.
"""

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.utils import get_tags

from frugalsvm.estimators.automatic import learns_streams
from frugalsvm.persist import load, save

__all__ = [
    "check_bad_input_changes_nothing",
    "check_batches_equal_one_by_one",
    "check_budget",
    "check_dense_equals_sparse",
    "check_estimator",
    "check_learning_in_threads",
    "check_name",
    "check_predicting_in_threads",
    "check_same_seed_same_model",
    "check_save_and_load",
    "check_unlearn",
    "checks_of",
]

N_ROWS, N_FEATURES, N_CLASSES = 192, 4, 3
BLOCK_ROWS = 64  # rows that learners look ahead over: batches that end there give the same model bit for bit
TOLERANCE = 1e-6  # of scores, relative to the largest
N_THREADS, N_ROUNDS, N_BATCHES = 8, 3, 24
SWITCH_SECONDS = 1e-6  # after which another thread has its turn: what can go wrong does so sooner
# What is asked of a model in threads, where it has such a method
BATCH_METHODS = ("predict", "decision_function", "predict_proba", "score_samples", "predict_set", "predict_interval")
ROW_METHODS = tuple(f"{name}_one_row" for name in BATCH_METHODS)


def check_estimator(estimator: Any) -> None:
    """Run all checks that apply to an estimator.

    Parameters
    ----------
    estimator : object
        It is not changed.

    Examples
    --------
    >>> from frugalsvm import BSGDClassifier
    >>> from frugalsvm.checks import check_estimator
    >>> check_estimator(BSGDClassifier(budget=10, gamma=0.5, random_state=0))
    """
    for check in checks_of(estimator):
        check(estimator)


def checks_of(estimator: Any) -> list[Callable[[Any], None]]:
    """The checks that apply to an estimator, by the methods and parameters it has.

    Parameters
    ----------
    estimator : object

    Returns
    -------
    list of callable
        Each takes an estimator.
    """
    streams = hasattr(estimator, "partial_fit")
    applies = {
        check_same_seed_same_model: True,
        check_dense_equals_sparse: get_tags(estimator).input_tags.sparse,
        check_save_and_load: True,
        check_predicting_in_threads: True,
        check_learning_in_threads: streams,
        check_batches_equal_one_by_one: learns_streams(estimator),
        check_bad_input_changes_nothing: True,
        check_budget: streams and getattr(estimator, "budget", None) is not None,
        check_unlearn: hasattr(estimator, "unlearn") and learns_streams(estimator),
    }
    return [check for check, does in applies.items() if does]


def check_name(check: Callable) -> str:
    """The name of a check, for pytest's ``ids``."""
    return check.__name__.removeprefix("check_")


# --- data and comparisons -----------------------------------------------------------------------------------------


def _data(estimator: Any, dtype: Any = np.float64) -> tuple[np.ndarray, np.ndarray]:
    """Rows of overlapping classes, many values of which are zero, with labels or targets."""
    rng = np.random.default_rng(7)
    labels = rng.integers(0, N_CLASSES, N_ROWS)
    X = rng.normal(size=(N_ROWS, N_FEATURES)) + 1.5 * (np.arange(N_FEATURES) == labels[:, None])
    X[rng.random(X.shape) < 0.4] = 0.0
    return X.astype(dtype), X @ np.arange(1.0, N_FEATURES + 1) if is_regressor(estimator) else labels


def _learn(model: Any, X: Any, y: np.ndarray) -> Any:
    """Learn by ``partial_fit`` where there is one."""
    if not hasattr(model, "partial_fit"):
        return model.fit(X, y)
    return model.partial_fit(X, y, classes=np.arange(N_CLASSES)) if is_classifier(model) else model.partial_fit(X, y)


def _batches(n_rows: int) -> Iterator[slice]:
    return (slice(start, start + n_rows) for start in range(0, N_ROWS, n_rows))


def _scores(model: Any, X: Any) -> np.ndarray:
    """Decision values, or predictions of a regressor."""
    return np.asarray((model.predict if is_regressor(model) else model.decision_function)(X), float)


def _assert_same(found: np.ndarray, expected: np.ndarray, what: str) -> None:
    error = np.abs(found - expected).max(initial=0.0) / max(np.abs(expected).max(initial=0.0), 1e-300)
    assert error <= TOLERANCE, f"{what}: scores differ by {error:.2g} of the largest, where {TOLERANCE:.2g} is allowed."


# --- the checks ---------------------------------------------------------------------------------------------------


def check_same_seed_same_model(estimator: Any) -> None:
    """Two clones that learn the same rows score alike, bit for bit."""
    X, y = _data(estimator)
    first, second = (_scores(_learn(clone(estimator), X, y), X) for _ in range(2))
    assert np.array_equal(first, second), "Two clones that learned the same rows differ: is random_state set?"


def check_budget(estimator: Any) -> None:
    """There are never more support vectors than ``budget_`` (or ``budget``) allows, after any number of rows."""
    X, y = _data(estimator)
    model = clone(estimator)
    if is_classifier(model):  # several classes may have a budget each
        y = y > 0
    for rows in _batches(8):
        model.partial_fit(X[rows], y[rows], **({"classes": [False, True]} if is_classifier(model) else {}))
        budget, n_found = getattr(model, "budget_", model.budget), len(model.support_vectors_)
        assert n_found <= budget, f"{n_found} support vectors after {rows.stop} rows, where the budget is {budget}."


def check_batches_equal_one_by_one(estimator: Any) -> None:
    """It does not matter in which batches rows come; where they end at multiples of 64 rows, not for a single bit."""
    X, y = _data(estimator)
    scores = {}
    for n_rows in (N_ROWS, BLOCK_ROWS, 7, 1):
        model = clone(estimator)
        for rows in _batches(n_rows):
            _learn(model, X[rows], y[rows])
        scores[n_rows] = _scores(model, X)
    assert np.array_equal(scores[BLOCK_ROWS], scores[N_ROWS]), f"Batches of {BLOCK_ROWS} rows give another model."
    for n_rows in (7, 1):
        _assert_same(scores[n_rows], scores[N_ROWS], f"Batches of {n_rows} rows")


def check_dense_equals_sparse(estimator: Any) -> None:
    """A CSR matrix is learned and scored like the same rows as an array."""
    X, y = _data(estimator)
    dense, sparse = _learn(clone(estimator), X, y), _learn(clone(estimator), csr_matrix(X), y)
    _assert_same(_scores(sparse, csr_matrix(X)), _scores(dense, X), "A model of sparse rows")
    _assert_same(_scores(dense, csr_matrix(X)), _scores(dense, X), "Scores of sparse rows")


def check_save_and_load(estimator: Any) -> None:
    """A model that was saved and loaded scores like the original and, if it can, continues to learn like it."""
    X, y = _data(estimator)
    model = _learn(clone(estimator), X[:128], y[:128])
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.frugal")
        save(model, path, caches=True)
        copy = load(path)
    assert np.array_equal(_scores(copy, X), _scores(model, X)), "The loaded model has other scores."
    if hasattr(model, "partial_fit"):
        for each in (model, copy):
            each.partial_fit(X[128:], y[128:])
        assert np.array_equal(_scores(copy, X), _scores(model, X)), "The loaded model learns otherwise."


def check_bad_input_changes_nothing(estimator: Any) -> None:
    """NaN, rows of another width and unknown labels are refused, and the model is what it was.

    An estimator without ``partial_fit`` begins again with what it gets: it refuses NaN, and rows that have no label.
    """
    X, y = _data(estimator)
    model = _learn(clone(estimator), X[:128], y[:128])
    before = _scores(model, X)
    missing = X[128:].copy()
    missing[3, 1] = np.nan
    bad = {"NaN": (missing, y[128:])}
    streams = hasattr(model, "partial_fit")
    if is_classifier(model) or is_regressor(model):
        bad["too few labels"] = (X[128:], y[:3])
    if streams:
        bad["another width"] = (X[128:, :-1], y[128:])
    if streams and is_classifier(model) and getattr(model, "new_classes", "error") == "error":
        bad["an unknown label"] = (X[128:], np.where(y[128:] == 0, N_CLASSES + 4, y[128:]))
    for what, (rows, targets) in bad.items():
        try:
            (model.partial_fit if streams else model.fit)(rows, targets)
        except ValueError:
            assert np.array_equal(_scores(model, X), before), f"The model was changed by rows with {what}."
        else:
            raise AssertionError(f"Rows with {what} were not refused.")


def check_unlearn(estimator: Any) -> None:
    """A model that learned rows and unlearned them is the one that never saw them."""
    X, y = _data(estimator)
    without = _learn(clone(estimator), X[:96], y[:96])
    model = _learn(clone(estimator), X[:96], y[:96])
    model.partial_fit(X[96:128], y[96:128])
    model.unlearn(np.arange(96, 128))
    _assert_same(_scores(model, X), _scores(without, X), "After unlearning")


@contextmanager
def _many_turns() -> Iterator[None]:
    """Context in which threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_SECONDS)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def _in_threads(function: Callable[[int], Any], n_times: int) -> list[Any]:
    """What a function returns for 0, 1, 2, ..., called in several threads."""
    with _many_turns(), ThreadPoolExecutor(N_THREADS) as pool:
        return list(pool.map(function, range(n_times)))


def check_predicting_in_threads(estimator: Any) -> None:
    """Any number of threads that predict with a model, whole batches or single rows, get what one thread gets."""
    X, y = _data(estimator)
    model = _learn(clone(estimator), X, y)

    def answers(method: str) -> np.ndarray:
        ask = getattr(model, method)
        return np.asarray(ask(X) if method in BATCH_METHODS else [ask(x) for x in X])

    for method in (name for name in (*BATCH_METHODS, *ROW_METHODS) if hasattr(model, name)):
        expected = answers(method)
        found = _in_threads(lambda _, method=method: answers(method), N_ROUNDS * N_THREADS)  # type: ignore[misc]
        n_wrong = sum(int((each != expected).sum()) for each in found)
        assert not n_wrong, f"{n_wrong} answers of {method} from {N_THREADS} threads differ from those of one thread."


def check_learning_in_threads(estimator: Any) -> None:
    """Batches that come from several threads are learned one after the other, and none is lost."""
    X, y = _data(estimator)
    batch = slice(0, 16)  # the same one every time, so that the order does not matter
    alone, together = (_learn(clone(estimator), X, y) for _ in range(2))
    for _ in range(N_BATCHES):
        _learn(alone, X[batch], y[batch])
    _in_threads(lambda _: _learn(together, X[batch], y[batch]), N_BATCHES)
    _assert_same(_scores(together, X), _scores(alone, X), "A model that learned in several threads")
