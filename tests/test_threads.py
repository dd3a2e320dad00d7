"""Blocks of rows side by side: `frugalsvm._threads`."""

import os
import threading

import pytest

from frugalsvm._threads import ONE_THREAD, Threads, row_blocks


@pytest.mark.parametrize("count", [1, 2, 5])
def test_results_come_in_the_order_of_the_items(count):
    assert Threads(count).run(lambda x: x * x, range(100)) == [x * x for x in range(100)]


def test_several_threads_take_part():
    together = threading.Barrier(3, timeout=30)  # nobody gets through alone
    assert len(Threads(3).run(lambda _: together.wait(), range(3))) == 3


def test_one_thread_is_the_calling_one():
    assert set(ONE_THREAD.run(lambda _: threading.get_ident(), range(4))) == {threading.get_ident()}


def test_an_error_in_a_block_reaches_the_caller_and_the_threads_go_on():
    def fail(x):
        raise ValueError(f"block {x}")

    with pytest.raises(ValueError, match="block"):
        Threads(2).run(fail, range(10))
    assert Threads(2).run(str, range(3)) == ["0", "1", "2"]


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
