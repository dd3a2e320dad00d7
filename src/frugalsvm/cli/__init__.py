"""The command line: train, predict, evaluate, tune, inspect, export, algorithms, info, demo, warm-up."""

import os
import sys

__all__ = ["main"]

_INTERRUPTED = (129, 130, 143)  # by SIGHUP, SIGINT and SIGTERM


def main() -> None:
    """Run the command line."""
    try:
        from frugalsvm.cli.app import app
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        sys.exit(f"The command line needs {error.name}: pip install 'frugalsvm[cli]'")
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started this program
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - as long as the program
    code = _code_of(app)
    if code in _INTERRUPTED:
        # A thread may still wait for a pipe that is never closed: leave without it. All files are written.
        os._exit(code)
    sys.exit(code)


def _code_of(app):
    """The exit code of a command, once its results are out; results that cannot be written are an error as well."""
    from frugalsvm.cli.console import Exit, silenced
    from frugalsvm.cli.errors import fail

    code = None
    try:
        try:
            app(prog_name="frugalsvm")  # also for `python -m`: completion asks for it by this name
        except SystemExit as end:
            code = end.code
        sys.stdout.flush()
    except BrokenPipeError:
        silenced(sys.stdout)
        return code or int(Exit.CLOSED)
    except OSError as error:  # commands report those of files by themselves
        silenced(sys.stdout)
        return code or fail(Exit.SYSTEM, f"Standard output cannot be written: {error.strerror}.").exit_code
    return code
