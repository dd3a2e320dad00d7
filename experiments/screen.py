"""What is shown while computing: by rich, or in plain lines where that is not installed."""

import sys
from contextlib import contextmanager

try:
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.table import Table as ScreenTable
except ImportError:  # computing needs no more than the library itself: machines for it are often bare
    Progress = None

    class Console:  # type: ignore[no-redef]
        """Prints lines."""

        is_terminal = False

        def __init__(self, width=None):
            pass

        def print(self, text="") -> None:
            print(str(text).replace("[red]", "").replace("[/red]", ""), flush=True)

    class ScreenTable:  # type: ignore[no-redef]
        """Rows as lines, cells parted by bars."""

        def __init__(self, *headings: str):
            self._lines = [headings]

        def add_row(self, *cells: str) -> None:
            self._lines.append(cells)

        def __str__(self) -> str:
            return "\n".join(" | ".join(line) for line in self._lines)

    def escape(markup: str) -> str:
        return markup


__all__ = ["Console", "ScreenTable", "advancing", "console_of_this_process", "escape"]


def console_of_this_process() -> Console:
    return Console(width=None if sys.stdout.isatty() else 120)


@contextmanager
def advancing(console: Console, title: str, total: int):
    """A bar; what is yielded moves it by one and shows a text beside it."""
    if Progress is None or not total:
        yield lambda latest: None
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[latest]}"),
    )
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task(title, total=total, latest="")
        yield lambda latest: progress.update(bar, advance=1, latest=latest)
