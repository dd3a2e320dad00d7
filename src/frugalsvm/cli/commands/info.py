"""``frugalsvm info``: versions, extras, devices, threads, machine code."""

from frugalsvm.cli.flags import Json


def info(as_json: Json = False) -> None:
    """Show what is installed: versions, extras, devices, threads, machine code."""
    from frugalsvm.cli.console import Printer, print_json, table_of
    from frugalsvm.installation import installation, installation_rows

    facts = installation()
    if as_json:
        print_json(facts)
    else:
        Printer().print(table_of("", installation_rows(facts)))
