"""What happens to input that cannot be used: one clear sentence, or a count."""

from __future__ import annotations

__all__ = ["BadLines", "StreamError", "shown"]

_MAX_EXAMPLES = 10


class StreamError(ValueError):
    """Input that cannot be read; the message names the file, the line and the column where that is known."""


class BadLines:
    """Refuses bad lines: by an error, or by counting them and keeping the first few sentences.

    Parameters
    ----------
    skip : bool
        Whether bad lines are left out; otherwise the first one is an error.
    class_labels : bool, default=False
        Whether labels must be classes: then a label with a fraction makes a line bad.
    """

    def __init__(self, skip: bool, class_labels: bool = False) -> None:
        self.skip, self.class_labels = skip, class_labels
        self.count = 0
        self.examples: list[str] = []

    def refuse(self, where: str, what: str) -> None:
        """Raise a StreamError, or count one line that is left out."""
        message = f"{where}: {what}"
        if not self.skip:
            raise StreamError(message)
        self.count += 1
        if len(self.examples) < _MAX_EXAMPLES:
            self.examples.append(message)


def shown(value: str | bytes, longest: int = 40) -> str:
    """The value in quotes, cut where it is long and with unprintable characters escaped."""
    text = value[: 4 * longest].decode("utf-8", "backslashreplace") if isinstance(value, bytes) else value
    return repr(text if len(text) <= longest else text[:longest] + "...")
