"""Nonsense that the classifiers made of machines must refuse: one clear sentence, and the model is as it was."""

import joblib
import numpy as np
import pytest
import scipy.sparse
from support import blobs

from frugalsvm import BPAClassifier, BudgetedPerceptron

X, Y = blobs(200, 3, 2, seed=0)
X_NAN, X_INF = X[:20].copy(), X[:20].copy()
X_NAN[3, 1], X_INF[3, 1] = np.nan, np.inf
BATCH = (X[:20], Y[:20])

# What fit and partial_fit refuse: arguments, keywords, and a part of the sentence
BAD_BATCHES = {
    "nan": ((X_NAN, Y[:20]), {}, "NaN"),
    "infinity": ((X_INF, Y[:20]), {}, "infinity"),
    "nan in sparse rows": ((scipy.sparse.csr_matrix(X_NAN), Y[:20]), {}, "NaN"),
    "no rows": ((X[:0], Y[:0]), {}, "0 sample"),
    "one row as a vector": ((X[0], Y[:1]), {}, "2D array"),
    "more labels than rows": ((X[:20], Y[:21]), {}, "20 rows, but y has 21 labels"),
    "no labels": ((X[:20], None), {}, "requires y to be passed"),
    "continuous labels": ((X[:20], X[:20, 0]), {}, "continuous"),
    "negative weight": (BATCH, {"sample_weight": np.full(20, -1.0)}, "[Nn]egative"),
    "weight that is nan": (BATCH, {"sample_weight": np.full(20, np.nan)}, "NaN"),
    "fewer weights than rows": (BATCH, {"sample_weight": np.ones(19)}, r"sample_weight.shape == \(19,\)"),
}
# What partial_fit refuses besides, from a model of the classes 0 and 1
BAD_PARTIAL_BATCHES = {
    "more features": ((np.ones((20, 4)), Y[:20]), {}, "4 features"),
    "fewer features": ((X[:20, :2], Y[:20]), {}, "2 features"),
    "unseen label": ((X[:20], np.where(Y[:20] == 1, 9, 0)), {}, r"Label 9 .* not one of the classes \[0, 1\]"),
    "label of another type": ((X[:20], np.where(Y[:20] == 1, "a", "b")), {}, r"Label '\w' .* not one of"),
    "other classes": (BATCH, {"classes": [0, 1, 2]}, "differs from the classes of the first call"),
}
# Parameters of both that fit refuses
BAD_PARAMETERS = {
    "budget of 1": ({"budget": 1}, "budget must be an integer of at least 2"),
    "budget of 2.5": ({"budget": 2.5}, "budget must be an integer"),
    "budget of True": ({"budget": True}, "budget must be an integer"),
    "budget that is no size": ({"budget": "lots"}, "not a size"),
    "budget of too few bytes": ({"budget": "79B"}, "fewer than 2 support vectors of 40 bytes each"),
    "unknown kernel": ({"kernel": "sigmoid"}, "kernel='sigmoid' is not one of '"),
    "negative gamma": ({"gamma": -1.0}, "gamma must be a positive number, not -1.0"),
    "gamma that is nan": ({"gamma": np.nan}, "gamma must be a positive number"),
    "unknown gamma": ({"gamma": "large"}, "gamma='large' is not one of 'scale', 'auto'"),
    "degree of 0": ({"kernel": "poly", "degree": 0}, "degree must be an integer"),
    "negative coef0": ({"kernel": "poly", "coef0": -1.0}, "coef0 must be a non-negative number"),
    "no pass": ({"max_iter": 0}, "max_iter must be an integer of at least 1"),
    "half a pass": ({"max_iter": 0.5}, "max_iter must be an integer of at least 1"),
    "negative class weight": ({"class_weight": {0: -1.0}}, "class_weight must be non-negative numbers"),
}


PERCEPTRON_PARAMETERS = {
    "unknown strategy": ({"strategy": "proyectron"}, "strategy='proyectron' is not one of 'stop', 'random'"),
    "no strategy": ({"strategy": None}, "strategy=None is not one of"),
    "margin of 2": ({"margin": 2}, "margin=2 is not one of 0, 1"),
    "margin of a half": ({"margin": 0.5}, "margin=0.5 is not one of 0, 1"),
    "threshold of another strategy": ({"threshold": 0.5}, "threshold is for 'projectron' and .*, not for 'random'"),
    "negative threshold": ({"strategy": "projectron", "threshold": -0.1}, "threshold must be a non-negative number"),
    "threshold that is nan": ({"strategy": "projectron", "threshold": np.nan}, "threshold must be a non-negative"),
    "step of 0": ({"eta0": 0.0}, "eta0 must be a positive number"),
    "infinite step": ({"eta0": np.inf}, "eta0 must be a positive number"),
    "negative alpha": ({"strategy": "silk", "alpha": -1.0}, "alpha must be a non-negative number"),
}
BPA_PARAMETERS = {
    "unknown variant": ({"variant": "nearest"}, "variant='nearest' is not one of 'simple', 'nn', 'projecting'"),
    "step of 0": ({"C": 0.0}, "C must be a positive number, not 0.0"),
    "negative step": ({"C": -1.0}, "C must be a positive number"),
    "step that is no number": ({"C": "1"}, "C must be a positive number, not '1'"),
}
MODELS = {"perceptron": BudgetedPerceptron, "bpa": BPAClassifier}


