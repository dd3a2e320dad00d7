"""Threads that share loops of compiled code: `frugalsvm.compiling.crew`."""

import gc
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from frugalsvm.compiling import crew as crews
from frugalsvm.compiling.crew import ALONE, Crew, Crews, code_of, share, task
from frugalsvm.compiling.functions import INTERPRETED, entry
from frugalsvm.compiling.threads import Threads

MANY = 1e9  # numbers: worth a crew
N_PARTS = 37

needs_threads = pytest.mark.skipif(INTERPRETED, reason="a crew of one")


@task
def write_squares(numbers, out, part):
    out[part] = numbers[part] * numbers[part]


@task
def add_two(squares, out, part):
    out[part] += squares[part] + squares[squares.size - 1 - part]


@entry
def two_tasks_each_time(crew, numbers, times, squares, out):
    """Each second task needs all parts of the one before."""
    for _ in range(times):
        for k in range(squares.size):
            squares[k] = -1.0
        share(crew, code_of(write_squares, (numbers, squares)), squares.size, (numbers, squares))
        share(crew, code_of(add_two, (squares, out)), squares.size, (squares, out))


def computed(crew, times, n_parts=N_PARTS):
    numbers, squares, out = np.arange(float(n_parts)), np.empty(n_parts), np.zeros(n_parts)
    crew.run(two_tasks_each_time, MANY, numbers, times, squares, out)
    return out / times


def expected(n_parts=N_PARTS):
    squares = np.arange(float(n_parts)) ** 2
    return squares + squares[::-1]


def members(crew):
    return 0 if crew._quarters is None else int(crew._quarters.words[crews._PRESENT])


def until(condition):
    end = time.monotonic() + 30
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    assert condition()


@pytest.mark.parametrize("count", [1, 2, 3, 16])
def test_all_parts_are_done_before_the_next_task(count):
    np.testing.assert_array_equal(computed(Crew(count), 500), expected())


@pytest.mark.parametrize("n_parts", [1, 2, 500, crews._MOST_PARTS + 1])
def test_any_number_of_parts(n_parts):
    np.testing.assert_array_equal(computed(Crew(4), 3, n_parts), expected(n_parts))


@needs_threads
def test_members_sleep_and_are_woken():
    crew = Crew(6)
    for pause in (0.0, 0.02, 0.05, 0.02):
        np.testing.assert_array_equal(computed(crew, 20), expected())
        time.sleep(pause)
    assert members(crew) == 5


@needs_threads
def test_members_leave_after_a_while_and_are_called_again(monkeypatch):
    crew = Crew(3)
    computed(crew, 5)
    until(lambda: members(crew) == 0)
    np.testing.assert_array_equal(computed(crew, 5), expected())
    assert members(crew) == 2


@needs_threads
def test_members_leave_a_crew_that_is_no_longer_there():
    crew = Crew(3)
    computed(crew, 5)
    quarters = crew._quarters
    del crew
    gc.collect()
    until(quarters.is_empty)


@needs_threads
def test_little_work_calls_nobody():
    crew = Crew(3)
    crew.run(two_tasks_each_time, 100, np.arange(5.0), 1, np.empty(5), np.zeros(5))
    assert members(crew) == 0


def test_two_threads_with_one_crew():
    """One leads, the other one works alone."""
    crew, results = Crew(3), []
    threads = [threading.Thread(target=lambda: results.append(computed(crew, 300))) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    for result in results:
        np.testing.assert_array_equal(result, expected())
    assert len(results) == 4


def test_crews_side_by_side():
    results = []
    threads = [threading.Thread(target=lambda: results.append(computed(Crew(4), 300))) for _ in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert all(np.array_equal(result, expected()) for result in results)
    assert len(results) == 3


def test_blocks_of_other_threads_work_alone():
    crew = Crew(3)
    found = Threads(2).run(lambda _: computed(crew, 10), range(4))
    assert all(np.array_equal(each, expected()) for each in found)
    assert members(crew) == 0


@needs_threads
def test_an_error_leaves_the_crew_as_it_is():
    crew = Crew(3)
    with pytest.raises(TypeError):
        crew.run(two_tasks_each_time, MANY, None)
    np.testing.assert_array_equal(computed(crew, 5), expected())
    assert members(crew) == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_calls_members_of_its_own():
    crew = Crew(3)
    computed(crew, 5)
    child = os.fork()
    if child == 0:
        same = np.array_equal(computed(crew, 50), expected())
        os._exit(0 if same and (INTERPRETED or members(crew) == 2) else 1)
    assert os.waitpid(child, 0)[1] == 0
    np.testing.assert_array_equal(computed(crew, 5), expected())


INTERRUPTED = """
import _thread, signal, sys, threading
import numpy as np
sys.path.insert(0, sys.argv[1])
from test_crew import Crew, computed, expected
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell has programs in the background ignore it
crew = Crew(3)
computed(crew, 1)
is_over = threading.Event()
def interrupt():  # again, where Python has lost one, as in the end of an object
    seconds = 0.3
    while not is_over.wait(seconds):
        _thread.interrupt_main()
        seconds = 10.0
threading.Thread(target=interrupt, daemon=True).start()
try:
    while True:
        computed(crew, 100)
except KeyboardInterrupt:
    is_over.set()
assert np.array_equal(computed(crew, 5), expected())
print("the end")
"""


@needs_threads
def test_an_interrupted_process_goes_on_and_ends():
    here = os.path.dirname(__file__)
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, here], capture_output=True, text=True, timeout=300, check=False
    )
    assert (done.returncode, done.stdout.strip()) == (0, "the end"), done.stderr


def test_crews_are_borrowed():
    free = Crews()
    with free.one_of(2) as first, free.one_of(2) as second:
        assert first is not second
    with free.one_of(2) as again:
        assert again in (first, second)
    with pytest.raises(ZeroDivisionError), free.one_of(2) as again:
        raise ZeroDivisionError
    with free.one_of(2) as after:
        assert after is again


def test_alone():
    numbers, squares, out = np.arange(4.0), np.empty(4), np.zeros(4)
    two_tasks_each_time(ALONE, numbers, 2, squares, out)
    np.testing.assert_array_equal(out / 2, expected(4))
