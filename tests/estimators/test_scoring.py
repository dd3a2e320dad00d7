"""Scores of many rows, block by block on several threads: the same as on one, whatever the rows are like."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from support import blobs

from frugalsvm import (
    ASSETClassifier,
    BPAClassifier,
    BSGDClassifier,
    BudgetedPerceptron,
    IncrementalSVC,
    LASVMClassifier,
    TrackingSVC,
    TVMClassifier,
)
from frugalsvm.estimators import _base, _scoring, seen_rows
from frugalsvm.lowrank import landmark_blocks
from frugalsvm.persist import load, save

ESTIMATORS = {
    "bsgd": BSGDClassifier(budget=30, random_state=0),
    "perceptron": BudgetedPerceptron(budget=30, random_state=0),
    "bpa": BPAClassifier(budget=30, random_state=0),
    "lasvm": LASVMClassifier(random_state=0),
    "tracking": TrackingSVC(n_steps=2, random_state=0),
    "incremental": IncrementalSVC(),
    "tvm": TVMClassifier(budget=10, random_state=0),
}
X_TRAIN, Y_TRAIN = blobs(150, 12, 3, seed=0)
X, _ = blobs(1000, 12, 3, seed=1)
WIDE = ("bsgd",)  # others learn and score the first columns, for which there is machine code


@pytest.fixture
def small_blocks(monkeypatch):
    """Rows for other threads, however little there is to do; how many blocks were run side by side, call by call."""
    monkeypatch.setattr(_scoring, "_WORTH_A_THREAD", 1)
    monkeypatch.setattr(_base, "_ROWS_OF_SCORES", 1)
    ran, run, score = [], _scoring.Threads.run, _scoring.score_on_threads

    def note_run(threads, function, items):
        ran.append(len(items))
        return run(threads, function, items)

    def note_score(scoring, n_threads):
        ran.append(n_threads)
        score(scoring, n_threads)

    monkeypatch.setattr(_scoring.Threads, "run", note_run)
    monkeypatch.setattr(_scoring, "score_on_threads", note_score)
    return ran


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("sparse", [False, True])
def test_scores_do_not_depend_on_the_number_of_threads(name, sparse, small_blocks):
    columns = slice(None if name in WIDE else 3)
    model = ESTIMATORS[name].fit(X_TRAIN[:, columns], Y_TRAIN)
    rows, counts = np.ascontiguousarray(X[:, columns]), model.n_kernel_evals_
    rows = scipy.sparse.csr_matrix(rows) if sparse else rows
    alone = model.set_params(n_jobs=1).decision_function(rows)
    small_blocks.clear()
    together = model.set_params(n_jobs=3).decision_function(rows)
    assert small_blocks[0] == (6 if sparse else 3)
    assert model.n_kernel_evals_ == counts  # of training
    np.testing.assert_array_equal(together, alone)
    np.testing.assert_array_equal(model.predict(rows), model.classes_[alone.argmax(axis=1)])


@pytest.fixture(scope="module")
def model():
    return BSGDClassifier(budget=30, n_jobs=2, random_state=0).fit(X_TRAIN, Y_TRAIN)


def test_little_to_do_stays_on_one_thread(model):
    assert _scoring._n_threads(X, len(model.support_rows()), 16) == 1


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("convert", [np.asarray, scipy.sparse.csr_matrix, pd.DataFrame])
@pytest.mark.usefixtures("small_blocks")
def test_what_is_not_finite_is_refused_wherever_it_is(model, value, convert):
    bad = X.copy()
    bad[-1, 3] = value
    with pytest.raises(ValueError, match=r"Input X contains (NaN|infinity)"):
        model.predict(convert(bad))


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.usefixtures("small_blocks")
def test_what_is_too_large_is_refused(model, sign):
    bad = X.copy()
    bad[700, 3] = sign * 1e160
    with pytest.raises(ValueError, match="too large"):
        model.predict(bad)
    single = BSGDClassifier(budget=30, n_jobs=2, random_state=0).fit(X_TRAIN.astype(np.float32), Y_TRAIN)
    with pytest.raises(ValueError, match="too large"):
        single.predict(bad)  # infinite in float32


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.float32, np.float16, bool])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.usefixtures("small_blocks")
def test_types_and_orders(model, dtype, order):
    rows = np.asarray(np.abs(X) * 3, dtype=dtype, order=order)
    np.testing.assert_array_equal(
        model.decision_function(rows), model.decision_function(np.ascontiguousarray(rows, np.float64))
    )


@pytest.mark.usefixtures("small_blocks")
def test_rows_far_from_zero():
    far = BSGDClassifier(budget=30, random_state=0).fit(X_TRAIN + 1e7, Y_TRAIN)
    assert not far.origin_.is_zero
    alone = far.decision_function(X + 1e7)
    near = BSGDClassifier(budget=30, random_state=0).fit(X_TRAIN, Y_TRAIN)
    assert np.mean(far.predict(X + 1e7) == near.predict(X)) > 0.95
    np.testing.assert_array_equal(far.set_params(n_jobs=2).decision_function(X + 1e7), alone)
    whole = np.rint(X + 1e7).astype(np.int32)
    np.testing.assert_array_equal(far.decision_function(whole), far.decision_function(whole.astype(float)))


@pytest.mark.usefixtures("small_blocks")
def test_entries_that_are_there_twice(model):
    rows = scipy.sparse.csr_matrix(X)
    twice = scipy.sparse.csr_matrix(
        (np.repeat(rows.data / 2, 2), np.repeat(rows.indices, 2), rows.indptr * 2), shape=rows.shape
    )
    n_entries = twice.nnz
    np.testing.assert_array_equal(model.decision_function(twice), model.decision_function(rows))
    assert twice.nnz == n_entries  # what users pass stays as it is


def test_other_numbers_of_features_and_names(model):
    with pytest.raises(ValueError, match="11 features, but BSGDClassifier is expecting 12"):
        model.predict(X[:, 1:])
    named = BSGDClassifier(budget=30, random_state=0).fit(pd.DataFrame(X_TRAIN).add_prefix("x"), Y_TRAIN)
    with pytest.raises(ValueError, match="feature names should match"):
        named.predict(pd.DataFrame(X).add_prefix("z"))
    with pytest.warns(UserWarning, match="valid feature names"):
        named.predict(X)


def test_columns_in_another_order_whose_names_are_numbers(tmp_path):
    numbered = pd.DataFrame(X_TRAIN).rename(columns=lambda k: 2 * k)
    fitted = BSGDClassifier(budget=30, random_state=0).fit(numbered, Y_TRAIN)
    save(fitted, tmp_path / "model.frugal")
    for model in (fitted, load(tmp_path / "model.frugal")):
        with pytest.raises(ValueError, match="in another order: column 22 is where column 0 was"):
            model.predict(numbered[numbered.columns[::-1]])
        expected = model.predict(X_TRAIN)
        for others in (numbered, pd.DataFrame(X_TRAIN)):  # other names are taken by place
            np.testing.assert_array_equal(model.predict(others), expected)
    np.testing.assert_array_equal(fitted.fit(X_TRAIN, Y_TRAIN).predict(numbered[numbered.columns[::-1]]),
                                  fitted.predict(X_TRAIN[:, ::-1]))  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("feature_map", ["nystroem", "fourier"])
def test_low_rank_machines_check_rows_in_one_pass(feature_map, dtype, n_jobs, monkeypatch):
    monkeypatch.setattr(seen_rows, "_VALUES_TO_CHECK", 1)
    monkeypatch.setattr(landmark_blocks, "WORTH_A_THREAD", 1)
    low_rank = ASSETClassifier(feature_map, 20, n_jobs=n_jobs, random_state=0).fit(X_TRAIN, Y_TRAIN)
    rows = X.astype(dtype)
    expected = low_rank.decision_function(rows)
    np.testing.assert_array_equal(low_rank.decision_function(np.asfortranarray(rows)), expected)
    np.testing.assert_array_equal(low_rank.decision_function(rows.tolist()), low_rank.decision_function(rows * 1.0))
    for value, message in ((np.nan, "contains NaN"), (-np.inf, "infinity"), (1e30, "too large for float32")):
        bad = rows.copy()
        bad[700, 3] = value
        with pytest.raises(ValueError, match=message):
            low_rank.predict(bad)
    with pytest.raises(ValueError, match="11 features"):
        low_rank.predict(rows[:, 1:])
    large = rows.copy()
    large[:, 0] = 2e17  # each is within the limits, and so large that the sum of their squares is not
    assert np.isfinite(low_rank.decision_function(large)).all()
