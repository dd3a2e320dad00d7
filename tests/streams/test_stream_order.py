"""Shuffling is a bounded, repeatable permutation; reading ahead changes nothing but the time."""

import io
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stream_files import joined

from frugalsvm.streams import Batch, StreamError, open_stream, prefetched, shuffled


def text(n, format):
    rows = range(n)
    if format == "libsvm":
        return "".join(f"{i} 1:{i + 1} {2 + i % 7}:1\n" for i in rows).encode()
    return ("x,town,y,w\n" + "".join(f"{i + 1},t{i},{i},{i}\n" for i in rows)).encode()


def opened(n, format, batch_rows, **options):
    if format == "csv":
        options["weight"] = "w"
    return open_stream(io.BytesIO(text(n, format)), format=format, batch_rows=batch_rows, **options)


@settings(max_examples=60, deadline=None)
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
    with pytest.raises(ValueError, match="negative"):
        stream.from_row(-1)
