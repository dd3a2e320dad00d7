"""How far a fit has come: a line on standard error with ``verbose=1``, and scikit-learn's callbacks.

Without either, all rows are learned in one call, and nothing here takes time.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if

CERTIFICATES = {"gradient_error_": "gradient error", "member_gap_": "gap", "kkt_violation_": "KKT"}
_PARTS, _LEAST_ROWS = 100, 4096  # of all rows, where progress is reported; of a part
_BLOCK = 256  # rows: parts end where blocks of learners end
_LIVE_SECONDS, _PLAIN_SECONDS = 0.1, 5.0  # between two lines, in a terminal and elsewhere


class CallbackSupport:
    """scikit-learn's support of callbacks, which is imported when somebody has one: it imports a lot."""

    @available_if(lambda estimator: find_spec("sklearn.callback") is not None)  # since 1.9
    def set_callbacks(self, *callbacks):
        """Set callbacks of scikit-learn, which are told how far `fit` has come.

        Parameters
        ----------
        *callbacks : callbacks of scikit-learn
            None of them takes all away.

        Returns
        -------
        self
        """
        from sklearn.callback import CallbackSupportMixin

        return CallbackSupportMixin.set_callbacks(self, *callbacks)


def with_callbacks(method: Callable) -> Callable:
    """A method after which callbacks are told that it is over, however it ends."""

    @wraps(method)
    def managed(estimator, *args, **kwargs):
        if not hasattr(estimator, "_skl_callbacks"):
            return method(estimator, *args, **kwargs)
        from sklearn.callback import with_callbacks as and_tell

        return and_tell(method)(estimator, *args, **kwargs)

    return managed


def begin_callbacks(estimator: Any, X: Any, y: Any = None) -> None:
    """Tell scikit-learn's callbacks, if there are any, that a fit begins: before anything that may fail."""
    if hasattr(estimator, "_skl_callbacks"):
        from sklearn.callback import CallbackSupportMixin

        context = CallbackSupportMixin._init_callback_context(estimator, max_subtasks=None)
        context.call_on_fit_task_begin(estimator=estimator, X=X, y=y)


def end_callbacks(estimator: Any, X: Any, y: Any = None) -> None:
    """Tell them that it has ended well."""
    context = getattr(estimator, "_callback_fit_ctx", None)
    if context is not None:
        given = {"X": X, "y": y, "reconstruction_attributes": lambda: _learned(estimator)}
        context.call_on_fit_task_end(estimator=estimator, **given)


def _learned(estimator):
    """What makes a new estimator one that has learned as much."""
    known = {*estimator.get_params(deep=False), "_skl_callbacks", "_skl_callbacks_to_teardown", "_callback_fit_ctx"}
    return {name: value for name, value in vars(estimator).items() if name not in known}


class FitProgress:
    """Counts what is done of a total (None: not known), and reports it to the line and the callbacks.

    ``has_model``: whether the estimator is one that predicts, as it is.
    """

    def __init__(self, estimator: Any, total: int | None, unit: str, line: "_Line | None", has_model: bool):
        self._estimator, self._total, self._unit, self._line, self._has_model = estimator, total, unit, line, has_model
        self._context = getattr(estimator, "_callback_fit_ctx", None)
        self._done, self._start = 0, time.perf_counter()

    def parts(self, order: np.ndarray) -> list[np.ndarray]:
        """Rows in their order, cut into parts if progress is reported."""
        if not self.is_watched:
            return [order]
        size = max(_LEAST_ROWS, -(-(self._total or len(order)) // _PARTS))
        size = -(-size // _BLOCK) * _BLOCK
        return [order[start : start + size] for start in range(0, max(len(order), 1), size)]

    @property
    def is_watched(self) -> bool:
        """Whether progress is reported."""
        return self._line is not None or self._context is not None

    def advance(self, n: int, said: str = "") -> bool:
        """Count more of them; returns whether a callback wants the fit to end here."""
        self._done += n
        if self._line is not None:
            self._line.show(self._text(said or self._certificate()))
        if self._context is None:
            return False
        task, given = self._context.subcontext(task_name=self._unit), {}
        task.call_on_fit_task_begin(estimator=self._estimator)
        if self._has_model:
            given["reconstruction_attributes"] = lambda: _learned(self._estimator)
        return bool(task.call_on_fit_task_end(estimator=self._estimator, **given))

    def _text(self, said):
        seconds = max(time.perf_counter() - self._start, 1e-9)
        speed, name = self._done / seconds, type(self._estimator).__name__
        if self._total is None:
            text = f"{name}: {self._done:,} {self._unit}, {seconds:.1f} s"
        else:
            left = (self._total - self._done) / max(speed, 1e-9)
            text = (
                f"{name}: {self._done / max(self._total, 1):4.0%}, {self._done:,} of {self._total:,} {self._unit}, "
                f"{speed:,.0f} {self._unit}/s, {left:.1f} s left"
            )
        return f"{text}, {said}" if said else text

    def _certificate(self):
        for attribute, name in CERTIFICATES.items():
            value = getattr(self._estimator, attribute, None)
            if value is not None:
                return f"{name} {value:.3g}"
        return ""


class _Line:
    """A line on standard error: written again and again in a terminal, a new one every few seconds elsewhere."""

    def __init__(self):
        self._is_live = sys.stderr is not None and sys.stderr.isatty()
        self._pause = _LIVE_SECONDS if self._is_live else _PLAIN_SECONDS
        self._next, self._last, self._shown = time.perf_counter() + self._pause, "", ""

    def show(self, text: str) -> None:
        self._last = text
        if time.perf_counter() >= self._next:
            self._write()

    def close(self) -> None:
        """Show the last line, if it was not."""
        if self._last:
            self._write(end="\n")

    def _write(self, end=""):
        self._next = time.perf_counter() + self._pause
        if self._is_live:
            print(f"\r{self._last.ljust(len(self._shown))}", end=end, file=sys.stderr, flush=True)
        elif self._last != self._shown:
            print(self._last, file=sys.stderr, flush=True)
        self._shown = self._last


@contextmanager
def following(estimator: Any, total: int | None, unit: str, *, has_model: bool) -> Iterator[FitProgress]:
    """Context of a part of a fit that takes a number of units."""
    line = _Line() if getattr(estimator, "verbose", 0) else None
    try:
        yield FitProgress(estimator, total, unit, line, has_model)
    finally:
        if line is not None:
            line.close()
