"""What programs must know of the rows that an exported model takes."""

from pathlib import Path

from frugalsvm.export.models import PlainModel
from frugalsvm.persist import describe
from frugalsvm.streams.columns import schema_of

_NAMED = 40  # columns, at most


def row_notes(model: Path, plain: PlainModel) -> list[str]:
    """Which columns a row of an exported model has, as far as its file knows them, and how dates are written.

    Parameters
    ----------
    model : Path
        A file that `frugalsvm train` has written.
    plain : PlainModel
        What `plain_model` makes of it.
    """
    schema = schema_of(describe(model).training.get("data", {}).get("columns"))
    numbers = [] if schema is None else list(schema.numbers)
    columns = {
        "numbers": numbers if len(numbers) == plain.n_numbers else [],
        "text": [] if plain.encoder is None else plain.encoder.names_,
    }
    notes = [
        f"the {what} of a row, in this order: {', '.join(names)}"
        for what, names in columns.items()
        if 0 < len(names) <= _NAMED
    ]
    if columns["numbers"] and schema.dates:
        dates = ", ".join(repr(name) for name, _ in schema.dates)
        notes.append(f"dates ({dates}) are days since 1970-01-01, with parts of a day; Monday is weekday 0")
        if any("(sin of " in name for name in columns["numbers"]):
            notes.append("sines and cosines are of 2 pi times these days, divided by 1, 7 or 365.2425")
    return notes
