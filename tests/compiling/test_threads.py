"""Blocks of rows side by side: `frugalsvm.compiling.threads`."""

import os
import threading
import time

import pytest

from frugalsvm.compiling import threads
from frugalsvm.compiling.threads import ONE_THREAD, Threads, blas_threads, row_blocks


@pytest.mark.parametrize("count", [1, 2, 5])
def test_results_come_in_the_order_of_the_items(count):
    assert Threads(count).run(lambda x: x * x, range(100)) == [x * x for x in range(100)]


def test_several_threads_take_part():
    together = threading.Barrier(3, timeout=30)  # nobody gets through alone
    assert len(Threads(3).run(lambda _: together.wait(), range(3))) == 3


def test_blocks_of_an_item_take_threads_that_no_other_item_needs():
    threads, together = Threads(4), threading.Barrier(4, timeout=30)  # two items with two blocks each

    def item(_):
        return threads.run(lambda _: together.wait(), range(2))

    assert [len(each) for each in threads.run(item, range(2), shares=True)] == [2, 2]


def test_blocks_of_blocks_run_one_after_another():
    threads = Threads(4)

    def item(_):
        return set(threads.run(lambda _: threading.get_ident(), range(8)))

    assert all(len(each) == 1 for each in threads.run(item, range(2)))


def test_one_thread_is_the_calling_one():
    assert set(ONE_THREAD.run(lambda _: threading.get_ident(), range(4))) == {threading.get_ident()}


def test_an_error_in_a_block_reaches_the_caller_and_the_threads_go_on():
    def fail(x):
        raise ValueError(f"block {x}")

    with pytest.raises(ValueError, match="block"):
        Threads(2).run(fail, range(10))
    assert Threads(2).run(str, range(3)) == ["0", "1", "2"]


def test_nobody_works_any_more_after_an_error():
    """Somebody may take back what was changed."""
    at_work, together = set(), threading.Barrier(2, timeout=30)

    def work(x):
        at_work.add(x)
        together.wait()
        if x == 0:
            raise KeyboardInterrupt
        time.sleep(0.1)
        at_work.remove(x)

    with pytest.raises(KeyboardInterrupt):
        Threads(2).run(work, range(10))
    assert at_work == {0}


def test_an_interrupted_caller_waits_for_the_others(monkeypatch):
    """Ctrl-C reaches the calling thread while it waits."""
    ends, end, begun = [], threads._Job.end, threading.Event()

    def interrupted(job):
        if not ends:
            ends.append("interrupted")
            raise KeyboardInterrupt
        end(job)

    def work(x):
        if threading.current_thread() is threading.main_thread():
            begun.wait(30)
            return
        begun.set()
        time.sleep(0.1)
        ends.append(x)

    monkeypatch.setattr(threads._Job, "end", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Threads(2).run(work, range(2))
    assert len(ends) == 2


def test_blocks_within_a_block_run_on_its_thread():
    def within(_):
        return set(Threads(4).run(lambda _: threading.get_ident(), range(8))) == {threading.get_ident()}

    assert all(Threads(2).run(within, range(4)))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own():
    Threads(2).run(str, range(4))
    child = os.fork()
    if child == 0:
        os._exit(0 if Threads(2).run(str, range(4)) == ["0", "1", "2", "3"] else 1)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize(
    ("n_rows", "n_threads", "least", "most", "sizes"),
    [
        (10, 3, 1, None, [3, 3, 4]),
        (10, 3, 5, None, [5, 5]),
        (10, 3, 100, None, [10]),
        (10, 1, 1, 4, [3, 3, 4]),
        (0, 4, 1, None, [0]),
    ],
)
def test_row_blocks_cover_all_rows(n_rows, n_threads, least, most, sizes):
    blocks = row_blocks(n_rows, n_threads, least, most)
    assert [block.stop - block.start for block in blocks] == sizes
    assert [i for block in blocks for i in range(n_rows)[block]] == list(range(n_rows))


def test_blocks_are_whole_numbers_of_steps():
    blocks = row_blocks(1000, 3, step=64)
    assert [block.start % 64 for block in blocks] == [0, 0, 0]
    assert [i for block in blocks for i in range(1000)[block]] == list(range(1000))
    assert len(row_blocks(63, 3, step=64)) == 1
    assert all(block.stop > block.start for n in range(1, 500) for block in row_blocks(n, 7, step=64))


@pytest.mark.parametrize(
    ("n_jobs", "work", "expected"), [(4, 1e6, 1), (4, 9e6, 2), (4, 1e9, 4), (1, 1e9, 1), (None, 1e9, 1), (3, None, 3)]
)
def test_products_use_as_many_threads_as_pay(monkeypatch, n_jobs, work, expected):
    library = _Library(7)
    monkeypatch.setattr(threads, "WORTH_A_THREAD", 4e6)
    monkeypatch.setattr(threads, "_blas_libraries", lambda: [library])
    with blas_threads(n_jobs) if work is None else blas_threads(n_jobs, work):
        assert library.get_num_threads() == expected
        with blas_threads(n_jobs) if work is None else blas_threads(n_jobs, work):
            assert library.get_num_threads() == expected
        assert library.get_num_threads() == expected
    assert library.get_num_threads() == 7


class _Library:
    """What is used of a library of matrix products."""

    def __init__(self, count):
        self._count = count

    def get_num_threads(self):
        return self._count

    def set_num_threads(self, count):
        self._count = count
