"""Hands Numba's events to the notice that shows compilations."""

from typing import Any

from numba.core import event as _event

from frugalsvm.compiling.notice import CompileNotice


class _CompileListener(_event.Listener):
    """Hands Numba's events to a notice: one for every function of ours that is not found on disk."""

    def __init__(self, notice: CompileNotice):
        self._notice = notice

    def on_start(self, event: Any) -> None:
        if name := self._own_name(event):
            self._notice.begin(name)

    def on_end(self, event: Any) -> None:
        if name := self._own_name(event):
            self._notice.end(name)

    @staticmethod
    def _own_name(event: Any) -> str | None:
        function = event.data["dispatcher"].py_func
        package = __name__.partition(".")[0] + "."
        module = function.__module__ or ""
        return f"{module.removeprefix(package)}.{function.__name__}" if module.startswith(package) else None


compile_notice = CompileNotice()
_event.register("numba:compile", _CompileListener(compile_notice))