def assert_refused(model, call, message):
    """The call ends in a ValueError of this message, and every bit of the model is as it was; returns the sentence."""
    parameters, before = model.get_params(), joblib.hash(vars(model))
    with pytest.raises(ValueError, match=message) as error:
        call(model)
    model.set_params(**parameters)
    assert joblib.hash(vars(model)) == before
    return str(error.value)


@pytest.fixture(params=MODELS)
def new_model(request):
    return lambda: MODELS[request.param](budget=10, gamma=0.3, shuffle=False, random_state=0)


@pytest.fixture
def model(new_model):
    return new_model().fit(X, Y)


@pytest.mark.parametrize("name", [*BAD_BATCHES, *BAD_PARTIAL_BATCHES])
def test_partial_fit(model, name):
    arguments, keywords, message = {**BAD_BATCHES, **BAD_PARTIAL_BATCHES}[name]
    assert_refused(model, lambda model: model.partial_fit(*arguments, **keywords), message)


@pytest.mark.parametrize("name", BAD_BATCHES)
def test_fit(model, name):
    arguments, keywords, message = BAD_BATCHES[name]
    assert_refused(model, lambda model: model.fit(*arguments, **keywords), message)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *((kind, name) for kind in MODELS for name in BAD_PARAMETERS),
        *(("perceptron", name) for name in PERCEPTRON_PARAMETERS),
        *(("bpa", name) for name in BPA_PARAMETERS),
    ],
)
def test_parameters(kind, name):
    own = PERCEPTRON_PARAMETERS if kind == "perceptron" else BPA_PARAMETERS
    parameters, message = {**BAD_PARAMETERS, **own}[name]
    model = MODELS[kind](budget=10, gamma=0.3).fit(X, Y)
    sentence = assert_refused(model, lambda model: model.set_params(**parameters).fit(X, Y), message)
    assert sentence.endswith(".")
    assert "\n" not in sentence


def test_one_class(model):
    assert_refused(model, lambda model: model.fit(X, np.ones(200, int)), "at least two classes, .* are 1: one class")


def test_rows_of_another_width_are_forgotten_too(model):
    """The number of features is written down before the labels are looked at."""
    assert_refused(model, lambda model: model.fit(np.ones((20, 5)), np.ones(20, int)), "one class")


def test_one_class_in_the_first_batch(new_model):
    """These models cannot meet new classes later, and the sentence offers no such thing."""
    model = new_model()
    message = r"first batch has one class only, 1; pass all classes as `classes`\.$"
    assert_refused(model, lambda model: model.partial_fit(X, np.ones(200, int)), message)
    assert not hasattr(model, "n_features_in_")


def test_balanced_needs_all_labels(model):
    message = "class_weight='balanced' needs all labels beforehand"
    assert_refused(model, lambda model: model.set_params(class_weight="balanced").partial_fit(*BATCH), message)


def test_unseen_label_one_against_the_rest():
    rows, labels = blobs(100, 3, 4, seed=0)
    model = BPAClassifier(budget=10, gamma=0.3).fit(rows, labels)
    message = r"Label 9 \(row 1\) is not one of the classes \[0, 1, 2, 3\]"
    assert_refused(model, lambda model: model.partial_fit(rows[:2], [0, 9]), message)


def test_numbers_as_labels_of_a_model_of_text():
    model = BPAClassifier(budget=10, gamma=0.3).fit(X, np.array(["no", "yes"], object)[Y])
    message = r"Labels like 0 do not mix with the classes \['no', 'yes'\]"
    assert_refused(model, lambda model: model.partial_fit(*BATCH), message)


@pytest.mark.parametrize("bad", [X_NAN, X_INF, np.ones((2, 4)), X[:0]])
def test_prediction(model, bad):
    assert_refused(model, lambda model: model.decision_function(bad), "NaN|infinity|4 features|0 sample")
