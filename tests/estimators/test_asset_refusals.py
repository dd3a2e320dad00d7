"""Nonsense that the low-rank machines must refuse: one clear sentence, and the model is as it was."""

import joblib
import numpy as np
import pytest
import scipy.sparse
from support import blobs

from frugalsvm import ASSETClassifier, ASSETRegressor

X, Y = blobs(200, 3, 2, seed=0)
VALUES = X[:, 0] + Y
X_NAN, X_INF = X[:20].copy(), X[:20].copy()
X_NAN[3, 1], X_INF[3, 1] = np.nan, np.inf
Y_NAN = VALUES[:20].copy()
Y_NAN[3] = np.nan
ROWS, LABELS, TARGETS = X[:20], Y[:20], VALUES[:20]
KINDS = {"classifier": ASSETClassifier, "regressor": ASSETRegressor}
SETTINGS = {"n_components": 10, "gamma": 0.3, "random_state": 0}

# Parameters of both that fit refuses, with a part of the sentence
BAD_PARAMETERS = {
    "unknown map": ({"feature_map": "wavelet"}, "feature_map='wavelet' is not one of 'nystroem', 'fourier'"),
    "unknown solver": ({"solver": "smo"}, "solver='smo' is not one of 'newton', 'asset', 'asset[*]'"),
    "unknown landmarks": ({"landmarks": "best"}, "landmarks='best' is not one of 'uniform', 'kmeans[+][+]', 'kmeans'"),
    "unknown loss": ({"loss": "logistic"}, "loss='logistic' is not one of '"),
    "unknown kernel": ({"kernel": "sigmoid"}, "kernel='sigmoid' is not one of 'rbf'"),
    "unknown structure": ({"structured": "yes"}, "structured='yes' is not one of 'auto', True, False"),
    "fourier of a polynomial": (
        {"feature_map": "fourier", "kernel": "poly"},
        "'fourier' works with kernel='rbf' or kernel='laplacian'",
    ),
    "C of 0": ({"C": 0}, "C must be a positive number, not 0"),
    "negative C": ({"C": -1.0}, "C must be a positive number, not -1.0"),
    "C that is nan": ({"C": np.nan}, "C must be a positive number, not nan"),
    "C that is true": ({"C": True}, "C must be a positive number, not True"),
    "C that is a word": ({"C": "1"}, "C must be a positive number, not '1'"),
    "no C": ({"C": None}, "C must be a positive number or a list of them, not None"),
    "no value of C": ({"C": []}, r"C must be a positive number or a list of them, not \[\]"),
    "C of 0 in a list": ({"C": [1.0, 0.0]}, "C must be a positive number, not 0.0"),
    "words and numbers": ({"C": [1.0, "2"]}, "C must be a positive number or a list of them"),
    "path of steps": ({"C": [1.0, 2.0], "solver": "asset"}, "list of C needs solver='newton', not 'asset'"),
    "alpha and a path": ({"C": [1.0, 2.0], "alpha": 0.1}, "with a list of C, it must be None"),
    "alpha of 0": ({"alpha": 0.0}, "alpha must be a positive number, not 0.0"),
    "no component": ({"n_components": 0}, "n_components must be an integer of at least 1, not 0"),
    "half a component": ({"n_components": 0.5}, "n_components must be an integer of at least 1, not 0.5"),
    "rank of 0": ({"rank": 0}, "rank must be an integer of at least 1, not 0"),
    "negative threshold": ({"eigenvalue_threshold": -1.0}, "eigenvalue_threshold must be a non-negative number"),
    "lots of memory": ({"memory": "lots"}, "memory='lots' is not a size such as '64KB'"),
    "memory that is a number": ({"memory": 5}, "memory must be a size such as '64KB'.*, not 5"),
    "more than all rows held": ({"early_stopping": True, "validation_fraction": 2}, "between 0 and 1, not 2"),
    "no rows held": ({"C": [1.0, 2.0], "validation_fraction": 0.0}, "validation_fraction must be between 0 and 1"),
    "no step": ({"max_iter": 0}, "max_iter must be an integer of at least 1, not 0"),
    "negative tolerance": ({"tol": -1}, "tol must be a non-negative number, not -1"),
    "no patience": ({"n_iter_no_change": 0}, "n_iter_no_change must be an integer of at least 1, not 0"),
    "negative gamma": ({"gamma": -1.0}, "gamma must be a positive number, not -1.0"),
    "unknown gamma": ({"gamma": "large"}, "gamma='large' is not one of 'scale', 'auto'"),
    "degree of 0": ({"kernel": "poly", "degree": 0}, "degree must be an integer of at least 1, not 0"),
    "negative coef0": ({"kernel": "poly", "coef0": -1.0}, "coef0 must be a non-negative number, not -1.0"),
}
# Those that end in something else than a sentence of ours
MORE_PARAMETERS = {
    "unknown average": ({"solver": "asset", "average": "foo"}, "average"),
    "average of nothing": ({"solver": "asset", "average": 0}, "average"),
    "fraction that is a word": ({"early_stopping": True, "validation_fraction": "half"}, "validation_fraction"),
    "no rows to learn": ({"early_stopping": True, "validation_fraction": 0.999}, "validation_fraction"),
    "no memory for held rows": ({"early_stopping": True, "memory": "100B"}, "memory"),
}

