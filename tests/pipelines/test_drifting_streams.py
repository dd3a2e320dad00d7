"""Streams whose features move: beside twins that were scaled with hindsight, and the same by rows and by batches."""

import pickle
import warnings

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.preprocessing import StandardScaler

from frugalsvm import ASSETClassifier, BSGDClassifier
from frugalsvm.persist import load, save
from frugalsvm.pipelines import StreamingScaler, StreamPipeline

N_ROWS = 6000


def bsgd(**params):
    return BSGDClassifier(**{"budget": 100, "half_life": np.inf, "random_state": 0, **params})  # scalers are tested


def clean():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(N_ROWS, 4))
    return Z, (Z[:, 0] * Z[:, 1] + 0.5 * Z[:, 2] + 0.2 * rng.normal(size=N_ROWS) > 0).astype(int)


def with_column(Z, column):
    return np.column_stack([Z, column])


def prequential(model, X, y, size=100):
    """The share of rows that were predicted right before they were learned, from the second thousand on."""
    right = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for start in range(0, len(y), size):
            part = slice(start, start + size)
            if start:
                right.append(model.predict(X[part]) == y[part])
            model.partial_fit(X[part], y[part])
    return np.concatenate(right)[1000 - size :].mean()


def hindsight(X, y):
    return prequential(StreamPipeline(bsgd(), scale=False, warmup_rows=1000), StandardScaler().fit_transform(X), y)


def growing(Z):
    return with_column(Z, 7e5 + np.arange(N_ROWS) * 3.0)


def counter_with_noise(Z):
    return with_column(Z, np.arange(N_ROWS) + np.random.default_rng(3).normal(size=N_ROWS))


def drifting(Z):
    return Z + np.linspace(0, 5, N_ROWS)[:, None]


def jumping(Z):
    return Z * [1, 30, 1e-3, 1] + np.where(np.arange(N_ROWS) < 2500, 0, 10)[:, None] * [1, 30, 1e-3, 1]


def widening(Z):
    return Z * np.linspace(1, 10, N_ROWS)[:, None]


def starting(Z):
    """A feature that says nothing for 2 000 rows, and is small then."""
    Z = Z.copy()
    Z[:2000, 0] = 0.0
    return Z * [1e-4, 1, 1, 1] + [0.3, 0, 0, 0]


@pytest.mark.parametrize("change", [growing, counter_with_noise, drifting, jumping, widening, starting])
def test_as_good_as_a_twin_that_was_scaled_with_hindsight(change):
    Z, y = clean()
    X = change(Z)
    found = prequential(StreamPipeline(bsgd(), warmup_rows=300), X, y)
    assert found > hindsight(X, y) - 0.03


def heavy(Z):
    return np.sign(Z) * np.expm1(np.square(Z))


def wild_rows(Z):
    return np.where(np.random.default_rng(1).random((N_ROWS, 1)) < 0.008, 100.0, 1.0) * Z


@pytest.mark.parametrize(("change", "loss"), [(wild_rows, 0.02), (heavy, 0.13)])
@pytest.mark.parametrize("way", ["stream", "fit"])
def test_wild_values_cost_little(change, loss, way):
    """Tails as heavy as exp(x^2) cost something: what is clipped is lost. Standardized they leave a coin toss."""
    Z, y = clean()

    def accuracy(X):
        if way == "stream":
            return prequential(StreamPipeline(bsgd()), X, y)
        model = StreamPipeline(bsgd()).fit(X[:4000], y[:4000])
        return model.score(X[4000:], y[4000:])

    assert accuracy(change(Z)) > accuracy(Z) - loss


