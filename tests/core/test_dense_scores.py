"""Scores of dense rows by several threads: `frugalsvm.core.dense_scores`."""

import threading

import numpy as np
import pytest

from frugalsvm.compiling import crew
from frugalsvm.compiling.functions import add_to, entry
from frugalsvm.core import dense_scores
from frugalsvm.core.dense_scores import (
    UnfitRowsError,
    new_scoring,
    new_vectors,
    refreshed,
    score_on_threads,
    score_rows,
)
from frugalsvm.core.expansion import new_expansion
from frugalsvm.core.kernels import RBF

N_ROWS, N_SLOTS = 300, 20
KERNEL = RBF(0.3)


@pytest.fixture(params=[3, 12], ids=["few features", "many"])
def n_features(request):
    return request.param


@pytest.fixture
def expansion(n_features):
    rng = np.random.default_rng(0)
    model = new_expansion(N_SLOTS, n_features, 1, np.float64)
    model.rows[:N_SLOTS] = rng.normal(size=(N_SLOTS, n_features))
    model.norms[:N_SLOTS] = np.square(model.rows[:N_SLOTS]).sum(axis=1)
    model.weights[0, :N_SLOTS] = rng.normal(size=N_SLOTS)
    model.counts[0]["n_slots"] = N_SLOTS
    return model


@pytest.fixture
def X(n_features):
    return np.random.default_rng(1).normal(size=(N_ROWS, n_features))


def direct(expansion, X):
    differences = X[:, None, :] - expansion.rows[None, :N_SLOTS]
    return np.exp(-KERNEL.gamma * np.square(differences).sum(axis=2)) @ expansion.weights[0, :N_SLOTS]


@pytest.mark.parametrize("n_rows", [1, 15, 16, 64, 65, N_ROWS])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scores_are_those_of_the_definition(expansion, X, n_rows, dtype):
    rows = X[:n_rows].astype(dtype)
    scoring = new_scoring(KERNEL, new_vectors(expansion, n_rows, bias=[0.5]), rows)
    score_rows(scoring)
    np.testing.assert_allclose(scoring.out[:, 0], direct(expansion, rows.astype(float)) + 0.5, rtol=1e-12)


def test_rows_of_mostly_zeros(expansion, X):
    X[:, 1:] = 0.0
    scoring = new_scoring(KERNEL, new_vectors(expansion, N_ROWS), X)
    score_rows(scoring)
    np.testing.assert_allclose(scoring.out[:, 0], direct(expansion, X), rtol=1e-12, atol=1e-12)


def test_vectors_that_have_changed(expansion, X):
    n_rows = 5
    scoring = new_scoring(KERNEL, new_vectors(expansion, n_rows), X[:n_rows])
    expansion.rows[:N_SLOTS] *= 0.5
    expansion.norms[:N_SLOTS] *= 0.25
    expansion.weights[0, N_SLOTS - 1] = 0.0
    scoring = scoring._replace(vectors=refreshed(scoring.vectors, N_SLOTS - 1))
    score_rows(scoring)
    np.testing.assert_allclose(scoring.out[:, 0], direct(expansion, X[:n_rows]), rtol=1e-12)


def test_rows_far_away_are_moved_before_they_are_rounded(expansion, X):
    single = expansion._replace(
        **{name: getattr(expansion, name).astype(np.float32) for name in ("rows", "norms", "weights")}
    )
    point = np.full(X.shape[1], 1e7)
    scoring = new_scoring(KERNEL, new_vectors(single, N_ROWS), X + point, shift=point)
    score_rows(scoring)
    np.testing.assert_allclose(scoring.out[:, 0], direct(expansion, X), atol=1e-5)
    missing = X + point
    missing[7, 2] = np.nan
    with pytest.raises(UnfitRowsError):
        score_rows(new_scoring(KERNEL, new_vectors(single, N_ROWS), missing, shift=point))


@pytest.mark.parametrize("n_threads", [2, 4, 7])
def test_threads_share_out_the_rows(expansion, X, monkeypatch, n_threads):
    monkeypatch.setattr(crew, "usable_cores", lambda: 7)
    vectors = new_vectors(expansion, N_ROWS)
    alone, together = (new_scoring(KERNEL, vectors, X, n_threads=n) for n in (1, n_threads))
    score_rows(alone)
    together.out[:] = np.nan
    score_on_threads(together, n_threads)
    np.testing.assert_array_equal(together.out, alone.out)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_calls_end_now_and_then(expansion, X, monkeypatch, n_threads):
    """Ctrl-C is heard between calls of compiled code."""
    monkeypatch.setattr(dense_scores, "MOST_ROWS", 64)
    calls, score_some = [], dense_scores.score_some
    monkeypatch.setattr(dense_scores, "score_some", lambda *args: calls.append(score_some(*args)) or calls[-1])
    scoring = new_scoring(KERNEL, new_vectors(expansion, N_ROWS), X, n_threads=n_threads)
    score_on_threads(scoring, n_threads)
    assert len(calls) >= N_ROWS // (64 * n_threads)
    np.testing.assert_allclose(scoring.out[:, 0], direct(expansion, X), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_values_that_are_not_finite_are_found_by_any_thread(expansion, X, n_threads):
    X[-1, 0] = np.inf
    scoring = new_scoring(KERNEL, new_vectors(expansion, N_ROWS), X, n_threads=n_threads)
    with pytest.raises(UnfitRowsError):
        score_on_threads(scoring, n_threads)


@entry
def take_three(counter):
    return add_to(counter, 3)


def test_no_two_threads_take_the_same():
    counter, taken = np.zeros(1, np.int64), [[] for _ in range(4)]

    def take(mine):
        mine.extend(take_three(counter) for _ in range(500))

    workers = [threading.Thread(target=take, args=(mine,)) for mine in taken]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert sorted(np.concatenate(taken)) == list(range(0, 3 * 2000, 3))