# What fit and partial_fit refuse: rows, weights, and a part of the sentence
BAD_ROWS = {
    "nan": (X_NAN, None, "NaN"),
    "infinity": (X_INF, None, "infinity"),
    "nan in sparse rows": (scipy.sparse.csr_array(X_NAN), None, "NaN"),
    "no rows": (X[:0], None, "0 sample|inconsistent"),
    "a vector": (X[0], None, "2D array"),
    "fewer rows than labels": (X[:19], None, "inconsistent number"),
    "negative weight": (ROWS, np.full(20, -1.0), "[Nn]egative"),
    "weight that is nan": (ROWS, np.full(20, np.nan), "NaN"),
    "fewer weights than rows": (ROWS, np.ones(19), r"sample_weight.shape == \(19,\)"),
    "no weight": (ROWS, np.zeros(20), "non-zero|nothing to learn"),
}


def assert_refused(model, call, message):
    """The call ends in a ValueError of this message, and every bit of the model is as it was; returns the sentence."""
    parameters, before = model.get_params(), joblib.hash(vars(model))
    with pytest.raises(ValueError, match=message) as error:
        call(model)
    model.set_params(**parameters)
    assert joblib.hash(vars(model)) == before
    return str(error.value)


def targets_of(model, n=20):
    return (Y if isinstance(model, ASSETClassifier) else VALUES)[:n]


@pytest.fixture(params=KINDS)
def kind(request):
    return KINDS[request.param]


@pytest.fixture(params=["fitted", "streaming"])
def model(request, kind):
    """A model after fit and a batch, and one in the middle of a stream."""
    model = kind(**SETTINGS)
    if request.param == "fitted":
        model.fit(X, targets_of(model, 200))
    return model.partial_fit(X[:30], targets_of(model, 30))


@pytest.mark.parametrize(
    ("name", "method"),
    [
        (name, method)
        for name, (parameters, _) in BAD_PARAMETERS.items()
        for method in ("fit", "partial_fit", "fit_batches")
        # the kernel of a stream was made with its first batch
        if method != "partial_fit" or not {"gamma", "degree", "coef0"} & set(parameters)
    ],
)
def test_parameters(kind, name, method):
    parameters, message = BAD_PARAMETERS[name]
    model = kind(**SETTINGS)
    model.fit(X, targets_of(model, 200))

    def call(model):
        model.set_params(**parameters)
        if method == "fit_batches":
            model.fit_batches([(ROWS, targets_of(model))])
        else:
            getattr(model, method)(ROWS, targets_of(model))

    sentence = assert_refused(model, call, message)
    assert sentence.endswith(".")
    assert "\n" not in sentence


@pytest.mark.parametrize("name", MORE_PARAMETERS)
def test_more_parameters(kind, name):
    parameters, message = MORE_PARAMETERS[name]
    model = kind(**SETTINGS).fit(X, Y)
    assert_refused(model, lambda model: model.set_params(**parameters).fit(ROWS, targets_of(model)), message)


@pytest.mark.parametrize("epsilon", [-0.1, np.nan, "small"])
def test_epsilon(epsilon):
    model = ASSETRegressor(**SETTINGS).fit(X, VALUES)
    message = "epsilon must be a non-negative number"
    assert_refused(model, lambda model: model.set_params(epsilon=epsilon).fit(X, VALUES), message)


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize("name", BAD_ROWS)
def test_rows(model, name, method):
    rows, weights, message = BAD_ROWS[name]
    y = targets_of(model)
    assert_refused(model, lambda model: getattr(model, method)(rows, y, sample_weight=weights), message)


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_no_targets(model, method):
    assert_refused(model, lambda model: getattr(model, method)(ROWS, None), "requires y to be passed")


@pytest.mark.parametrize("width", [2, 4])
def test_width(model, width):
    rows = np.ones((20, width))
    assert_refused(model, lambda model: model.partial_fit(rows, targets_of(model)), f"X has {width} features")
    assert_refused(model, lambda model: model.predict(rows), f"X has {width} features")


