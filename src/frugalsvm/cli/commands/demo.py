"""``frugalsvm demo``: a million examples in a few seconds."""

from pathlib import Path
from typing import Annotated

import typer

from frugalsvm.cli.errors import reported


def demo(
    examples: Annotated[int, typer.Option(min=1000, help="Number of examples to stream.")] = 1_000_000,
    budget: Annotated[int, typer.Option(min=2, help="Number of support vectors.")] = 100,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the picture.")] = Path("output"),
) -> None:
    """Stream a million noisy examples through a small model, and draw it."""
    with reported():
        from frugalsvm.demo import main

        # A list, also where nothing was given: otherwise the demo would read the words of this command line.
        main(["--examples", str(examples), "--budget", str(budget), "--output", str(output)])
