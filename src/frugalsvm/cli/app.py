"""The program `frugalsvm` and its commands.

A command is a function with flags, in the file of its name in `commands`. Commands import what they need when they run,
so that ``--help`` is quick.
"""

from importlib import import_module
from typing import Annotated

import typer

from frugalsvm._version import __version__

# In the order of `frugalsvm --help`; a new command is a file and a line here.
COMMANDS = (
    "train",
    "predict",
    "evaluate",
    "explain",
    "tune",
    "inspect",
    "export",
    "forget",
    "audit_forget",
    "algorithms",
    "cost",
    "info",
    "demo",
    "warm_up",
)

app = typer.Typer(
    name="frugalsvm",
    help="Kernel SVMs that learn from streams and very large data inside a fixed budget of memory and time.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: boxes leave too little room at 80 columns
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(shown: bool) -> None:
    if shown:
        print(f"frugalsvm {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


for name in COMMANDS:
    app.command()(getattr(import_module(f"frugalsvm.cli.commands.{name}"), name))