def test_wild_values_of_sparse_rows_cost_little():
    Z, y = clean()
    Z = Z * (np.random.default_rng(4).random(Z.shape) < 0.7)
    y = (Z[:, 0] + 0.5 * Z[:, 2] + Z[:, 1] ** 2 > 0.7).astype(int)
    calm, wild = (StreamPipeline(bsgd()).fit(csr_matrix(X[:4000]), y[:4000]) for X in (Z, wild_rows(Z)))
    X = csr_matrix(Z[4000:])
    assert wild.score(X, y[4000:]) > calm.score(X, y[4000:]) - 0.02


def test_wild_values_do_not_change_gamma():
    Z, y = clean()
    calm, wild = (StreamPipeline(bsgd()).fit(X, y).estimator_.gamma_ for X in (Z, wild_rows(Z)))
    assert wild == pytest.approx(calm, rel=0.1)


@pytest.mark.parametrize("n_rows", [7_000, pytest.param(45_312, marks=pytest.mark.slow)])
@pytest.mark.filterwarnings("ignore:Feature")
def test_elec2_in_time_order(shared_data, n_rows):
    """A date that grows slowly, and three features that are constant for 17 000 rows; with all defaults."""
    file = np.load(shared_data / "elec2.npz")
    X, y = file["X_train"][:n_rows], file["y_train"][:n_rows]
    model, n_right = StreamPipeline(BSGDClassifier()).learn_one_row(X[0], y[0]), 0
    for x, label in zip(X[1:], y[1:], strict=True):
        n_right += model.predict_one_row(x) == label
        model.learn_one_row(x, label)
    assert n_right / (len(y) - 1) >= 0.9


# --- by rows, by batches, and resumed ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def moving():
    """The statistics of three features are renewed, and later those of one that was constant."""
    Z, y = clean()
    X = jumping(Z)
    X[:4000, 3] = 5.0
    return X, y


def learned(X, y, size, estimator=None, **params):
    model = StreamPipeline(estimator or bsgd(budget=30), warmup_rows=300, **params)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for start in range(0, len(y), size):
            model.partial_fit(X[start : start + size], y[start : start + size])
    return model


@pytest.mark.filterwarnings("ignore:Feature")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_same_model_row_by_row_and_in_batches_of_any_size(moving, dtype):
    X, y = moving[0].astype(dtype), moving[1]
    whole = learned(X, y, N_ROWS)
    assert whole.scaler_._watch.n_renewals.tolist() == [1, 1, 1, 1]
    fast = StreamPipeline(bsgd(budget=30), warmup_rows=300)
    for x, label in zip(X, y, strict=True):
        fast.learn_one_row(x, label)
    for other in (fast, learned(X, y, 777)):
        for name in ("center_", "scale_", "limit_", "constant_"):
            np.testing.assert_array_equal(getattr(other.scaler_, name), getattr(whole.scaler_, name))
        np.testing.assert_array_equal(other.estimator_.support_vectors_, whole.estimator_.support_vectors_)
        np.testing.assert_array_equal(other.decision_function(X[:100]), whole.decision_function(X[:100]))
    assert [fast.predict_one_row(x) for x in X[-50:]] == whole.predict(X[-50:]).tolist()


@pytest.mark.filterwarnings("ignore:Feature")
@pytest.mark.parametrize("n_first", [100, 2900, 3900, 5700])
def test_saved_models_go_on_bit_for_bit(moving, n_first, tmp_path):
    """Saved in the warm-up, while values are recorded, and after statistics were renewed."""
    X, y = moving
    model = learned(X[:n_first], y[:n_first], 100)
    save(model, tmp_path / "model.frugal")
    copy = load(tmp_path / "model.frugal")
    for number, each in enumerate((model, copy)):
        each.partial_fit(X[n_first:], y[n_first:])
        save(each, tmp_path / f"{number}.frugal")
    assert (tmp_path / "0.frugal").read_bytes() == (tmp_path / "1.frugal").read_bytes()


def test_bad_labels_leave_no_trace_where_statistics_are_renewed(moving):
    X, y = moving
    model = learned(X[:2000], y[:2000], 500)
    before = pickle.dumps(vars(model))
    with pytest.raises(ValueError, match="Label 9"):
        model.partial_fit(X[2000:], [*y[2000:-1], 9])
    assert pickle.dumps(vars(model)) == before


