"""Tables on the screen."""

from rich.table import Table

__all__ = ["table"]


def table(title, *headings):
    """An empty table; names of data are to the left, numbers to the right."""
    made = Table(title=title, title_justify="left")
    for heading in headings:
        made.add_column(heading, justify="left" if heading == "data" else "right")
    return made
