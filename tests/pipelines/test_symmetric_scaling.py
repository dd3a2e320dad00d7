"""Features with a long tail on one side are made symmetric; all others are scaled as softly clipped ones."""

import numpy as np
import pytest
from oracles import scaling as oracle
from scipy.sparse import csr_matrix
from scipy.stats import skew

from frugalsvm import AutoSVC, BSGDClassifier
from frugalsvm.export import plain_model
from frugalsvm.persist import load, save
from frugalsvm.pipelines import StreamingScaler, StreamPipeline

INCOMES, NORMAL, COUNTS, WEIGHTS = range(4)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    incomes, normal, small = rng.lognormal(10.0, 1.0, 3000), rng.normal(size=3000), rng.lognormal(size=3000)
    counts = np.where(rng.random(3000) < 0.6, 0.0, np.floor(10 * rng.lognormal(size=3000)))
    return np.column_stack([incomes, normal, counts, -small])


def new_scaler(**parameters):
    return StreamingScaler("symmetric", soft_clip=True, **parameters)


def test_long_tails_are_drawn_in_and_the_order_stays(rows):
    found = new_scaler().fit(rows).transform(rows)
    assert np.abs(skew(found[:, [INCOMES, WEIGHTS]])).max() < 0.3 < 1.0 < np.abs(skew(rows[:, INCOMES]))
    for column, made in zip(rows.T, found.T, strict=True):
        assert (np.diff(made[np.argsort(column)]) >= 0).all()
        assert 0.75 < made.std() < 1.1


@pytest.mark.parametrize(("feature", "side"), [(INCOMES, 1), (COUNTS, 1), (WEIGHTS, -1)])
def test_bent_features_are_those_of_the_oracle(rows, feature, side):
    found = side * new_scaler().fit(rows).transform(rows)[:, feature]
    expected = oracle.bent(side * rows[:, feature])
    slope, offset = np.polyfit(expected, found, 1)
    assert slope > 0
    np.testing.assert_allclose(found, slope * expected + offset, atol=1e-9)


def test_others_are_clipped_softly(rows):
    found, plain = new_scaler().fit(rows), StreamingScaler(soft_clip=True).fit(rows)
    np.testing.assert_array_equal(found.transform(rows)[:, NORMAL], plain.transform(rows)[:, NORMAL])
    flags = (np.arange(3000) % 7 == 0).astype(float)[:, None]
    np.testing.assert_array_equal(new_scaler().fit(flags).center_, [0.0])
    sparse = csr_matrix(rows)
    expected = StreamingScaler(soft_clip=True).fit(sparse).transform(sparse)
    np.testing.assert_array_equal(new_scaler().fit(sparse).transform(sparse).toarray(), expected.toarray())


def test_a_robust_scaler_becomes_the_same_one(rows):
    robust = StreamingScaler(soft_clip=True).fit(rows).freeze()
    made, limits = robust.made_symmetric(rows), robust.limit_.copy()
    np.testing.assert_array_equal(made.transform(rows), new_scaler().fit(rows).transform(rows))
    assert made.get_params() == new_scaler().get_params()
    assert not made.watches
    assert robust.watches
    np.testing.assert_array_equal(robust.limit_, limits)


def test_a_stream_has_about_the_same_statistics(rows):
    whole, stream = new_scaler().fit(rows), new_scaler()
    for _ in range(4):
        stream.partial_fit(rows)
    np.testing.assert_allclose(stream.transform(rows), whole.transform(rows), atol=0.05)


def test_a_pipeline_goes_on_and_does_not_take_tails_for_features_that_left_their_range(rows, tmp_path, recwarn):
    y = np.log(rows[:, INCOMES]) + rows[:, NORMAL] > 10.0
    model = StreamPipeline(BSGDClassifier(budget=40, random_state=0), scale="symmetric", warmup_rows=200)
    for start in range(0, 2000, 100):
        model.partial_fit(rows[start : start + 100], y[start : start + 100], classes=[False, True])
    assert model.score(rows[2000:], y[2000:]) > 0.9
    assert not [each for each in recwarn if "range" in str(each.message)]
    save(model, tmp_path / "model.frugal")
    copy, scores = load(tmp_path / "model.frugal"), model.decision_function(rows)
    np.testing.assert_array_equal(copy.decision_function(rows), scores)
    np.testing.assert_allclose(plain_model(model).decision_function(rows).ravel(), scores, rtol=1e-6, atol=1e-9)
    single = [model.estimator_.decision_function(model.estimator_rows(row[None]))[0] for row in rows[:20]]
    np.testing.assert_allclose(single, scores[:20], rtol=1e-9)


def test_auto_sees_rows_this_way_where_that_is_better():
    rng = np.random.default_rng(1)
    X = rng.lognormal(0.0, 2.0, (600, 2))
    y = np.sin(2.0 * np.log(X[:, 0])) + np.log(X[:, 1]) / 2 > 0
    model = AutoSVC(kernel="rbf", metric=None, random_state=0, n_jobs=1).fit(X, y)
    assert model.best_params_["rows"] == "symmetric"
    assert "columns made symmetric" in str(model.report())


@pytest.mark.parametrize(
    ("parameters", "words"), [({"soft_clip": False}, "needs soft_clip=True"), ({"half_life": 100}, "must be None")]
)
def test_what_does_not_go_together(parameters, words):
    scaler = new_scaler().set_params(**parameters)
    with pytest.raises(ValueError, match=words):
        scaler.fit([[1.0], [2.0]])
