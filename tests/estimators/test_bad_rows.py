"""Rows, targets and weights that estimators must refuse: one clear sentence, and the model is as it was."""

import numpy as np
import pytest
import scipy.sparse
from refusals import (
    CLASSIFIERS,
    LABELS,
    LEARNED,
    VALUES,
    X,
    assert_refused,
    fitted_model,
    new_model,
    targets_of,
)
from support import blobs

from frugalsvm import ASSETClassifier, ASSETRegressor, BPAClassifier, BSGDClassifier, BSGDRegressor, LocalSVR

ROWS, BATCH = X[:20], (X[:20], LABELS[:20])
X_NAN, X_INF = ROWS.copy(), ROWS.copy()
X_NAN[3, 1], X_INF[3, 1] = np.nan, np.inf
ASSET = ("asset", "asset-regressor")
# Online learners that report how many labels there are; the others leave it to scikit-learn
COUNTING = ("bsgd", "perceptron", "bpa", "lasvm-g", "lasvm")

# What fit and partial_fit refuse, whatever the targets y are: rows, number of targets, weights, a part of the sentence
BAD_ROWS = {
    "nan": (X_NAN, 20, None, r"NaN, in column 1 \(first in row 3\): fill in missing values"),
    "infinity": (X_INF, 20, None, r"infinity.*, in column 1 \(first in row 3\)"),
    "nan in sparse rows": (scipy.sparse.csr_matrix(X_NAN), 20, None, "NaN"),
    "no rows": (X[:0], 0, None, "0 sample"),
    "one row as a vector": (X[0], 1, None, "2D array"),
    "more targets than rows": (ROWS, 21, None, "20 rows, but y has 21 labels|inconsistent number"),
    "no targets": (ROWS, None, None, "requires y to be passed"),
    "negative weight": (ROWS, 20, np.full(20, -1.0), "[Nn]egative"),
    "weight that is nan": (ROWS, 20, np.full(20, np.nan), "NaN"),
    "fewer weights than rows": (ROWS, 20, np.ones(19), r"sample_weight.shape == \(19,\)"),
}
# Labels that fit and partial_fit refuse
BAD_LABELS = {
    "continuous": (X[:20, 0], "continuous"),
    "nan": (np.where(np.arange(20) == 3, np.nan, LABELS[:20]), "NaN: 1 label is missing, the first in row 3"),
    "two columns": (np.stack([LABELS[:20]] * 2, axis=1), "1d array|outputs|columns"),
}
# What partial_fit refuses besides, from a model of the classes 0 and 1: arguments, keywords, a part of the sentence
BAD_PARTIAL_BATCHES = {
    "unseen label": ((ROWS, np.where(LABELS[:20] == 1, 9, 0)), {}, r"Label 9 .* not one of the classes \[0, 1\]"),
    "label of another type": ((ROWS, np.where(LABELS[:20] == 1, "a", "b")), {}, r"Label '\w' .* not one of"),
    "other classes": (BATCH, {"classes": [0, 1, 2]}, "differs from the classes of the first call"),
}


@pytest.fixture(params=LEARNED)
def name(request):
    return request.param


@pytest.fixture
def model(name):
    return fitted_model(name)


@pytest.fixture(params=CLASSIFIERS)
def classifier(request):
    return fitted_model(request.param)


def streaming_model(name):
    """In the middle of a stream that began without `fit`."""
    model = new_model(name)
    return model.partial_fit(X[:30], targets_of(model)[:30])


def refused_batches(model):
    """Arguments and keywords of calls with bad rows, and the sentences of their refusals."""
    for rows, n_targets, weights, message in BAD_ROWS.values():
        y = None if n_targets is None else targets_of(model)[:n_targets]
        yield (rows, y), {"sample_weight": weights}, message


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize("bad", BAD_ROWS)
def test_rows(name, model, bad, method):
    rows, n_targets, weights, message = BAD_ROWS[bad]
    if bad == "more targets than rows":
        message = message.split("|")[name not in COUNTING]
    y = None if n_targets is None else targets_of(model)[:n_targets]
    assert_refused(model, lambda model: getattr(model, method)(rows, y, sample_weight=weights), message)


