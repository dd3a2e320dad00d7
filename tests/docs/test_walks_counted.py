"""`benchmarks/walks.py` counts the files that a call passes, also in other threads, and not what imports run."""

import threading

import numpy as np

from benchmarks.walks import lines_of, passed
from frugalsvm.words import counted


def test_a_file_is_counted_by_the_functions_that_are_entered():
    found = passed(lambda: [counted(n, "row") for n in (1, 2)])
    assert found == {"words.py": {"counted": 2}}
    assert next(lines_of(found)).split() == ["words.py", "2", "counted", "2"]


def test_threads_count_and_imports_do_not():
    def work():
        from frugalsvm.metrics import geometric_mean_score  # of which functions are declared meanwhile

        thread = threading.Thread(target=geometric_mean_score, args=(np.array([0, 1]), np.array([0, 1])))
        thread.start()
        thread.join()

    found = passed(work)
    assert set(found) == {"metrics/__init__.py"}
    assert found["metrics/__init__.py"]["geometric_mean_score"] == 1


def test_nothing_is_counted_afterwards():
    found = passed(lambda: None)
    counted(1, "row")
    assert not found
