"""Numbers and names as people read them, in reports and messages."""

from collections.abc import Iterable, Sequence
from typing import Any

CLASSES, NUMBERS, NOVELTIES = "classes", "numbers", "novelties"  # what there is to learn; for the last, without labels
_FEW, _MANY = 3, 12  # names in a list


def percent(share: float | None) -> str:
    """A share for people; a dash where there is none.

    Examples
    --------
    >>> percent(0.98765), percent(None)
    ('98.77 %', '-')
    """
    return "-" if share is None else f"{100 * share:.2f} %"


def short(value: Any) -> str:
    """A value for people; numbers that are not whole have four digits."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def counted(number: int, one: str, many: str | None = None) -> str:
    """A number with its noun.

    Examples
    --------
    >>> counted(1, "row"), counted(2000, "row"), counted(2, "class", "classes")
    ('1 row', '2,000 rows', '2 classes')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def listed(names: Sequence[Any], most: int = _MANY) -> str:
    """Names separated by commas, as many as can be read; in quotes where a name has a comma itself.

    Examples
    --------
    >>> listed(["a", "b", "c"], most=2), listed(["no", "yes, very"])
    ('a, b and 1 more', "'no', 'yes, very'")
    """
    texts = list(map(str, names[:most]))
    shown = ", ".join(map(repr, texts) if any("," in text for text in texts) else texts)
    return shown if len(names) <= most else f"{shown} and {len(names) - most:,} more"


def few(values: Sequence[Any]) -> str:
    """The first of some values.

    Examples
    --------
    >>> few([1, 2, 3, 4]), few(["a", "b"])
    ('1, 2, 3, ...', "'a', 'b'")
    """
    return ", ".join(map(repr, values[:_FEW])) + (", ..." if len(values) > _FEW else "")


def size_of(n_bytes: int) -> str:
    """Bytes for people.

    Examples
    --------
    >>> size_of(900), size_of(46_500), size_of(3_200_000)
    ('900 bytes', '46.5 kB', '3.2 MB')
    """
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n_bytes >= size:
            return f"{n_bytes / size:.1f} {unit}"
    return f"{n_bytes} bytes"


def seconds_words(seconds: float) -> str:
    """A time for people.

    Examples
    --------
    >>> seconds_words(0.03), seconds_words(7.26), seconds_words(600), seconds_words(30_000)
    ('0.03 s', '7.3 s', '10 min', '8.3 h')
    """
    if seconds >= 5400:
        return f"{seconds / 3600:.1f} h"
    if seconds >= 100:
        return f"{seconds / 60:.0f} min"
    return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"


def facts_lines(facts: Iterable[tuple[str, str]]) -> list[str]:
    """Names and what they are, in two columns.

    Examples
    --------
    >>> facts_lines([("rows", "3"), ("accuracy", "98.77 %")])
    ['  rows      3', '  accuracy  98.77 %']
    """
    facts = list(facts)
    width = max((len(name) for name, _ in facts), default=0)
    return [f"  {name:<{width}}  {value}" for name, value in facts]


def table_lines(rows: list[dict[str, str]]) -> list[str]:
    """Rows of text under their names; columns whose first value is a number are aligned to the right.

    Examples
    --------
    >>> table_lines([{"name": "a", "rows": "1,000"}, {"name": "longer", "rows": "-"}])
    ['  name     rows', '  a       1,000', '  longer      -']
    """
    names = list(rows[0])
    widths = {name: max(len(name), *(len(row[name]) for row in rows)) for name in names}
    right = {name for name in names if rows[0][name][:1].isdigit() or rows[0][name] == "-"}
    lines = []
    for row in ({name: name for name in names}, *rows):
        cells = [row[n].rjust(widths[n]) if n in right else row[n].ljust(widths[n]) for n in names]
        lines.append(("  " + "  ".join(cells)).rstrip())
    return lines


def coverage_words(figures: dict[str, Any]) -> str:
    """How often quantiles hold, in a sentence, of figures of a training."""
    quantiles, rows = figures["quantiles"], f"{figures['quantile_rows']:,} rows that did not adjust them"
    if "coverage" in figures:
        low, high = min(quantiles), max(quantiles)
        return (
            f"{percent(figures['coverage'])} of the labels are between the quantiles {low:g} and {high:g}, of "
            f"{percent(high - low)} wanted ({rows})"
        )
    return f"{percent(figures['below_quantiles'][0])} of the labels are below the quantile {quantiles[0]:g} ({rows})"
