"""The sketch of a stream: exact while it is short, nearly right ranks afterward, the same whatever the batches."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import scaling as oracle

from frugalsvm.pipelines import StreamingScaler
from frugalsvm.pipelines import sketch as module
from frugalsvm.pipelines.sketch import new_sketch, sketch_after, weighted_values

ORDERS = {
    "random": lambda rng, n: rng.permutation(n),
    "rising": lambda rng, n: np.arange(n),
    "falling": lambda rng, n: np.arange(n)[::-1],
    "zigzag": lambda rng, n: np.where(np.arange(n) % 2, np.arange(n), n - np.arange(n)),
    "wild": lambda rng, n: rng.standard_cauchy(n),
    "ties": lambda rng, n: rng.integers(7, size=n),
}


def sketched(X, sizes=(1000,)):
    sketch, start, k = new_sketch(X.shape[1], X.dtype), 0, 0
    while start < len(X):
        sketch = sketch_after(sketch, X[start : start + sizes[k % len(sizes)]])
        start, k = start + sizes[k % len(sizes)], k + 1
    return sketch


def quantile(sketch, feature, q):
    values, weights = weighted_values(sketch)
    order = np.argsort(values[feature])
    return values[feature][order][np.searchsorted(np.cumsum(weights[order]), q * weights.sum())]


def test_a_short_stream_is_kept():
    X = np.random.default_rng(0).normal(size=(module.BLOCK_ROWS - 1, 3))
    values, weights = weighted_values(sketched(X))
    np.testing.assert_array_equal(values, X.T)
    assert (weights == 1).all()


@pytest.mark.parametrize("n_rows", [5_000, 65_536, 100_000])
@pytest.mark.parametrize("order", ORDERS)
def test_ranks_are_nearly_right(order, n_rows):
    x = ORDERS[order](np.random.default_rng(n_rows), n_rows).astype(np.float64)
    sketch = sketched(x[:, None])
    for q in (0.01, 0.16, 0.5, 0.84, 0.99):
        found = quantile(sketch, 0, q)
        assert np.mean(x < found) - 0.006 <= q <= np.mean(x <= found) + 0.006


def test_ranks_of_many_streams_are_wrong_by_what_is_promised():
    X = np.random.default_rng(0).random((50_000, 60))
    sketch = sketched(X)
    wrong = [oracle.rank(X[:, j], quantile(sketch, j, q)) - q for j in range(60) for q in (0.16, 0.5, 0.84)]
    assert np.sqrt(np.mean(np.square(wrong))) < 0.002


def test_the_values_that_stay_are_random():
    """The same for every block, they would all be too small, or too large."""
    nothing, block = np.empty((1, 0)), np.arange(float(module.BLOCK_ROWS))[:, None]
    starts = {sketch_after(module.QuantileSketch(2 * k, nothing, nothing), block).summaries[0, 0] for k in range(200)}
    assert starts == set(range(module.STRIDE))


@settings(max_examples=25)
@given(
    sizes=st.lists(st.integers(1, 90), min_size=1, max_size=6),
    n_rows=st.integers(1, 700),
    seed=st.integers(0, 2**32 - 1),
)
def test_batches_make_no_difference_and_weights_count_all_rows(sizes, n_rows, seed):
    with pytest.MonkeyPatch.context() as patch:  # small blocks: many summaries are joined
        patch.setattr(module, "BLOCK_ROWS", 32)
        patch.setattr(module, "KEPT", 8)
        patch.setattr(module, "STRIDE", 4)
        X = np.random.default_rng(seed).integers(50, size=(n_rows, 2)).astype(np.float32)
        whole, parts = sketched(X, (n_rows,)), sketched(X, sizes)
        for one, other in zip(whole, parts, strict=True):
            np.testing.assert_array_equal(one, other)
        values, weights = weighted_values(whole)
        assert weights.sum() == n_rows
        assert values.shape == (2, len(weights))
        assert len(weights) <= 32 + 8 * (n_rows // 32).bit_length()
        assert np.isin(values, X).all()
        assert whole.is_sound({})


def test_a_sketch_is_not_changed_by_what_comes_after_it():
    X = np.random.default_rng(0).normal(size=(20_000, 2))
    sketch = sketched(X)
    before = [np.array(each) for each in sketch]
    sketch_after(sketch, X)
    for one, other in zip(before, sketch, strict=True):
        np.testing.assert_array_equal(one, other)


def test_wider_numbers_may_follow():
    X = np.random.default_rng(0).normal(size=(10_000, 2))
    sketch = sketch_after(sketched(X.astype(np.float32)), X + 1e-12)
    assert weighted_values(sketch)[0].dtype == np.float64
    assert weighted_values(sketch)[1].sum() == 20_000


@pytest.mark.parametrize("n_rows", [4000, 30_000])
def test_statistics_of_a_stream_are_those_of_all_its_rows(n_rows):
    rng = np.random.default_rng(n_rows)
    X = np.column_stack([
        rng.normal(5, 2, n_rows), rng.standard_cauchy(n_rows), rng.random(n_rows) < 0.03, rng.integers(4, size=n_rows),
        np.full(n_rows, 0.1), rng.exponential(size=n_rows), np.linspace(0, 9, n_rows) * rng.normal(size=n_rows),
    ])  # fmt: skip
    scaler = StreamingScaler()
    for part in np.array_split(X, 23):
        scaler.partial_fit(part)
    expected = np.array([oracle.statistics(column) for column in X.T]).T
    if n_rows < module.BLOCK_ROWS:
        np.testing.assert_allclose([scaler.center_, scaler.scale_, scaler.limit_], expected, rtol=1e-12)
    assert np.abs(scaler.center_ - expected[0]).max() < 0.03
    np.testing.assert_allclose(scaler.scale_, expected[1], rtol=0.05)
    np.testing.assert_allclose(scaler.limit_, expected[2], rtol=0.05)
    assert scaler.constant_.tolist() == [False] * 4 + [True, False, False]
    assert scaler.n_seen_ == n_rows
