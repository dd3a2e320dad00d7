"""Problems that are solved side by side: as good as one after the other."""

import numpy as np
import pytest
from device_support import LOSSES, Wave
from test_device_solve import trained_on

from frugalsvm.lowrank import side_by_side
from frugalsvm.lowrank.continuation import solve
from frugalsvm.lowrank.cross_validation import cross_validated
from frugalsvm.lowrank.side_by_side import fits_side_by_side, solve_side_by_side

LOSSES_HERE = ("squared_hinge", "squared_epsilon_insensitive")
PENALTIES = (1e-2, 1e-3, 1e-5)
each_loss = pytest.mark.parametrize("loss", LOSSES_HERE)


def training_of(arrays, wave, loss, intercept=True):
    made = trained_on(arrays, wave, loss, intercept, X=wave.X)[1]
    return made._replace(options=made.options._replace(tolerance=1e-4, max_iter=100, unit=wave.unit))


def alone(training, weights, penalty):
    """Objectives of a problem that is solved by itself."""
    problem = training.problem._replace(weights=weights, penalty=penalty)
    sample = training.sample._replace(weights=weights)
    return solve(problem, sample, training.options, np.random.default_rng(0)).objectives


def objectives(problem, weights, penalty, parameters):
    problem = problem._replace(weights=weights, penalty=penalty)
    return problem.objectives(problem.point_at(parameters))


@each_loss
@pytest.mark.parametrize("intercept", [False, True], ids=["through zero", "intercept"])
def test_objectives_of_folds_and_penalties(arrays, loss, intercept):
    wave = Wave(loss, n_outputs=2, weighted=True)
    training = training_of(arrays, wave, loss, intercept)
    problem = training.problem
    folds = np.arange(problem.n_rows) % 3
    weights = arrays.xp.stack([problem.weights * arrays.asarray((folds != k).astype(np.float32)) for k in range(3)])
    found = solve_side_by_side(problem, weights, PENALTIES, training.options)
    assert found.shape == (3, len(PENALTIES), 2, problem.n_features + 1)
    assert intercept == bool((arrays.host(found)[..., -1] != 0).all())
    for k in range(3):
        for one, penalty in zip(found[k], PENALTIES, strict=True):
            reached = objectives(problem, weights[k], penalty, one)
            np.testing.assert_allclose(reached, alone(training, weights[k], penalty), rtol=3e-3)


def test_as_many_at_a_time_as_there_is_room_for(arrays, monkeypatch):
    training = training_of(arrays, Wave("squared_hinge"), "squared_hinge")
    arguments = training.problem, training.problem.weights[None, :], PENALTIES, training.options
    whole = arrays.host(solve_side_by_side(*arguments))
    monkeypatch.setattr(side_by_side, "_MOST_NUMBERS", 2 * training.problem.n_rows)
    np.testing.assert_allclose(arrays.host(solve_side_by_side(*arguments)), whole, rtol=1e-2, atol=1e-3)


def test_out_of_fold_scores_are_those_of_one_after_the_other(arrays, monkeypatch):
    training = training_of(arrays, Wave("squared_hinge", n_outputs=3), "squared_hinge")
    folds = np.arange(training.problem.n_rows) % 3 - 1  # a third of the rows is in no fold
    arguments = training.problem, training.options, folds, PENALTIES, np.random.default_rng(0)
    found = cross_validated(*arguments)
    assert np.isnan(found[:, :, folds < 0]).all()
    monkeypatch.setattr("frugalsvm.lowrank.cross_validation.fits_side_by_side", lambda *each: False)
    expected = cross_validated(*arguments)
    np.testing.assert_allclose(found[:, :, folds >= 0], expected[:, :, folds >= 0], atol=0.05)


def test_what_is_not_solved_like_this(arrays):
    problem = training_of(arrays, Wave("squared_hinge"), "squared_hinge").problem
    assert fits_side_by_side(problem, 2)
    assert not fits_side_by_side(problem, 1)
    assert not fits_side_by_side(problem._replace(loss=LOSSES["hinge"]), 2)
