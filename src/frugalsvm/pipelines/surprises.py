"""What training has not seen: categories that are new, and values missing where none were."""

from collections import Counter
from collections.abc import Mapping

_SHOWN = 3  # categories of a column


class Surprises:
    """Counts of unknown and missing values of some rows, by column.

    Attributes
    ----------
    n_rows : int
        Rows that were looked at.
    unknown : dict of str to Counter
        For each column how often each category came that training has not seen.
    missing : Counter
        For each column how often a value was missing, where training had all of them.
    """

    def __init__(self) -> None:
        self.n_rows = 0
        self.unknown: dict[str, Counter[str]] = {}
        self.missing: Counter[str] = Counter()

    def note_unknown(self, column: str, found: Mapping[str, int]) -> None:
        """Take categories of a column in, and how often each came."""
        if found:
            self.unknown.setdefault(column, Counter()).update(found)

    def note_missing(self, column: str, count: int) -> None:
        """Take in how many values of a column are missing."""
        if count:
            self.missing[column] += count

    def add(self, other: "Surprises") -> None:
        """Take in those of further rows."""
        self.n_rows += other.n_rows
        for column, found in other.unknown.items():
            self.note_unknown(column, found)
        self.missing.update(other.missing)

    def sentences(self, known: str = "the training data") -> list[str]:
        """One for each column and kind; ``known`` is where all values should have been seen."""
        sentences = []
        for column, found in self.unknown.items():
            shown = ", ".join(repr(text) if text else "an empty text" for text, _ in found.most_common(_SHOWN))
            more = ", ..." if len(found) > _SHOWN else ""
            many = f"{found.total():,} of {self.n_rows:,} rows"
            sentences.append(f"column {column!r}: {many} have a category that was not in {known} ({shown}{more})")
        for column, count in self.missing.items():
            many = f"{count:,} of {self.n_rows:,} rows"
            sentences.append(f"column {column!r}: the value is missing in {many}, and was missing in none of {known}")
        return sentences

    def counts(self) -> dict[str, dict[str, int]]:
        """The numbers of rows, by kind and column."""
        return {
            "unknown_categories": {column: found.total() for column, found in self.unknown.items()},
            "unexpected_missing": dict(self.missing),
        }
