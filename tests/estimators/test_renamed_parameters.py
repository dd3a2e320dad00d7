"""The former name of a parameter: accepted with a warning, never an attribute, and found in old files."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from support import blobs

from frugalsvm import LASVMClassifier

X, Y = blobs(60, 2, 2, seed=0)
WARNING = "'steps' of LASVMClassifier is now called 'step_type'"


def test_the_constructor_takes_the_old_name():
    with pytest.warns(FutureWarning, match=WARNING):
        model = LASVMClassifier(steps="single")
    assert model.step_type == "single"
    assert not hasattr(model, "steps")
    assert "steps" not in model.get_params()


def test_set_params_takes_the_old_name():
    with pytest.warns(FutureWarning, match=WARNING):
        model = LASVMClassifier().set_params(steps="single", C=2.0)
    assert (model.step_type, model.C) == ("single", 2.0)
    pipeline = make_pipeline(LASVMClassifier())
    with pytest.warns(FutureWarning, match=WARNING):
        pipeline.set_params(lasvmclassifier__steps="single")
    assert pipeline[-1].step_type == "single"


def test_the_warning_points_at_the_caller():
    with pytest.warns(FutureWarning, match=WARNING) as caught:
        LASVMClassifier(steps="single")
    assert caught[0].filename == __file__


def test_a_search_takes_the_old_name():
    with pytest.warns(FutureWarning, match=WARNING):
        search = GridSearchCV(LASVMClassifier(), {"steps": ["single"]}, cv=2).fit(X, Y)
    assert search.best_estimator_.step_type == "single"


def test_both_names_are_refused():
    with pytest.raises(TypeError, match="former name of 'step_type': set the latter only"):
        LASVMClassifier().set_params(steps="single", step_type="pair")


def test_unknown_names_are_refused():
    with pytest.raises(TypeError, match="unexpected keyword argument 'stepss'"):
        LASVMClassifier(stepss="pair")
    with pytest.raises(ValueError, match="Invalid parameter 'stepss'"):
        LASVMClassifier().set_params(stepss="pair")


def test_the_new_name_warns_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert clone(LASVMClassifier(step_type="single")).step_type == "single"


def made_by_an_older_version(model):
    vars(model)["steps"] = vars(model).pop("step_type")
    return model


def test_old_pickles_are_read():
    model = LASVMClassifier(step_type="single").fit(X, Y)
    expected = model.decision_function(X)
    old = pickle.loads(pickle.dumps(made_by_an_older_version(model)))
    assert old.step_type == "single"
    assert not hasattr(old, "steps")
    np.testing.assert_array_equal(old.decision_function(X), expected)
