"""The scaler, the encoder and the calibration, each against its definition."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.feature_extraction import FeatureHasher
from sklearn.metrics import log_loss
from sklearn.preprocessing import StandardScaler

from frugalsvm.calibration import PlattCalibration
from frugalsvm.pipelines import ColumnEncoder, StreamingScaler
from frugalsvm.pipelines.encoder import joined, joined_encoder
from frugalsvm.pipelines.surprises import Surprises


@pytest.fixture(scope="module")
def numbers():
    rng = np.random.default_rng(0)
    X = rng.normal([1e6, 0.0, -3.0], [1.0, 1e-3, 50.0], (500, 3))
    return np.column_stack([X, np.full(500, 0.1)])


def test_scaler_agrees_with_scikit_learn_whatever_the_batches(numbers):
    theirs = StandardScaler().fit(numbers)
    scaler = StreamingScaler("standard", clip=None)
    for start, stop in ((0, 1), (1, 8), (8, 300), (300, 500)):
        scaler.partial_fit(numbers[start:stop])
    np.testing.assert_allclose(scaler.mean_, theirs.mean_, rtol=1e-12)
    np.testing.assert_allclose(scaler.scale_, theirs.scale_, rtol=1e-9)
    assert scaler.scale_[3] == 1.0
    np.testing.assert_allclose(scaler.transform(numbers), theirs.transform(numbers), atol=1e-8)


def test_scaler_divides_sparse_rows_and_does_not_centre_them():
    X = np.random.default_rng(1).normal(2.0, 3.0, (200, 4)) * (np.random.default_rng(2).random((200, 4)) < 0.3)
    scaler = StreamingScaler("standard", clip=None).partial_fit(csr_matrix(X[:50])).partial_fit(csr_matrix(X[50:]))
    scaled = scaler.transform(csr_matrix(X))
    assert scaled.nnz == np.count_nonzero(X)
    np.testing.assert_allclose(scaled.toarray(), StandardScaler(with_mean=False).fit_transform(X))
    np.testing.assert_allclose(scaler.transform(X), scaled.toarray())


def test_scaler_keeps_float32_and_centres_sparse_rows_after_dense_ones(numbers):
    X = numbers.astype(np.float32)
    scaler = StreamingScaler().fit(X)
    assert scaler.transform(X).dtype == np.float32
    np.testing.assert_array_equal(scaler.transform(csr_matrix(X)), scaler.transform(X))


def test_frozen_scaler_refuses_rows(numbers):
    scaler = StreamingScaler().fit(numbers).freeze()
    before = scaler.center_.copy()
    with pytest.raises(ValueError, match="frozen"):
        scaler.partial_fit(numbers + 1)
    np.testing.assert_array_equal(scaler.center_, before)
    assert not scaler.fit(numbers).frozen_


COLUMNS = {"size": ["S", "M", None, "S"], "colour": ["red", "red", "blue", "red"]}


def test_one_hot_of_the_categories_seen():
    encoder = ColumnEncoder().fit(COLUMNS)
    assert encoder.names_ == ["colour", "size"]
    assert encoder.n_encoded_ == 4  # blue, red, M, S
    coded = encoder.transform({"size": ["XL", "M", float("nan")], "colour": ["blue", "pink", "red"]}).toarray()
    np.testing.assert_array_equal(coded, [[1, 0, 0, 0], [0, 0, 1, 0], [0, 1, 0, 0]])


def test_missing_text_of_pandas():
    pd = pytest.importorskip("pandas")
    sizes = pd.Series(["S", None, "M"], dtype="string")
    assert sizes[1] is pd.NA
    encoder = ColumnEncoder().fit(pd.DataFrame({"size": sizes}))
    assert encoder.categories_[0].tolist() == ["M", "S"]
    np.testing.assert_array_equal(encoder.transform({"size": sizes}).toarray(), [[0, 1], [0, 0], [1, 0]])


def test_encoders_of_several_parts_become_one():
    parts = [ColumnEncoder().fit({"size": sizes}) for sizes in (["S", "M"], ["XL", "S"], [])]
    assert joined_encoder(parts).categories_[0].tolist() == ["M", "S", "XL"]
    with pytest.raises(ValueError, match="'colour'"):
        joined_encoder([*parts, ColumnEncoder().fit({"colour": ["red"]})])


def test_hashing_is_that_of_scikit_learn():
    coded = ColumnEncoder("hash", n_features=16).fit(COLUMNS).transform(COLUMNS)
    rows = [["colour=red", "size=S"], ["colour=red", "size=M"], ["colour=blue"], ["colour=red", "size=S"]]
    expected = FeatureHasher(16, input_type="string").transform(rows)
    np.testing.assert_array_equal(coded.toarray(), expected.toarray())


def test_encoder_refuses_other_columns():
    encoder = ColumnEncoder().fit(COLUMNS)
    with pytest.raises(ValueError, match="encoder knows"):
        encoder.transform({"size": ["S"]})
    with pytest.raises(ValueError, match="not one of"):
        ColumnEncoder("words").fit(COLUMNS)


def test_numbers_stay_dense_beside_few_features():
    X = np.ones((4, 2), np.float32)
    few = joined(X, ColumnEncoder().fit(COLUMNS).transform(COLUMNS))
    many = joined(X, ColumnEncoder("hash", n_features=500).fit(COLUMNS).transform(COLUMNS))
    assert isinstance(few, np.ndarray)
    assert few.shape == (4, 6)
    assert many.shape == (4, 502)
    assert many.dtype == few.dtype == np.float32
    np.testing.assert_array_equal(many[:, :2].toarray(), X)


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_one_row_and_batches_of_one_update_the_slope_alike(n_outputs):
    rng = np.random.default_rng(3)
    values, labels = rng.normal(0, 3, (200, n_outputs)), rng.integers(0, max(n_outputs, 2), 200)
    one = many = PlattCalibration()
    for value, label in zip(values, labels, strict=True):
        one = one.updated_by_one(value, int(label))
        many = many.updated(value[None], np.array([label]))
    np.testing.assert_allclose(one, many, rtol=1e-9, atol=1e-12)
    assert one.slope < 0.5  # labels have nothing to do with the values


@pytest.mark.parametrize("slope", [0.2, 4.0])
def test_the_slope_that_made_the_labels_is_found(slope):
    rng = np.random.default_rng(4)
    values = rng.normal(0, 2, (20_000, 1))
    labels = (rng.random(20_000) < 1 / (1 + np.exp(-slope * values[:, 0]))).astype(int)
    running = PlattCalibration()
    for start in range(0, 20_000, 50):
        running = running.updated(values[start : start + 50], labels[start : start + 50])
    assert running.slope == pytest.approx(slope, rel=0.15)
    assert PlattCalibration.settled(values, labels).slope == pytest.approx(slope, rel=0.05)
    before, after = (log_loss(labels, c.probabilities(values)) for c in (PlattCalibration(), running))
    assert after < before


def test_the_most_probable_class_is_the_predicted_one_in_ties_too():
    tiny = 1e-300
    binary = np.array([[0.0], [-0.0], [tiny], [-tiny], [1e-17], [-1e-17], [1e4], [-1e4]])
    found = PlattCalibration().probabilities(binary).argmax(axis=1)
    np.testing.assert_array_equal(found, (binary[:, 0] >= 0).astype(int))
    several = np.array([[0, 0, 0], [0, tiny, 0], [-tiny, -2 * tiny, 0], [1, 1 + 2e-16, 1], [5, 5, 1], [-900, 0, 900.0]])
    shares = PlattCalibration().probabilities(several)
    np.testing.assert_array_equal(shares.argmax(axis=1), several.argmax(axis=1))
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)


def test_other_columns_of_text_are_named():
    encoder, other = ColumnEncoder().fit({"size": ["S", "M"]}), {"colour": np.array(["red"], object)}
    for use in (encoder.transform, lambda columns: encoder.note_surprises(columns, Surprises())):
        with pytest.raises(ValueError, match=r"The columns of text are \['colour'\], but the encoder knows \['size'\]"):
            use(other)
