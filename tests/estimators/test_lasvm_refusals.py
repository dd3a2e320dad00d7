"""Nonsense that LASVMClassifier must refuse: one clear sentence, and the model is as it was."""

import numpy as np
import pytest
from test_refusals import BAD_BATCHES, BAD_PARTIAL_BATCHES, BATCH, X_INF, X_NAN, X, Y, assert_refused

from frugalsvm import LASVMClassifier

BAD_PARAMETERS = {
    "unknown variant": ({"variant": "h"}, "variant='h' is not one of 'lasvm', 'g', 'nc', 'i', 'full'"),
    "no variant": ({"variant": None}, "variant=None is not one of"),
    "a list of variants": ({"variant": ["g"]}, r"variant=\['g'\] is not one of"),
    "C of 0": ({"C": 0.0}, "C must be a positive number, not 0.0"),
    "negative C": ({"C": -1.0}, "C must be a positive number"),
    "infinite C": ({"C": np.inf}, "C must be a positive number"),
    "C that is no number": ({"C": "1"}, "C must be a positive number, not '1'"),
    "ramp that ends at 1": ({"s": 1.0}, "s must be a number below 1, not 1.0"),
    "ramp that ends at nan": ({"s": np.nan}, "s must be a number below 1, not nan"),
    "ramp that ends at a word": ({"s": "-1"}, "s must be a number below 1, not '-1'"),
    "ramp that ends nowhere": ({"s": None}, "s must be a number below 1, not None"),
    "unknown kernel": ({"kernel": "sigmoid"}, "kernel='sigmoid' is not one of 'rbf'"),
    "negative gamma": ({"gamma": -1.0}, "gamma must be a positive number, not -1.0"),
    "unknown gamma": ({"gamma": "large"}, "gamma='large' is not one of 'scale', 'auto'"),
    "degree of 0": ({"kernel": "poly", "degree": 0}, "degree must be an integer"),
    "negative coef0": ({"kernel": "poly", "coef0": -1.0}, "coef0 must be a non-negative number"),
    "unknown type of step": ({"step_type": "triple"}, "step_type='triple' is not one of 'pair', 'single'"),
    "tolerance of 0": ({"tol": 0.0}, "tol must be a positive number"),
    "unknown finish": ({"finish": "maybe"}, "finish='maybe' is not one of True, False, 'auto'"),
    "negative warm-up": ({"warm_up": -1}, "warm_up must be an integer of at least 0"),
    "no cleaning interval": ({"clean_every": 0}, "clean_every must be an integer of at least 1"),
    "half an idle member": ({"max_idle": 0.5}, "max_idle must be an integer of at least 0"),
    "unknown selection": ({"selection": "best"}, "selection='best' is not one of 'random', 'margin', 'gradient'"),
    "empty pool": ({"selection": "margin", "pool_size": 0}, "pool_size must be an integer of at least 1"),
    "nothing selected": ({"selection": "margin", "n_selected": 0}, "n_selected must be an integer of at least 1"),
    "no cache": ({"cache_size": 0}, "cache_size must be a positive number"),
    "no pass": ({"max_iter": 0}, "max_iter must be an integer of at least 1"),
    "half a pass": ({"max_iter": 0.5}, "max_iter must be an integer of at least 1"),
    "negative class weight": ({"class_weight": {0: -1.0}}, "class_weight must be non-negative numbers"),
}


@pytest.fixture(params=["g", "lasvm"])
def model(request):
    return LASVMClassifier(request.param, gamma=0.3, cache_size=0.1, shuffle=False, random_state=0).fit(X, Y)


@pytest.mark.parametrize("name", [*BAD_BATCHES, *BAD_PARTIAL_BATCHES])
def test_partial_fit(model, name):
    arguments, keywords, message = {**BAD_BATCHES, **BAD_PARTIAL_BATCHES}[name]
    assert_refused(model, lambda model: model.partial_fit(*arguments, **keywords), message)


@pytest.mark.parametrize("warm_start", [False, True])
@pytest.mark.parametrize("name", BAD_BATCHES)
def test_fit(model, name, warm_start):
    arguments, keywords, message = BAD_BATCHES[name]
    model.set_params(warm_start=warm_start)
    assert_refused(model, lambda model: model.fit(*arguments, **keywords), message)


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize("name", BAD_PARAMETERS)
def test_parameters(model, name, method):
    parameters, message = BAD_PARAMETERS[name]
    if method == "partial_fit" and {"kernel", "gamma"} & set(parameters):
        model = LASVMClassifier(random_state=0)  # what is read in the first call only
    sentence = assert_refused(model, lambda model: getattr(model.set_params(**parameters), method)(X, Y), message)
    assert sentence.endswith(".")
    assert "\n" not in sentence


def test_one_class(model):
    assert_refused(model, lambda model: model.fit(X, np.ones(200, int)), "at least two classes, .* are 1: one class")


def test_one_class_in_the_first_batch():
    """These models cannot meet new classes later, and the sentence offers no such thing."""
    message = r"first batch has one class only, 1; pass all classes as `classes`\.$"
    model = LASVMClassifier()
    assert_refused(model, lambda model: model.partial_fit(X, np.ones(200, int)), message)
    assert not hasattr(model, "n_features_in_")


def test_balanced_needs_all_labels(model):
    message = "class_weight='balanced' needs all labels beforehand"
    assert_refused(model, lambda model: model.set_params(class_weight="balanced").partial_fit(*BATCH), message)


@pytest.mark.parametrize("bad", [X_NAN, X_INF, np.ones((2, 4)), X[:0]])
def test_prediction(model, bad):
    assert_refused(model, lambda model: model.decision_function(bad), "NaN|infinity|4 features|0 sample")


@pytest.mark.parametrize("finish", [np.True_, np.False_])
def test_finish_of_another_type_is_not_ignored(finish):
    """Grids of parameters are arrays, and their elements are no bools of Python."""
    model, expected = (LASVMClassifier(gamma=0.3, random_state=0, finish=f).fit(X, Y) for f in (finish, bool(finish)))
    assert model.member_gap_ == expected.member_gap_