@pytest.mark.filterwarnings("ignore:Feature")
def test_any_classifier_goes_on_after_statistics_were_renewed():
    """Nothing that a classifier has stored is changed, so that its kernel values stay true."""
    Z, y = clean()
    X = jumping(Z)
    model = learned(X, y, 500, ASSETClassifier(n_components=64, random_state=0))
    assert model.scaler_._watch.n_renewals.min() == 1
    assert model.score(X[-1000:], y[-1000:]) > 0.8


# --- warnings ------------------------------------------------------------------------------------------------


def warnings_of(model, X, y, size):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for start in range(0, len(y), size):
            if size == 1:
                model.learn_one_row(X[start], y[start])
            else:
                model.partial_fit(X[start : start + size], y[start : start + size])
    assert {warning.filename for warning in seen} <= {__file__}
    return [str(warning.message) for warning in seen]


@pytest.mark.parametrize("size", [1, 400])
def test_what_is_said_of_features_that_left_their_range(size):
    Z, y = clean()
    X = Z.copy()
    X[1500:, 1] += 50
    (found,) = warnings_of(StreamPipeline(bsgd(budget=30)), X, y, size)
    assert found.startswith("Feature 1 has left the range")
    assert "taken again" in found
    kept = StreamPipeline(bsgd(budget=30), scale=StreamingScaler(renew=False))
    found = warnings_of(kept, X, y, size)
    assert len(found) == 2  # after two blocks, and after three further ones
    assert "values are clipped" in found[0]
    np.testing.assert_array_equal(kept.scaler_.center_, StreamingScaler().fit(X[:1000]).center_)


def test_what_is_said_names_columns():
    pandas = pytest.importorskip("pandas")
    Z, y = clean()
    Z[1500:, 1] += 50
    frame = pandas.DataFrame(Z, columns=[f"sensor {k}" for k in range(Z.shape[1])])
    (found,) = warnings_of(StreamPipeline(bsgd(budget=30)), frame, y, 400)
    assert found.startswith("Feature 'sensor 1' has left the range")


def test_nothing_is_said_or_renewed_while_features_stay():
    Z, y = clean()
    X = wild_rows(Z)
    rare = (np.arange(N_ROWS) % 20 == 0) & (np.arange(N_ROWS) > 1000)
    X = with_column(X, rare * 1.0)  # constant at first, and rarely anything else
    model = StreamPipeline(bsgd(budget=30))
    assert warnings_of(model, X, y, 300) == []
    np.testing.assert_array_equal(model.scaler_.scale_, StreamingScaler().fit(X[:1000]).scale_)


def test_features_that_only_grow_are_renewed_ever_more_rarely():
    rows = np.arange(60 * 1000, dtype=float)[:, None]
    scaler = StreamingScaler().fit(rows[:1000]).freeze()
    taken, renewed = 1000, []
    while taken < len(rows):
        scaler, n_rows, due = scaler.after(rows[taken:])
        taken += n_rows
        renewed += [taken // 1000] * due.size
    assert np.diff(renewed).tolist() == sorted(np.diff(renewed).tolist())
    assert 4 <= len(renewed) <= 6


def test_scale_is_a_choice_or_a_scaler():
    Z, y = clean()
    names = "True, False, 'robust', 'soft', 'symmetric', 'standard', 'following' or a StreamingScaler"
    with pytest.raises(ValueError, match=f"scale must be {names}, not 'minmax'"):
        StreamPipeline(bsgd(), scale="minmax").fit(Z, y)
    plain = StreamPipeline(bsgd(), scale=StreamingScaler("standard", clip=None)).fit(Z, y)
    np.testing.assert_allclose(plain.scaler_.scale_, Z.std(axis=0))
    assert not plain.scaler_.watches
