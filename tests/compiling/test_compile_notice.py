"""One line while machine code is compiled: when it comes, where it goes, and how it is silenced."""

import io
import logging
import subprocess
import sys
import threading
import time
from types import ModuleType

import pytest

from frugalsvm.compiling import functions, notice
from frugalsvm.compiling.notice import CompileNotice, show_compiling, show_on_terminal


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def told():
    """What is shown, as a list of (name, seconds)."""
    calls = []
    before = show_compiling(lambda name, seconds: calls.append((name, seconds)))
    yield calls
    show_compiling(before)


def wait_for(calls, n):
    deadline = time.monotonic() + 30
    while len(calls) < n and time.monotonic() < deadline:
        time.sleep(0.001)


def test_a_long_compilation_is_shown_once_with_all_that_is_within(told):
    notice = CompileNotice(patience=0.0)
    notice.begin("sgd.run")
    notice.begin("kernels.kernel_row")
    wait_for(told, 1)
    notice.end("kernels.kernel_row")
    assert told == [("sgd.run", None)]
    notice.end("sgd.run")
    assert [name for name, _ in told] == ["sgd.run", "sgd.run"]
    assert told[1][1] >= 0.0


def test_a_short_compilation_is_not_shown(told):
    notice = CompileNotice(patience=3600.0)
    notice.begin("sgd.run")
    notice.end("sgd.run")
    assert told == []


def test_the_next_compilation_is_shown_again(told):
    notice = CompileNotice(patience=0.0)
    for n in (1, 3):
        notice.begin("sgd.run")
        wait_for(told, n)
        notice.end("sgd.run")
    assert len(told) == 4


def test_all_go_to_the_logger(caplog):
    notice = CompileNotice(patience=3600.0)
    with caplog.at_level(logging.INFO, logger="frugalsvm"):
        notice.begin("sgd.run")
        notice.end("sgd.run")
    assert [record.getMessage().split(" in ")[0] for record in caplog.records] == [
        "Compiling sgd.run.",
        "Compiled sgd.run",
    ]


def test_compilations_in_several_threads_are_shown_as_one(told, caplog):
    notice = CompileNotice(patience=0.0)
    began, may_end = threading.Barrier(3), threading.Event()

    def compile_slowly(name):
        notice.begin(name)
        notice.begin("kernels.kernel_row")
        began.wait()
        notice.end("kernels.kernel_row")
        if name == "online._run":
            may_end.wait()
        notice.end(name)

    with caplog.at_level(logging.INFO, logger="frugalsvm"):
        threads = [threading.Thread(target=compile_slowly, args=(name,)) for name in ("sgd.run", "online._run")]
        for thread in threads:
            thread.start()
        began.wait()
        wait_for(told, 1)
        threads[0].join()
        assert [seconds for _, seconds in told] == [None]  # the other one still compiles
        may_end.set()
        threads[1].join()
    assert len(told) == 2
    assert told[1][0] == "online._run"
    messages = {record.getMessage().partition(" in ")[0] for record in caplog.records}
    assert messages == {"Compiling sgd.run.", "Compiling online._run.", "Compiled sgd.run", "Compiled online._run"}
    assert notice.n_compiled == 2


def test_a_timer_that_comes_too_late_does_not_tell_of_the_next_compilation(told):
    notice = CompileNotice(patience=3600.0)
    notice.begin("sgd.run")
    began = notice._began
    notice.end("sgd.run")
    notice.begin("online._run")
    notice._tell("sgd.run", began - 1.0)
    assert told == []
    notice.end("online._run")


def new_terminal(monkeypatch):
    """A terminal on which nothing was shown yet."""
    monkeypatch.delenv(notice.QUIET, raising=False)
    monkeypatch.setattr(notice, "_lines", iter([notice.FIRST_LINE, notice.NEXT_LINE]))
    monkeypatch.setattr(sys, "stderr", Terminal())
    return sys.stderr


def test_the_line_on_a_terminal(monkeypatch):
    terminal = new_terminal(monkeypatch)
    show_on_terminal("sgd.run", None)
    show_on_terminal("sgd.run", 12.3)
    line = terminal.getvalue()
    assert line.count("\n") == 1
    assert line.startswith("frugalsvm compiles")
    assert "`frugalsvm warm-up`" in line
    assert line.endswith("... 12 s\n")


def test_the_next_line_is_short(monkeypatch):
    terminal = new_terminal(monkeypatch)
    for _ in range(2):
        show_on_terminal("sgd.run", None)
        show_on_terminal("sgd.run", 3.0)
    assert terminal.getvalue().splitlines()[1] == "frugalsvm compiles more of it ... 3 s"


def test_notebooks_see_the_line_too(monkeypatch):
    monkeypatch.delenv(notice.QUIET, raising=False)
    monkeypatch.setitem(sys.modules, "ipykernel", ModuleType("ipykernel"))
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    show_on_terminal("sgd.run", None)
    assert sys.stderr.getvalue().startswith("frugalsvm compiles")


def test_no_line_where_nobody_looks_or_wants_it(monkeypatch):
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    monkeypatch.delenv(notice.QUIET, raising=False)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    show_on_terminal("sgd.run", None)
    assert sys.stderr.getvalue() == ""
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv(notice.QUIET, "1")
    show_on_terminal("sgd.run", None)
    assert sys.stderr.getvalue() == ""


COMPILING = """
import logging
logging.basicConfig(level=logging.INFO, format="%(message)s")
import numpy as np
from numba import njit
from frugalsvm.compiling.functions import compiled
from frugalsvm.core.fastmath import nth_smallest

@njit
def somebodys(x):
    return x + 1

somebodys(1)
nth_smallest(np.arange(4.0), 4, 2)
nth_smallest(np.arange(4.0), 4, 2)
"""


@pytest.mark.skipif(functions.INTERPRETED, reason="nothing is compiled")
def test_compiling_tells_of_own_functions_only():
    run = subprocess.run([sys.executable, "-c", COMPILING], capture_output=True, text=True, check=True)
    lines = run.stderr.splitlines()
    assert lines[0] == "Compiling core.fastmath.nth_smallest."
    assert lines[1].startswith("Compiled core.fastmath.nth_smallest in ")
    assert len(lines) == 2
