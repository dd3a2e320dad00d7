"""Sentences of the library in the words of the command line: flags instead of parameters of Python."""

from shlex import quote
from typing import Any

from frugalsvm.cli.flag_rules import TABLE, flag_named
from frugalsvm.exceptions import Naming, Sentence

__all__ = ["advised", "flag_for", "in_flags"]

# Parameters that the library calls otherwise than the commands do.
_FLAGS = {"n_features": "features", "C": "c", "random_state": "seed", "n_components": "budget", "coverage": "interval"}
_NOT_OF_TRAIN = ("name", "dtype", "interval")
_ADVICE = {
    "missing": "--missing median fills them",
    "on_bad_line": "--on-bad-line skip leaves out such lines",
    "categorical": "--categorical {} takes the column as text",
    "ignore": "--ignore {} leaves it out",
}


def flag_for(parameter: str, value: Any = None) -> str | None:
    """The flag for a parameter, with a value; None if there is no such flag.

    Examples
    --------
    >>> flag_for("n_features", 3), flag_for("ignore"), flag_for("zero_based", True)
    ('--features 3', '--ignore', None)
    """
    name = _FLAGS.get(parameter, parameter)
    if name not in TABLE and name not in _NOT_OF_TRAIN:
        return None
    return flag_named(name) if value is None else f"{flag_named(name)} {quote(str(value))}"


def _of_a_model(parameter: str, value: Any = None) -> str | None:
    """The same for rows that are to fit a model, whose width no flag changes."""
    return f"the {value} features of the model" if parameter == "n_features" else flag_for(parameter, value)


def in_flags(sentence: str, *, of_model: bool = False) -> str:
    """A sentence about data with the flags of the command line; a width may be that of a model.

    Examples
    --------
    >>> from frugalsvm.exceptions import Sentence
    >>> sentence = Sentence("rows.csv has 2 columns of numbers", ", not {n_features}.", n_features=3)
    >>> in_flags(sentence)
    'rows.csv has 2 columns of numbers, not --features 3.'
    >>> in_flags(sentence, of_model=True)
    'rows.csv has 2 columns of numbers, not the 3 features of the model.'
    """
    names: Naming = _of_a_model if of_model else flag_for
    return sentence.named(names) if isinstance(sentence, Sentence) else sentence


def advised(sentence: Sentence, *, of_model: bool = False) -> str:
    """The same, with what to do about it where it names no flag.

    Examples
    --------
    >>> from frugalsvm.exceptions import Sentence
    >>> advised(Sentence("rows.csv, line 3: 2 fields where 4 are expected", remedies=("on_bad_line",)))
    'rows.csv, line 3: 2 fields where 4 are expected (--on-bad-line skip leaves out such lines).'
    """
    words = in_flags(sentence, of_model=of_model)
    remedies = [remedy.partition("=") for remedy in sentence.remedies]
    if of_model:  # whose columns are what they are
        remedies = [each for each in remedies if not each[2]]
    advice = [_ADVICE[name].format(quote(value)) for name, _, value in remedies if name in _ADVICE]
    if not advice or "--" in words.removeprefix(sentence.words):
        return words
    return f"{words.rstrip('.')} ({', '.join(advice)})."
