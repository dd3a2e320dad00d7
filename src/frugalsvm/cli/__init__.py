"""The command line: train, predict, evaluate, tune, inspect, export, algorithms, demo."""

import os
import sys

__all__ = ["main"]

_INTERRUPTED = (130, 143)  # by SIGINT and SIGTERM


def main() -> None:
    """Run the command line."""
    try:
        from frugalsvm.cli.app import app
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        sys.exit(f"The command line needs {error.name}: pip install 'frugalsvm[cli]'")
    try:
        app()
    except SystemExit as end:
        if end.code in _INTERRUPTED:
            # A thread may still wait for a pipe that nobody closes: leave without it. All files are written.
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(int(end.code))
        raise
