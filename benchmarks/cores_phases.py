"""Where fits of ASSET spend their time: ``python -m benchmarks.cores_phases [--threads N ...] [--names WORD ...]``.

For each phase and number of threads: seconds by the clock, those of them in which one thread works alone, and seconds
of all processors, which include those of threads that look for work. What threads do in another phase inside a phase
does not count for the outer one. The last fit of ``--repeats`` is shown: the first ones touch new memory.
"""

import argparse
import threading
import time
from contextlib import ExitStack, contextmanager
from functools import wraps
from unittest import mock

from rich.console import Console

from benchmarks.cores_fits import ASSET_PROBLEMS, asset_data, bits_of, compile_for
from benchmarks.printing import table
from frugalsvm import ASSETClassifier
from frugalsvm.compiling.crew import Crew
from frugalsvm.compiling.threads import Threads, is_at_work, thread_count
from frugalsvm.estimators import low_rank_machine
from frugalsvm.estimators.asset import ASSETClassifier as Machine
from frugalsvm.lowrank import newton, nystroem
from frugalsvm.lowrank.backends import compiled
from frugalsvm.lowrank.problem import Problem
from frugalsvm.lowrank.whitening import HostWhitening

PHASES = (
    ("rows are checked", Machine, ("_new_rows", "_with_origin")),
    ("targets", Machine, ("_targets",)),
    ("landmarks", Machine, ("_candidates",)),
    ("their kernel matrix", nystroem, ("_kernel_matrix",)),
    ("its factor", nystroem, ("_whitened_by_cholesky", "_without_rounding_errors", "_whitened_by_eigenvectors")),
    ("whitening, transposed", HostWhitening, ("both_ways",)),
    ("kernel values", compiled, ("stored_rows",)),
    ("order of rows", low_rank_machine, ("new_training",)),
    ("subsamples", Problem, ("subsample",)),
    ("scores", Problem, ("scores",)),
    ("slopes", Problem, ("slopes",)),
    ("gradients", Problem, ("gradient",)),
    ("Hessian", Problem, ("hessian",)),
    ("preconditioner", compiled.Compiled, ("preconditioner",)),
    ("preconditioner: rows", compiled, ("roots_of",)),
    ("preconditioner: products", compiled, ("gram",)),
    ("preconditioner: inverse", compiled, ("inverse_factor", "TwoTriangles")),
    ("conjugate gradients", compiled.Compiled, ("directions",)),
    ("line search", newton, ("line_search",)),
    ("moves", Problem, ("move",)),
    ("objectives", Problem, ("objectives", "excess")),
    ("bounds", Problem, ("certify",)),
)
REST = "all else"


class _Clock:
    """Seconds of each phase, of the leading thread: by the clock, of them alone, and of all processors."""

    def __init__(self):
        self.seconds, self._phases, self._is_shared = {}, [REST], False
        self._last, self._leads = self._now(), threading.get_ident()

    @staticmethod
    def _now():
        return time.perf_counter(), time.process_time()

    def _note(self):
        clock, processors = now = self._now()
        own = self.seconds.setdefault(self._phases[-1], [0.0, 0.0, 0.0])
        own[0] += clock - self._last[0]
        own[1] += 0.0 if self._is_shared else clock - self._last[0]
        own[2] += processors - self._last[1]
        self._last = now

    def is_mine(self):
        return threading.get_ident() == self._leads and not is_at_work()

    @contextmanager
    def phase(self, name):
        self._note()
        self._phases.append(name)
        yield
        self._note()
        self._phases.pop()

    @contextmanager
    def shared(self):
        self._note()
        before, self._is_shared = self._is_shared, True
        yield
        self._note()
        self._is_shared = before

    def end(self):
        self._note()
        return self.seconds


def _within(clock, name, function):
    @wraps(function)
    def timed(*args, **kwargs):
        if not clock.is_mine():
            return function(*args, **kwargs)
        with clock.phase(name):
            return function(*args, **kwargs)

    return timed


def _on_threads(clock, function, has_several):
    @wraps(function)
    def timed(self, *args, **kwargs):
        if not (clock.is_mine() and has_several(self, *args)):
            return function(self, *args, **kwargs)
        with clock.shared():
            return function(self, *args, **kwargs)

    return timed


def phases_of(model, X, y):
    """A fitted model, and the seconds of each phase of its fit."""
    clock = _Clock()
    with ExitStack() as patches:

        def patch(owner, name, timed):
            patches.enter_context(mock.patch.object(owner, name, timed))

        for phase, owner, names in PHASES:
            for name in names:
                patch(owner, name, _within(clock, phase, getattr(owner, name)))
        patch(Threads, "run", _on_threads(clock, Threads.run, lambda threads, _, items: threads.count > 1 < len(items)))
        patch(
            Crew,
            "run",
            _on_threads(clock, Crew.run, lambda crew, _, numbers, *rest: crew.count > 1 and numbers > 2**15),
        )
        model.fit(X, y)
        return model, clock.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", nargs="+", type=int, default=sorted({1, thread_count(-1)}))
    parser.add_argument("--names", nargs="+", default=[], help="problems with one of these words")
    parser.add_argument("--made-up", action="store_true", help="made-up rows in the shape of real ones")
    parser.add_argument("--repeats", type=int, default=2)
    options = parser.parse_args()
    console = Console(width=140)
    for name, data, s in ASSET_PROBLEMS:
        if options.names and not any(word.lower() in name.lower() for word in options.names):
            continue
        X, y, _, _, settings = asset_data(data, made_up=options.made_up)
        new = {"n_components": s, "loss": "hinge", "random_state": 0, **settings}
        compile_for(ASSETClassifier(**{**new, "n_components": 16}), X, y)
        found = []
        for n_threads in options.threads:
            for _ in range(options.repeats):
                model, seconds = phases_of(ASSETClassifier(n_jobs=n_threads, **new), X, y)
            found.append(seconds)
            console.print(
                f"{name}, {n_threads} threads: {sum(each[0] for each in seconds.values()):.3f} s, bits {bits_of(model)}"
            )
        console.print(_table(name, options.threads, found))


def _table(name, threads, found):
    made = table(name, "phase", *(f"{what} {n}" for n in threads for what in ("clock", "alone", "processors")), "times")
    last = found[-1]
    phases = sorted({phase for each in found for phase in each}, key=lambda phase: -last.get(phase, [0])[0])
    for phase in phases:
        each = [seconds.get(phase, [0.0, 0.0, 0.0]) for seconds in found]
        times = each[0][0] / each[-1][0] if each[-1][0] else 0.0
        made.add_row(phase, *(f"{1000 * value:.1f}" for row in each for value in row), f"{times:.1f}")
    totals = [[sum(row[k] for row in seconds.values()) for k in range(3)] for seconds in found]
    made.add_row(
        "all, ms", *(f"{1000 * value:.1f}" for row in totals for value in row), f"{totals[0][0] / totals[-1][0]:.1f}"
    )
    return made


if __name__ == "__main__":
    main()
