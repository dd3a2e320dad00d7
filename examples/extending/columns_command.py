"""A command of your own: what `frugalsvm train` takes each column of a table for.

``python columns_command.py columns rows.csv`` runs it, beside all other commands.
"""

from typing import Any

from frugalsvm.cli.app import app
from frugalsvm.cli.errors import reported
from frugalsvm.cli.flags import Json, data_options, with_flags


@with_flags("data", "format", "label", "categorical", "ignore")
def columns(as_json: Json = False, **flags: Any) -> None:
    """Tell what each column of a table is taken for."""
    options = data_options(flags)
    with reported():  # what users do wrong becomes one sentence and an exit code
        # What takes a while to import waits until the command runs: `--help` should be quick.
        from frugalsvm.pipelines.reading import open_data

        stream = open_data(options).stream
        if stream.schema is None:
            raise ValueError(f"{stream.name} has no columns, but numbered features: {stream.n_features:,} of them.")
        rows = [column._asdict() for column in stream.schema.columns]
    _print(stream.name, rows, as_json=as_json)


def _print(title, rows, *, as_json):
    from frugalsvm.cli.console import Printer, print_json, table_of

    if as_json:
        print_json(rows)
    else:
        Printer().print(table_of(title, rows))


app.command()(columns)  # the registry line; inside the library, the name in COMMANDS

if __name__ == "__main__":
    app()
