"""`AutoSVC` and `AutoSVR` with nothing chosen, in small; and limits of time, on a clock of the test."""

from functools import partial

import numpy as np
import pytest

from frugalsvm import AutoSVC, AutoSVR
from frugalsvm.selection.task import Clock

KERNELS = {"rbf", "laplacian", "matern12", "matern32"}


def rows_with_noise(n_rows):
    """Two columns decide, three are noise: a metric is worth learning."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 5))
    return X, np.sin(2 * X[:, 0]) + np.abs(X[:, 1])


@pytest.mark.parametrize("estimator", [AutoSVC(random_state=0), AutoSVR(random_state=0)], ids=["AutoSVC", "AutoSVR"])
def test_nothing_chosen(estimator):
    X, target = rows_with_noise(900)
    y = target if isinstance(estimator, AutoSVR) else np.where(target > 0.8, "high", "low")
    model = estimator.fit(X[:600], y[:600])
    assert {params["kernel"] for params in model.cv_results_["params"]} == KERNELS
    assert any(params["rows"].startswith("learned metric") for params in model.cv_results_["params"])
    assert model.score(X[600:], y[600:]) > 0.9
    assert model.best_score_ == pytest.approx(model.score(X[600:], y[600:]), abs=0.05)


class Ticks:
    """A clock on which every look takes a tenth of a second."""

    def __init__(self):
        self.seconds = 0.0

    def __call__(self):
        self.seconds += 0.1
        return self.seconds


@pytest.fixture
def searched(monkeypatch):
    def made(time_budget):
        now = Ticks()
        monkeypatch.setattr("frugalsvm.auto._machine.Clock", partial(Clock, now=now))
        X, target = rows_with_noise(600)
        model = AutoSVC(time_budget=time_budget, random_state=0).fit(X, target > 0.8)
        return model, now.seconds

    return made


def test_more_time_is_for_more_candidates(searched):
    found = [searched(limit) for limit in (0.5, 5.0, 50.0)]
    n_candidates = [len(model.cv_results_["params"]) for model, _ in found]
    assert n_candidates == sorted(set(n_candidates))
    assert found[1][1] < 5.5  # the first candidates are tried whatever the limit is, so that 0.5 are not enough
    assert found[2][1] < 51.0


def test_a_limit_that_is_over_is_told(searched):
    model, _ = searched(0.5)
    assert "There was no time for the kernel" in model.report()
    assert "There was no time to learn a metric." in model.report()


def test_the_same_time_gives_the_same_model(searched):
    one, other = searched(5.0)[0], searched(5.0)[0]
    assert one.best_params_ == other.best_params_
    assert one.cv_results_["params"] == other.cv_results_["params"]
