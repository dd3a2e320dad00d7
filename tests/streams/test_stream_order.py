"""Shuffling is a bounded, repeatable permutation; reading ahead changes nothing but the time."""

import io
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stream_files import joined

from frugalsvm.streams import Batch, StreamError, open_stream, prefetched, shuffled, shuffling
from frugalsvm.streams.label_order import LabelOrder, NumberOrder, Watched


def text(n, format):
    rows = range(n)
    if format == "libsvm":
        return "".join(f"{i} 1:{i + 1} {2 + i % 7}:1\n" for i in rows).encode()
    return ("x,town,y,w\n" + "".join(f"{i + 1},t{i},{i},{i}\n" for i in rows)).encode()


def opened(n, format, batch_rows, **options):
    if format == "csv":
        options["weight"] = "w"
    return open_stream(io.BytesIO(text(n, format)), format=format, batch_rows=batch_rows, **options)


@settings(max_examples=60)
@given(
    st.sampled_from(["libsvm", "csv"]), st.integers(1, 120), st.integers(1, 40), st.integers(1, 150), st.integers(0, 3)
)
def test_shuffling_is_a_repeatable_permutation(format, n, batch_rows, buffer_rows, seed):
    stream = shuffled(opened(n, format, batch_rows), buffer_rows, seed)
    batches = list(stream)
    assert all(batch.n_rows == batch_rows for batch in batches[:-1])
    X, y = joined(batches)
    assert sorted(y.astype(int)) == list(range(n))
    np.testing.assert_array_equal(X[:, 0], y + 1)
    for batch in batches:
        if format == "csv":
            assert batch.columns["town"].tolist() == [f"t{int(label)}" for label in batch.y]
            np.testing.assert_array_equal(batch.weights, batch.y)
    np.testing.assert_array_equal(joined(stream)[1], y)
    middle = n // 2
    rest = list(stream.from_row(middle))
    assert rest[0].start == middle
    np.testing.assert_array_equal(joined(rest)[1], y[middle:])


def test_shuffling_mixes_and_is_bounded():
    order = joined(shuffled(opened(3000, "csv", 50), 500, seed=1))[1]
    other = joined(shuffled(opened(3000, "csv", 50), 500, seed=2))[1]
    assert not np.array_equal(order, other)
    # No row can come before it has been read: at most buffer and batch ahead of its place.
    assert (order - np.arange(3000)).max() <= 500 + 50
    assert np.abs(order - np.arange(3000)).mean() > 100
    whole = joined(shuffled(opened(2000, "csv", 50), 2000, seed=1))[1]
    assert abs(np.corrcoef(whole, np.arange(2000))[0, 1]) < 0.1


@pytest.mark.parametrize("memory", [1 << 28, 20_000])
@pytest.mark.parametrize("format", ["libsvm", "csv"])
def test_shuffling_all_rows(format, memory, monkeypatch):
    """In memory, or through temporary files: a random permutation that does not depend on where reading resumes."""
    monkeypatch.setattr(shuffling, "MEMORY_BYTES", memory)
    stream = shuffled(opened(3000, format, 64), None, seed=1)
    for _ in range(2):
        batches = list(stream)
        X, y = joined(batches)
        assert sorted(y.astype(int)) == list(range(3000))
        np.testing.assert_array_equal(X[:, 0], y + 1)
    if format == "csv":
        assert all(b.columns["town"].tolist() == [f"t{int(label)}" for label in b.y] for b in batches)
    assert abs(np.corrcoef(y, np.arange(3000))[0, 1]) < 0.1
    assert np.count_nonzero(np.diff(y) == 1) < 10
    np.testing.assert_array_equal(joined(stream.from_row(1111))[1], y[1111:])
    assert not np.array_equal(joined(shuffled(opened(3000, format, 64), None, seed=2))[1], y)


def test_a_full_disk_while_shuffling(monkeypatch):
    monkeypatch.setattr(shuffling, "MEMORY_BYTES", 2000)

    class Full(io.BytesIO):
        def write(self, _):
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(shuffling.tempfile, "TemporaryFile", Full)
    with pytest.raises(StreamError, match=r"cannot be shuffled through temporary files in .*No space left"):
        list(shuffled(opened(3000, "csv", 64), None))


