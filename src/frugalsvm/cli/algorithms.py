"""``frugalsvm algorithms``: what can be trained."""

from frugalsvm.cli.catalogue import CATALOGUE
from frugalsvm.cli.flags import Json

__all__ = ["algorithms"]


def algorithms(as_json: Json = False) -> None:
    """List the algorithms: what each is for, and what it costs."""
    from frugalsvm.cli.console import Printer, print_json, table_of

    rows = [
        {"algorithm": name, "for": a.purpose, "cost per example": a.cost, "memory": a.memory}
        for name, a in CATALOGUE.items()
    ]
    if as_json:
        print_json(rows)
    else:
        Printer().print(table_of("", rows))
