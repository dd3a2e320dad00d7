"""What happens to input that cannot be used: one clear sentence, or a count."""

from __future__ import annotations

from collections import Counter

from frugalsvm.exceptions import Sentence

_MAX_EXAMPLES = 10


class StreamError(ValueError):
    """Input that cannot be read; the message names the file, the line and the column where that is known.

    Parameters
    ----------
    message : str or Sentence
        A `Sentence` tells which parameters it is about.

    Attributes
    ----------
    sentence : Sentence
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.sentence = message if isinstance(message, Sentence) else Sentence(message)


class BadLines:
    """Refuses bad lines: by an error, or by counting them and keeping the first few sentences; see `open_stream`."""

    def __init__(self, skip: bool, class_labels: bool = False, missing: str = "fail", unlabeled: str = "fail") -> None:
        self.skip, self.class_labels = skip, class_labels
        self.missing, self.unlabeled = missing, unlabeled
        self.count = self.n_unlabeled = self.n_incomplete = self.n_missing = 0
        self.unlabeled_words: Counter[str] = Counter()  # that were taken for missing labels
        self.examples: list[str] = []

    @property
    def leaves_out(self) -> bool:
        """Whether rows may be left out, so that only reading tells which lines count."""
        return self.skip or self.missing == "skip" or self.unlabeled == "skip"

    def refuse(self, where: str, what: str) -> None:
        """Raise a StreamError, or count one line that is left out."""
        sentence = what if isinstance(what, Sentence) else Sentence(what)
        remedies = sentence.remedies or ("on_bad_line",)
        message = Sentence(f"{where}: {sentence.words}", sentence.about, remedies, **sentence.values)
        if not self.skip:
            raise StreamError(message)
        self.count += 1
        if len(self.examples) < _MAX_EXAMPLES:
            self.examples.append(message)


def shown(value: str | bytes, longest: int = 40) -> str:
    """The value in quotes, cut where it is long and with unprintable characters escaped."""
    text = value[: 4 * longest].decode("utf-8", "backslashreplace") if isinstance(value, bytes) else value
    return repr(text if len(text) <= longest else text[:longest] + "...")


def first_line_of(error: Exception) -> str:
    """What another library says of a damaged file; some cite all of what they found there."""
    return str(error).split("\n", 1)[0][:300]