def labels_in_order(kind, n=600):
    y = np.repeat(np.arange(3), n // 3)
    rng = np.random.default_rng(0)
    if kind == "random":
        return rng.permutation(y)
    if kind == "runs":  # a series that changes a third as often as by chance
        return np.concatenate([[label] * 3 for label in rng.integers(3, size=n // 3)])
    if kind == "blocks":
        return np.tile(np.repeat(np.arange(3), 50), n // 150)
    if kind == "many":
        return np.repeat(np.arange(n // 4), 4).astype(str)
    return y[::-1] if kind == "descending" else y


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("random", False), ("runs", False), ("sorted", True), ("descending", True), ("blocks", True), ("many", True)],
)
def test_order_by_label(kind, expected):
    y = labels_in_order(kind)
    whole, parts = LabelOrder(), LabelOrder()
    whole.add(y)
    for start in range(0, len(y), 7):
        parts.add(y[start : start + 7].astype(object))
    assert whole.is_sorted is parts.is_sorted is expected
    assert (whole.n_changes, whole.n_rows) == (parts.n_changes, parts.n_rows)


def test_few_rows_are_in_no_order():
    order = LabelOrder()
    order.add([0, 0, 0, 0, 1, 1, 1, 1])
    assert not order.is_sorted
    one = LabelOrder()
    one.add(np.zeros(1000))
    assert not one.is_sorted


def test_watching_a_stream():
    stream = Watched(opened(100, "csv", 16))
    for _ in range(2):
        assert joined(stream)[1].tolist() == list(range(100))
        assert stream.order.n_rows == 100
    assert stream.from_row(90).n_features == 1


def test_numbers_are_sorted_where_nearly_all_go_one_way():
    rng = np.random.default_rng(0)
    rising = np.sort(rng.normal(size=1000))
    for labels, is_sorted in (
        (rising, True),
        (-rising, True),
        (np.r_[rising[500:], rising[:500]], True),  # in two parts
        (rng.permutation(rising), False),
        (np.cumsum(rng.normal(size=1000)), False),  # a series
        (np.ones(1000), False),
        (rising[:5], False),
    ):
        order = NumberOrder()
        for part in np.split(labels, [3, 3, 4]):
            order.add(part)
        assert order.is_sorted == is_sorted
        assert order.n_rows == len(labels)


@pytest.mark.parametrize("of_numbers", [True, False])
def test_labels_may_turn_out_to_be_numbers(of_numbers):
    stream = Watched(opened(100, "csv", 16), of_numbers=None)
    batches = iter(stream)
    next(batches)
    stream.settle(of_numbers=of_numbers)
    assert sum(batch.n_rows for batch in batches) == 84
    assert isinstance(stream.order, NumberOrder if of_numbers else LabelOrder)
    assert stream.order.n_rows == 100


def test_prefetching_changes_nothing():
    for format in ("libsvm", "csv"):
        plain = opened(1000, format, 64)
        ahead = prefetched(plain, depth=3)
        for _ in range(2):
            np.testing.assert_array_equal(joined(ahead)[0], joined(plain)[0])
        np.testing.assert_array_equal(joined(ahead.from_row(333))[1], np.arange(333, 1000))
        assert (ahead.n_features, ahead.batch_rows, ahead.name) == (plain.n_features, 64, plain.name)
        mixed = prefetched(shuffled(plain, 100, seed=3))
        np.testing.assert_array_equal(joined(mixed)[1], joined(shuffled(plain, 100, seed=3))[1])
        np.testing.assert_array_equal(joined(mixed.from_row(77))[1], joined(mixed)[1][77:])


def test_errors_come_in_their_place():
    data = text(100, "csv") + b"bad,t,1,1\n" + text(5, "csv").split(b"\n", 1)[1]
    stream = prefetched(open_stream(io.BytesIO(data), format="csv", weight="w", batch_rows=10))
    good = []
    with pytest.raises(StreamError, match="line 102: column 1"):  # noqa: PT012 - the loop is what raises
        for batch in stream:
            good.append(batch)
    assert joined(good)[1].tolist() == list(range(100))


class _Slow:
    """A stream that notes when its reading is ended, and counts how far it got."""

    name, batch_rows, start = "slow", 1, 0

    def __init__(self):
        self.given, self.closed, self.threads = 0, threading.Event(), set()

    def __iter__(self):
        try:
            for i in range(10_000):
                self.given += 1
                self.threads.add(threading.current_thread())
                yield Batch(np.full((1, 1), float(i)), None, None, i)
        finally:
            self.closed.set()


def test_stopping_early_ends_the_thread():
    slow = _Slow()
    for batch in prefetched(slow, depth=2):
        if batch.start == 5:
            break
    assert slow.closed.wait(30)
    assert slow.given <= 5 + 2 + 3
    (thread,) = slow.threads
    thread.join(30)
    assert not thread.is_alive()
    assert thread is not threading.main_thread()


def test_reading_waits_for_the_consumer():
    slow = _Slow()
    batches = iter(prefetched(slow, depth=4))
    next(batches)
    time.sleep(0.3)
    assert slow.given <= 1 + 4 + 1
    batches.close()
    assert slow.closed.wait(30)


def test_wrong_arguments():
    stream = opened(3, "csv", 2)
    with pytest.raises(ValueError, match="buffer_rows"):
        shuffled(stream, 0)
    with pytest.raises(ValueError, match="depth"):
        prefetched(stream, 0)
    with pytest.raises(ValueError, match="start must be the index of a row"):
        stream.from_row(-1)