@pytest.mark.parametrize("warm", [False, True])
def test_nothing_is_left_of_refused_batches(name, warm):
    """Models go on like one that met none, warm starts too."""
    model = streaming_model(name)
    if warm and "warm_start" not in model.get_params():
        pytest.skip("it has no warm start")
    twin = streaming_model(name)
    for arguments, keywords, message in refused_batches(model):
        for method in (model.partial_fit, model.set_params(warm_start=True).fit if warm else model.fit):
            with pytest.raises(ValueError, match=message):
                method(*arguments, **keywords)
    y = targets_of(model)
    for each in (model, twin):
        each.partial_fit(X[30:], y[30:])
    np.testing.assert_array_equal(model.predict(X), twin.predict(X))
    np.testing.assert_array_equal(model.dual_coef_, twin.dual_coef_)


@pytest.mark.parametrize("kind", ASSET)
def test_rows_in_the_middle_of_a_stream(kind):
    model = streaming_model(kind)
    for arguments, keywords, message in refused_batches(model):
        assert_refused(model, lambda model, a=arguments, k=keywords: model.partial_fit(*a, **k), message)


@pytest.mark.parametrize("kind", ASSET)
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_no_weight_at_all(kind, method):
    model = fitted_model(kind)
    y, weights = targets_of(model)[:20], np.zeros(20)
    message = "non-zero|nothing to learn"
    assert_refused(model, lambda model: getattr(model, method)(ROWS, y, sample_weight=weights), message)


@pytest.mark.parametrize("width", [2, 4])
def test_width(model, width):
    rows, y = np.ones((20, width)), targets_of(model)[:20]
    message = f"X has {width} features"
    assert_refused(model, lambda model: model.partial_fit(rows, y), message)
    assert_refused(model, lambda model: model.predict(rows), message)


@pytest.mark.parametrize(
    ("rows", "message"), [(X_NAN, "NaN"), (X_INF, "infinity"), (X[:0], "0 sample"), (X[0], "2D array")]
)
def test_prediction(model, rows, message):
    for method in ("predict", "decision_function"):
        if hasattr(model, method):
            assert_refused(model, lambda model, method=method: getattr(model, method)(rows), message)


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize("bad", BAD_LABELS)
def test_labels(classifier, bad, method):
    labels, message = BAD_LABELS[bad]
    if bad == "two columns" and isinstance(classifier, ASSETClassifier):
        pytest.skip("it learns several labels for each row")
    assert_refused(classifier, lambda model: getattr(model, method)(ROWS, labels), message)


@pytest.mark.parametrize("kind", [BSGDRegressor, ASSETRegressor, LocalSVR])
def test_dates_are_no_numbers(kind):
    for dates in (np.arange(20).astype("M8[D]"), np.arange(20).astype("m8[s]")):
        with pytest.raises(ValueError, match="y has dates or durations"):
            kind().fit(ROWS, dates)


@pytest.mark.parametrize("bad", BAD_PARTIAL_BATCHES)
def test_labels_of_later_batches(classifier, bad):
    arguments, keywords, message = BAD_PARTIAL_BATCHES[bad]
    assert_refused(classifier, lambda model: model.partial_fit(*arguments, **keywords), message)


def test_one_class(classifier):
    message = "at least two classes, .* are 1: one class"
    assert_refused(classifier, lambda model: model.fit(X, np.ones(200, int)), message)
    # The number of features is written down before the labels are looked at.
    assert_refused(classifier, lambda model: model.fit(np.ones((20, 5)), np.ones(20, int)), "one class")


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_one_class_in_the_first_batch(name):
    """Only some can meet new classes later, and only their sentence offers such a thing."""
    model = new_model(name)
    more = ".*new_classes='grow'" if "new_classes" in model.get_params() else r"\.$"
    message = "first batch has one class only, 1; pass all classes as `classes`" + more
    assert_refused(model, lambda model: model.partial_fit(X, np.ones(200, int)), message)
    assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize("name", ["perceptron", "bpa", "lasvm-g", "lasvm", "asset"])
