"""The last fit of a search: it converges, or says that it did not; and what it warns of."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from frugalsvm import ASSETClassifier, AutoSVC, AutoSVR
from frugalsvm.auto import _last_fit
from frugalsvm.auto._last_fit import _converged, _words
from frugalsvm.estimators import low_rank_machine
from frugalsvm.exceptions import PoorFitWarning

LOW_RANK = {"kernel": "rbf", "metric": None, "n_components": 200, "random_state": 0}


@pytest.fixture(scope="module")
def waves():
    X = np.random.default_rng(0).uniform(-3, 3, size=(600, 2))
    return X, (np.sin(2 * X[:, 0]) * X[:, 1] > 0).astype(int)


def few_steps(monkeypatch, n_steps, tol):
    """Let the last fit begin with so few steps, and end at a tolerance that needs more; returns what C it had."""
    monkeypatch.setattr(low_rank_machine, "NEWTON_STEPS", n_steps)
    monkeypatch.setattr(_last_fit, "NEWTON_STEPS", n_steps)
    values, plain = [], ASSETClassifier.fit

    def noted(self, *rows):
        values.append(self.C)
        return plain(self.set_params(tol=tol), *rows)

    monkeypatch.setattr(ASSETClassifier, "fit", noted)
    return values


def is_optimal(model):
    return model.suboptimality_bound_ <= 2 * model.tol * model.objective_


def test_more_steps_where_these_were_not_enough(waves, monkeypatch):
    values = few_steps(monkeypatch, 1, tol=1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model = AutoSVC(**LOW_RANK).fit(*waves)
    assert is_optimal(model.model_)
    assert model.model_.max_iter in (4, 16)
    assert len(set(values)) == 1 < len(values)


def test_another_value_of_C_where_no_steps_are_enough(waves, monkeypatch):
    values = few_steps(monkeypatch, 1, tol=1e-12)
    monkeypatch.setattr(_last_fit, "_MORE_STEPS", (1,))
    X, y = waves
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model = AutoSVC(**LOW_RANK).fit(X, y)
    assert values[0] == values[1] > values[-1]  # the best again, then smaller ones
    assert model.best_params_["C"] in values
    assert model.best_params_["C"] == model.model_.C
    told = [str(each.message) for each in told if each.category is ConvergenceWarning]
    assert is_optimal(model.model_) or (len(told) == 1 and told[0].startswith("AutoSVC stopped before its last fit"))


def test_a_fit_that_ran_out_of_time_says_what_helps(waves):
    X, y = waves
    rows, clock = SimpleNamespace(X=X, y=y, weights=None), SimpleNamespace(spent=0.0, fits=lambda seconds: False)
    machine = ASSETClassifier(n_components=64, gamma=1.0, C=1e4, max_iter=1, tol=1e-12, random_state=0)
    for budget, end in (("1h", "; with a longer time budget it takes more steps."), (None, " above the optimum.")):
        model, _, (told,) = _converged(iter([(machine, None)]), rows, clock)
        words = _words(AutoSVC(time_budget=budget), model, told)
        assert words.startswith("AutoSVC stopped before its last fit converged: the objective may be")
        assert words.endswith(end)  # no word of max_iter, which AutoSVC has not


@pytest.mark.parametrize("n_components", ["auto", 32])
def test_warnings_name_the_estimator_that_was_called(n_components):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 2)), (rng.random(120) < 0.05).astype(int)
    with pytest.warns(PoorFitWarning, match="^AutoSVC is no better than always predicting") as told:
        AutoSVC(**{**LOW_RANK, "n_components": n_components}).fit(X, y)
    (poor,) = [str(each.message) for each in told if each.category is PoorFitWarning]
    assert poor.endswith("%. Where rare classes count, set class_weight='balanced'.")  # it has scaled and chosen


def test_one_row_of_each_class():
    X = np.random.default_rng(0).normal(size=(20, 2))
    with pytest.raises(ValueError, match="Every class has one row only: AutoSVC compares machines by rows left out"):
        AutoSVC().fit(X, np.arange(20))


@pytest.mark.parametrize("kind", [AutoSVC, AutoSVR])
def test_rows_that_are_very_small(waves, kind):
    X, y = waves
    X = X[:300] * [1e-160, 5e-160]  # of which the unit may matter: they are not tried as they are
    model = kind(kernel="rbf", metric=None, random_state=0).fit(X, y[:300])
    assert model.score(X, y[:300]) > 0.8
    assert model.best_params_["rows"] == "scaled"