@pytest.mark.parametrize("bad", [X_NAN, X_INF, X[:0], X[0]])
def test_prediction(model, bad):
    assert_refused(model, lambda model: model.predict(bad), "NaN|infinity|0 sample|2D array")


class TestClassifier:
    @pytest.fixture
    def model(self):
        return ASSETClassifier(**SETTINGS).fit(X, Y)

    @pytest.mark.parametrize("method", ["fit", "partial_fit"])
    @pytest.mark.parametrize("labels", [Y_NAN, TARGETS], ids=["nan", "continuous"])
    def test_labels(self, model, method, labels):
        assert_refused(model, lambda model: getattr(model, method)(ROWS, labels), "NaN|continuous")

    def test_one_class(self, model):
        assert_refused(model, lambda model: model.fit(ROWS, np.ones(20, int)), "at least two classes.*one class")
        assert_refused(model, lambda model: model.fit_batches([(ROWS, np.ones(20, int))]), "at least two classes")
        new = ASSETClassifier(**SETTINGS)
        assert_refused(new, lambda new: new.partial_fit(ROWS, np.ones(20, int)), "one class only, 1; pass all classes")

    def test_unknown_label(self, model):
        message = r"Label 9 \(row 1\) is not one of the classes \[0, 1\]"
        assert_refused(model, lambda model: model.partial_fit(X[:2], [0, 9]), message)
        assert_refused(model, lambda model: model.partial_fit(X[:2], ["a", "b"]), "Label 'a' .* is not one of")
        message = "differs from the classes of the first call"
        assert_refused(model, lambda model: model.partial_fit(ROWS, LABELS, classes=[0, 1, 2]), message)

    def test_class_weight(self, model):
        message = "class_weight must be non-negative numbers"
        assert_refused(model, lambda model: model.set_params(class_weight={0: -1.0}).fit(X, Y), message)
        message = "class_weight='balanced' needs all labels beforehand"
        assert_refused(
            model, lambda model: model.set_params(class_weight="balanced").partial_fit(ROWS, LABELS), message
        )


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values(method, value):
    model, y = ASSETRegressor(**SETTINGS).fit(X, VALUES), TARGETS.copy()
    y[3] = value
    assert_refused(model, lambda model: getattr(model, method)(ROWS, y), "y contains (NaN|infinity)")
    assert_refused(model, lambda model: model.fit_batches([(ROWS, TARGETS), (ROWS, y)]), "y contains (NaN|infinity)")


class TestBatches:
    """What fit_batches refuses before it learns."""

    def refused(self, model, batches, message):
        assert_refused(model, lambda model: model.fit_batches(batches), message)

    def test_iterators(self, model):
        y = targets_of(model)
        self.refused(model, iter([(ROWS, y)]), "an iterator can be read only once")
        self.refused(model, ((ROWS, y) for _ in range(2)), "an iterator can be read only once")

    def test_nothing(self, model):
        self.refused(model, [], "There are no batches: nothing to learn from")

    def test_weights_of_some(self, model):
        y = targets_of(model)
        batches = [(ROWS, y, np.ones(20)), (ROWS, y)]
        self.refused(model, batches, "Some batches have sample weights and some have none")
        self.refused(model, batches[::-1], "Some batches have sample weights and some have none")

    def test_rows(self, model):
        y = targets_of(model)
        self.refused(model, [(ROWS, y), (X_NAN, y)], "NaN")
        self.refused(model, [(ROWS, y), (ROWS[:, :2], y)], "X has 2 features")
        self.refused(model, [(ROWS, y), (ROWS, y[:19])], r"Batch 1 has 20 rows, but its y has the shape \(19,\)")

    @pytest.mark.parametrize(
        ("weights", "message"),
        [
            (np.full(20, -1.0), "[Nn]egative"),
            (np.full(20, np.nan), "weight.*NaN"),
            (np.ones(19), "sample_weight.shape|weights"),
            (np.zeros(20), "non-zero|nothing to learn"),
        ],
        ids=["negative", "nan", "fewer", "zero"],
    )
    def test_weights(self, model, weights, message):
        self.refused(model, [(ROWS, targets_of(model), weights)], message)

    @pytest.mark.parametrize(
        "labels", [np.where(np.arange(20) == 3, np.nan, LABELS), TARGETS], ids=["nan", "continuous"]
    )
    def test_labels(self, labels):
        self.refused(ASSETClassifier(**SETTINGS).fit(X, Y), [(ROWS, labels)], "NaN|continuous")

    def test_fewer_rows_in_the_second_pass(self, model):
        y, n_passes = targets_of(model), []

        def batches():
            n_passes.append(1)
            n = 20 if len(n_passes) == 1 else 10
            return [(ROWS[:n], y[:n])]

        self.refused(model, batches, "batches")
