"""Tasks that several threads work on in turns."""

import threading
import time

import pytest

from frugalsvm.compiling.threads import Threads
from frugalsvm.stream_search.turns import in_turns


def counting(n_steps, seen, name):
    for step in range(n_steps):
        seen.append((name, step))
        yield
    return n_steps


@pytest.mark.parametrize("n_threads", [1, 2, 3, 8])
def test_all_tasks_come_to_their_ends(n_threads):
    seen = []
    sizes = [5, 0, 9, 1, 3]
    assert in_turns([counting(n, seen, k) for k, n in enumerate(sizes)], Threads(n_threads)) == sizes
    for k, n in enumerate(sizes):
        assert [step for name, step in seen if name == k] == list(range(n))


def test_nothing_to_do():
    assert in_turns([], Threads(2)) == []


def test_no_task_waits_for_the_end_of_another():
    seen = []
    in_turns([counting(3, seen, name) for name in "ab"], Threads(1))
    assert seen == [("a", 0), ("b", 0), ("a", 1), ("b", 1), ("a", 2), ("b", 2)]


def failing(error):
    yield
    raise error


@pytest.mark.parametrize("error", [ValueError("wrong"), KeyboardInterrupt()])
@pytest.mark.parametrize("n_threads", [1, 4])
def test_where_one_fails_the_others_end_after_their_step(error, n_threads):
    seen = []
    endless = [counting(10**9, seen, name) for name in "abc"]
    with pytest.raises(type(error)):
        in_turns([*endless, failing(error)], Threads(n_threads))
    n_seen = len(seen)
    time.sleep(0.01)
    assert len(seen) == n_seen


def test_tasks_within_a_task_run_on_its_thread():
    def outer():
        here = threading.get_ident()
        yield
        found = in_turns([inner(), inner()], Threads(4))
        return set(found) <= {threading.get_ident()} and here is not None

    def inner():
        yield
        return threading.get_ident()

    assert in_turns([outer(), outer()], Threads(2)) == [True, True]