def test_balanced_needs_all_labels(name):
    message = "class_weight='balanced' needs all labels beforehand"
    model = fitted_model(name)
    assert_refused(model, lambda model: model.set_params(class_weight="balanced").partial_fit(*BATCH), message)


def test_unseen_label_one_against_the_rest():
    rows, labels = blobs(100, 3, 4, seed=0)
    model = BPAClassifier(budget=10, gamma=0.3).fit(rows, labels)
    message = r"Label 9 \(row 1\) is not one of the classes \[0, 1, 2, 3\]"
    assert_refused(model, lambda model: model.partial_fit(rows[:2], [0, 9]), message)


def test_numbers_as_labels_of_a_model_of_text():
    model = BPAClassifier(budget=10, gamma=0.3).fit(X, np.array(["no", "yes"], object)[LABELS])
    message = r"Labels like 0 do not mix with the classes \['no', 'yes'\]"
    assert_refused(model, lambda model: model.partial_fit(*BATCH), message)


def test_unseen_label_among_objects():
    names = np.array(["ash", "beech", "oak"], dtype=object)
    model = BSGDClassifier(budget=10, gamma=0.3).partial_fit(X, names[LABELS])
    assert_refused(model, lambda model: model.partial_fit(X, names[LABELS + 1]), "Label 'oak'")


def test_new_classes_are_offered():
    message = r"Label 3 \(row 1\) is not one of the classes \[0, 1\].*new_classes='grow'"
    assert_refused(fitted_model("bsgd"), lambda model: model.partial_fit(X[:3], [0, 3, 1]), message)


@pytest.mark.filterwarnings("ignore::RuntimeWarning:sklearn", "ignore::RuntimeWarning:numpy")
def test_rows_too_large_for_the_stored_type():
    model = BSGDClassifier(budget=10, gamma=0.3).fit(X.astype(np.float32), LABELS)
    assert_refused(model, lambda model: model.partial_fit(1e200 * X, LABELS), "infinity or a value too large")


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values(method, value):
    model, y = fitted_model("asset-regressor"), VALUES[:20].copy()
    y[3] = value
    assert_refused(model, lambda model: getattr(model, method)(ROWS, y), "y contains (NaN|infinity)")


class TestBatches:
    """What fit_batches refuses before it learns."""

    @pytest.fixture(params=ASSET)
    def model(self, request):
        return fitted_model(request.param)

    def refused(self, model, batches, message):
        assert_refused(model, lambda model: model.fit_batches(batches), message)

    def test_iterators(self, model):
        y = targets_of(model)[:20]
        self.refused(model, iter([(ROWS, y)]), "an iterator can be read only once")
        self.refused(model, ((ROWS, y) for _ in range(2)), "an iterator can be read only once")

    def test_nothing(self, model):
        self.refused(model, [], "There are no batches: nothing to learn from")

    def test_weights_of_some(self, model):
        y = targets_of(model)[:20]
        batches = [(ROWS, y, np.ones(20)), (ROWS, y)]
        self.refused(model, batches, "Some batches have sample weights and some have none")
        self.refused(model, batches[::-1], "Some batches have sample weights and some have none")

    def test_rows(self, model):
        y = targets_of(model)[:20]
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
        self.refused(model, [(ROWS, targets_of(model)[:20], weights)], message)

    @pytest.mark.parametrize("bad", ["continuous", "nan"])
    def test_labels(self, bad):
        labels, message = BAD_LABELS[bad]
        self.refused(fitted_model("asset"), [(ROWS, labels)], message)

    def test_one_class(self):
        self.refused(fitted_model("asset"), [(ROWS, np.ones(20, int))], "at least two classes")

    @pytest.mark.parametrize("value", [np.nan, np.inf])
    def test_values(self, value):
        y = VALUES[:20].copy()
        y[3] = value
        self.refused(fitted_model("asset-regressor"), [(ROWS, VALUES[:20]), (ROWS, y)], "y contains (NaN|infinity)")

    def test_fewer_rows_in_the_second_pass(self, model):
        y, n_passes = targets_of(model), []

        def batches():
            n_passes.append(1)
            n = 20 if len(n_passes) == 1 else 10
            return [(ROWS[:n], y[:n])]

        self.refused(model, batches, "batches")
