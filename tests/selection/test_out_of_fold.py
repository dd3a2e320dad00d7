"""Out-of-fold scores: those of machines that were fitted without the fold, whatever is shared."""

from importlib.util import find_spec

import numpy as np
import pytest

from frugalsvm.arrays.namespace import HOST, Arrays, arrays_on
from frugalsvm.compiling.threads import Threads
from frugalsvm.core.kernels import RBF
from frugalsvm.lowrank.continuation import solve
from frugalsvm.lowrank.cross_validation import cross_validated
from frugalsvm.lowrank.losses import SquaredHinge
from frugalsvm.lowrank.problem import Sample
from frugalsvm.selection.low_rank import Examples, Machinery, new_problem, ridge_scores

has_torch = find_spec("torch") is not None and find_spec("array_api_compat") is not None
# "arrays" is the back end of devices, on arrays of NumPy
DEVICES = ["compiled", "arrays", pytest.param("torch", marks=pytest.mark.skipif(not has_torch, reason="needs PyTorch"))]
KERNEL = RBF(gamma=0.5)
N_ROWS, N_LANDMARKS = 240, 40


def examples(n_outputs=3):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, 3)).astype(np.float32)
    labels = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5)
    targets = np.where(labels == np.arange(n_outputs)[:, None], 1.0, -1.0).astype(np.float32)
    return Examples(X, targets, rng.uniform(0.5, 2.0, N_ROWS).astype(np.float32))


def problem_on(device, given):
    made = {"compiled": lambda: HOST, "arrays": lambda: Arrays(np, "cpu"), "torch": lambda: arrays_on("torch")}
    return new_problem(KERNEL, given, N_LANDMARKS, SquaredHinge(), Machinery(made[device]()))


FOLDS = np.arange(N_ROWS) % 3


@pytest.mark.parametrize("device", DEVICES)
def test_ridge_machines_do_not_see_the_fold(device):
    given, ridges = examples(), (1e-3, 1e-1)
    problem, _ = problem_on(device, given)
    found = ridge_scores(problem, FOLDS, ridges)
    host, _ = problem_on("compiled", given)
    F = np.column_stack([host.whitening.features(host.rows.block), np.ones(N_ROWS)]).astype(float)
    for k, ridge in enumerate(ridges):
        for fold in range(3):
            kept, out = fold != FOLDS, fold == FOLDS
            weights = given.weights[kept].astype(float)
            penalty = ridge * weights.sum() * np.diag([*np.ones(F.shape[1] - 1), 0.0])
            H = F[kept].T @ (weights[:, None] * F[kept]) + penalty
            expected = F[out] @ np.linalg.solve(H, F[kept].T @ (weights * given.targets[:, kept]).T)
            np.testing.assert_allclose(found[k][:, out], expected.T, atol=2e-3)


@pytest.mark.parametrize("device", DEVICES)
def test_paths_are_those_of_machines_without_the_fold(device):
    """Shared kernel values and starts from the penalty before give what a fit of the other rows alone gives."""
    given, penalties = examples(), [1e-2, 1e-3]
    problem, options = problem_on(device, given)
    options = options._replace(tolerance=1e-9, max_iter=200)
    found = cross_validated(problem, options, FOLDS, penalties, np.random.default_rng(0))
    for fold in range(3):
        kept, out = np.flatnonzero(fold != FOLDS), np.flatnonzero(fold == FOLDS)
        for k, penalty in enumerate(penalties):
            # The same sum of losses, over fewer rows: the mean is larger by their share, and so must be the penalty.
            part = problem._replace(
                rows=type(problem.rows)(
                    *(
                        (problem.rows.block[kept],)
                        if device == "compiled"
                        else (problem.backend, problem.rows.block[kept])
                    )
                ),
                targets=problem.targets[:, kept],
                weights=problem.weights[kept],
                penalty=penalty * N_ROWS / len(kept),
            )
            solution = solve(part, Sample(*part[:3]), options, np.random.default_rng(0))
            expected = problem.arrays.host(problem.scores(solution.parameters))[:, out]
            np.testing.assert_allclose(found[k][:, out], expected, atol=5e-3)


@pytest.mark.parametrize("scores", [ridge_scores, cross_validated])
def test_rows_of_no_fold_have_no_scores(scores):
    problem, options = problem_on("compiled", examples())
    folds = np.where(np.arange(N_ROWS) < 200, -1, 0)
    if scores is ridge_scores:
        found = ridge_scores(problem, folds, (1e-3,))
    else:
        found = cross_validated(problem, options, folds, [1e-3], np.random.default_rng(0))
    assert (np.isnan(found[0]) == (folds < 0)).all()


def test_sparse_rows_are_scored_like_dense_ones():
    from scipy.sparse import csr_matrix

    given = examples()
    dense, sparse = (
        ridge_scores(problem_on("compiled", each)[0], FOLDS, (1e-3,))
        for each in (given, given._replace(X=csr_matrix(given.X)))
    )
    np.testing.assert_allclose(dense, sparse, atol=1e-3)


@pytest.mark.parametrize("scores", [ridge_scores, cross_validated])
def test_threads_change_nothing(scores, monkeypatch):
    monkeypatch.setattr("frugalsvm.selection.low_rank._PART_ROWS", 32)

    def scored(threads):
        problem, options = problem_on("compiled", examples())
        if scores is ridge_scores:
            return ridge_scores(problem, FOLDS, (1e-3, 1e-1), threads)
        return cross_validated(problem, options, FOLDS, [1e-2, 1e-3], np.random.default_rng(0), threads)

    np.testing.assert_array_equal(scored(Threads(1)), scored(Threads(3)))
