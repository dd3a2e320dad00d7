"""Displays of estimators, as in notebooks: they compute nothing costly, and show estimators as what they are."""

import inspect

import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_html_repr
from support import blobs

import frugalsvm
from frugalsvm import IncrementalSVC, LASVMClassifier
from frugalsvm.estimators import example_changes

X, Y = blobs(200, 3, 2, seed=0)
SETTINGS = {
    "ASSETClassifier": {"n_components": 20},
    "ASSETRegressor": {"n_components": 20},
    "BPAClassifier": {"budget": 20},
    "BSGDClassifier": {"budget": 20},
    "ASSETOneClassSVM": {"n_components": 20},
    "BSGDOneClassSVM": {"budget": 20},
    "BSGDRegressor": {"budget": 20},
    "BudgetedPerceptron": {"budget": 20},
    "IncrementalSVC": {},
    "LASVMClassifier": {},
    "LocalSVC": {},
    "LocalSVR": {},
    "TVMClassifier": {"budget": 20},
    "TrackingSVC": {},
}


def test_the_leave_one_out_error_is_shown_only_when_it_is_known(monkeypatch):
    model = IncrementalSVC().fit(X, Y)
    with monkeypatch.context() as forbidden:
        forbidden.setattr(example_changes, "left_out_values", None)  # what takes long
        assert "loo_error_" not in estimator_html_repr(model)
        assert "loo_error_" not in dict(inspect.getmembers(model))
    error = model.loo_error_
    assert dict(inspect.getmembers(model))["loo_error_"] == error
    model.partial_fit(X[:1], Y[:1])
    assert "loo_error_" not in dir(model)


@pytest.mark.parametrize("name", SETTINGS)
def test_a_display_predicts_and_learns_nothing(name, monkeypatch):
    model = getattr(frugalsvm, name)(**SETTINGS[name])
    assert estimator_html_repr(model)
    model.fit(X, Y)
    calls = []
    module = inspect.getmodule(type(model))
    for function in ("decision_values", "left_out_values", "learn"):
        if hasattr(module, function):
            monkeypatch.setattr(module, function, lambda *args: calls.append(args))
    for method in ("_scores", "_output", "_learn", "_fit_rows", "predict", "decision_function"):
        if hasattr(type(model), method):
            monkeypatch.setattr(type(model), method, lambda *args: calls.append(args))
    assert name in estimator_html_repr(model)
    assert calls == []


def test_no_estimator_is_taken_for_a_pipeline():
    for name in SETTINGS:
        model = getattr(frugalsvm, name)()
        assert not [
            mark for mark in ("steps", "estimators", "transformers", "transformer_list") if hasattr(model, mark)
        ]


def test_a_pipeline_with_one_is_shown_as_two_steps():
    shown = estimator_html_repr(make_pipeline(StandardScaler(), LASVMClassifier()).fit(X, Y))
    assert shown.count("sk-serial") >= 1
    assert "LASVMClassifier" in shown


def test_the_names_of_all_parameters_are_shown():
    shown = estimator_html_repr(LASVMClassifier(step_type="single"))
    assert all(name in shown for name in LASVMClassifier().get_params())
