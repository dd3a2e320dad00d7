"""The command line: train, predict, evaluate, tune, inspect, export, algorithms, demo."""

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line."""
    try:
        from frugalsvm.cli.app import app
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        sys.exit(f"The command line needs {error.name}: pip install 'frugalsvm[cli]'")
    app()
