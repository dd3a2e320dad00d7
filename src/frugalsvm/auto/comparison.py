"""Ways to learn compared on rows that none of them learned from: how good each is, what it costs, and which to take.

A `Candidate` learns some rows and says what that took. `compare` judges all candidates by the same rows, so that their
differences are known with a standard error, and `verdict` says what follows: another way is recommended only where it
is better by more than chance.
"""

import os
import tempfile
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from frugalsvm.compiling.notice import show_compiling
from frugalsvm.persist import save
from frugalsvm.selection.judging import mean_gain
from frugalsvm.streams.batch import Batch, labels_of, rows_between, rows_of, rows_taken
from frugalsvm.words import percent, seconds_words, size_of

_PARTS = 4  # of the rows: one judges, the others are learned
_FEW_ROWS = 1000  # of which all parts judge in turn
_MORE_THAN_CHANCE = 2.0  # standard errors
_MUCH_CHEAPER = 5.0  # times


class OutOfTime(ValueError):
    """A candidate, or all of them, have not learned their rows within their limits."""


class Learned(NamedTuple):
    """What a candidate has made of some rows."""

    model: Any
    flags: dict[str, Any]  # settings that make the same model again, such as flags of `frugalsvm train`
    seconds: float  # of training by these flags: the part that grows with the number of rows
    fixed_seconds: float  # and the part that does not
    exponent: float  # of the number of rows in the time
    n_bytes: int  # of the model file
    tried: tuple[dict[str, Any], ...] = ()  # flags that were compared on the way, with accuracies

    def seconds_for(self, n_rows: int, n_learned: int) -> float:
        """Seconds that training on another number of rows would take."""
        return self.fixed_seconds + self.seconds * (n_rows / n_learned) ** self.exponent


class Candidate(NamedTuple):
    name: str  # of the algorithm
    words: str  # what sets it apart, for people
    learn: Callable[[Batch, float | None], Learned]  # from rows, within some seconds; raises OutOfTime
    is_fixed: bool = False  # whether its settings are the same for all rows


def candidate_of(name: str, estimator: Any) -> Candidate:
    """An estimator, or a pipeline, as a candidate: fitted to all rows at once, whatever the limit of time.

    Examples
    --------
    >>> from frugalsvm import BSGDClassifier
    >>> from frugalsvm.auto.comparison import candidate_of, compare, verdict
    >>> from frugalsvm.datasets import make_checkerboard
    >>> from frugalsvm.streams.batch import Batch
    >>> rows = Batch(*make_checkerboard(2000, random_state=0))
    >>> wide, narrow = (BSGDClassifier(gamma=gamma, alpha=1e-4, random_state=0) for gamma in (0.001, 0.5))
    >>> found = compare([candidate_of("wide", wide), candidate_of("narrow", narrow)], rows)
    >>> print(verdict(found, "wide")[0].split(" by ")[0])
    narrow is better than wide
    """

    def learn(rows: Batch, limit: float | None) -> Learned:
        with Watch() as watch:
            model = clone(estimator).fit(rows_of(rows), labels_of(rows))
        return Learned(model, model.get_params(deep=False), watch.seconds, 0.0, 1.0, file_bytes(model))

    return Candidate(name, "", learn)


class Result(NamedTuple):
    """What came of a candidate."""

    name: str
    words: str
    flags: dict[str, Any]  # settings that make its model again
    is_right: np.ndarray  # of each row that judged
    seconds: float  # of training on the rows that were learned
    whole_seconds: float  # and on all rows of the source, about
    n_bytes: int
    microseconds: float  # of a prediction
    tried: tuple[dict[str, Any], ...]  # on the way to them

    @property
    def accuracy(self) -> float:
        return float(self.is_right.mean())


class Compared(NamedTuple):
    results: list[Result]  # in the order of the candidates: the first is what would be done without a comparison
    n_learned: int  # rows, each time
    notes: tuple[str, ...]  # about those that were out of time

    @property
    def n_judges(self) -> int:
        return len(self.results[0].is_right)


def compare(
    candidates: list[Candidate],
    rows: Batch,
    n_rows: int | None = None,
    limits: list[float | None] | None = None,
    seed: int = 0,
    begin: Callable[[Candidate], Any] = lambda candidate: None,
) -> Compared:
    """Have candidates learn three quarters of some rows and predict the others.

    Where rows are few, each quarter is predicted in turn, and parameters are then chosen once more, by all rows.

    Parameters
    ----------
    candidates : list of Candidate
    rows : Batch
        A sample of the source.
    n_rows : int, default=None
        Number of rows of the source, for which costs are estimated; None where the sample has all of them.
    limits : list of float or None, default=None
        Seconds for each candidate, in all.
    seed : int
    begin : callable
        Called with each candidate before it learns.
    """
    n_rows = rows.n_rows if n_rows is None else n_rows
    limits = [None] * len(candidates) if limits is None else limits
    part = np.random.default_rng(seed).permutation(rows.n_rows) % _PARTS
    in_turn = rows.n_rows < _FEW_ROWS
    results, notes = [], []
    for candidate, limit in zip(candidates, limits, strict=True):
        begin(candidate)
        each = None if limit is None else limit / (_PARTS + 1 if in_turn else 1)
        try:
            results.append(_judged(candidate, rows, part, n_rows, each, in_turn=in_turn))
        except OutOfTime:
            notes.append(
                f"{candidate.name} ({candidate.words}) is left out: it was not done within its "
                f"{seconds_words(limit or 0.0)}."
            )
    if not results:
        raise OutOfTime("the time is too short to compare anything")
    n_learned = int(np.count_nonzero(part != 0))
    return Compared(results, n_learned, tuple(notes))


def _judged(
    candidate: Candidate, rows: Batch, part: np.ndarray, n_rows: int, limit: float | None, *, in_turn: bool
) -> Result:
    is_right, predicting, learned = [], 0.0, None
    for k in range(_PARTS if in_turn else 1):
        learned = candidate.learn(rows_taken(rows, np.flatnonzero(part != k)), limit)
        judges = rows_taken(rows, np.flatnonzero(part == k))
        learned.model.predict(rows_of(rows_between(judges, 0, 1)))  # what is compiled for it does not count
        started = time.perf_counter()
        predicted = learned.model.predict(rows_of(judges))
        predicting += time.perf_counter() - started
        is_right.append(predicted == labels_of(judges))
    right = np.concatenate(is_right)
    n_learned = rows.n_rows - len(is_right[-1])
    if in_turn and not candidate.is_fixed:  # parameters are chosen once more
        learned, n_learned = candidate.learn(rows, limit), rows.n_rows
    assert isinstance(learned, Learned)
    return Result(
        candidate.name,
        candidate.words,
        learned.flags,
        right,
        learned.seconds_for(n_learned, n_learned),
        learned.seconds_for(n_rows, n_learned),
        learned.n_bytes,
        1e6 * predicting / len(right),
        learned.tried,
    )


# --- which to take ------------------------------------------------------------------------------------------


class Lead(NamedTuple):
    """By how much one result is more accurate than another: the mean paired difference, and its standard error."""

    by: float
    error: float

    @property
    def is_more_than_chance(self) -> bool:
        return self.by > _MORE_THAN_CHANCE * self.error

    def __str__(self) -> str:
        return f"{100 * self.by:.2f} points (standard error {100 * self.error:.2f})"


def lead_of(one: Result, other: Result) -> Lead:
    """The lead of one result over another, on the same rows."""
    return Lead(*mean_gain(one.is_right.astype(float) - other.is_right))


def recommended(results: list[Result]) -> Result:
    """The first, which needs no comparison, unless another is better by more than chance; then the best of all."""
    best = max(results, key=lambda result: result.accuracy)
    return best if lead_of(best, results[0]).is_more_than_chance else results[0]


def verdict(compared: Compared, plain: str) -> list[str]:
    """Sentences about which to take; ``plain`` is the command that does what the first candidate does."""
    usual, taken = compared.results[0], recommended(compared.results)
    others = sorted((each for each in compared.results if each is not taken), key=lambda each: -each.accuracy)
    names = [each.name for each in compared.results]

    def title(result: Result) -> str:
        return result.name if names.count(result.name) == 1 else f"{result.name} ({result.words})"

    if not others:
        return [f"There is nothing to compare {title(taken)} with."]
    best_other, lead = others[0], lead_of(taken, others[0])
    if taken is not usual:
        sentences = [
            f"{title(taken)} is better than {title(usual)} by {lead_of(taken, usual)}: more than chance. "
            f"It improves on `{plain}`."
        ]
        if best_other is not usual:
            sentences.append(f"Over the next, {title(best_other)}, it leads by {lead}.")
    elif lead.by < 0:
        sentences = [
            f"{title(best_other)} is ahead of {title(usual)} by {lead_of(best_other, usual)}, which is no more than "
            f"chance: it does not improve on `{plain}`."
        ]
    else:
        sure = ": more than chance" if lead.is_more_than_chance else ", which is no more than chance"
        sentences = [
            f"{title(usual)} leads by {lead}{sure}. Next is {title(best_other)}.",
            f"`{plain}` takes {title(usual)} by itself: there is nothing to improve.",
        ]
    return [*sentences, *(words for each in others if (words := _cheaper(taken, each, title(each))))]


def _cheaper(taken: Result, other: Result, title: str) -> str:
    """A sentence about another one that is much cheaper, if it is, and not worse by more than chance."""
    lead = lead_of(taken, other)
    ratios = {
        "faster to train": taken.whole_seconds / max(other.whole_seconds, 1e-9),
        "smaller": taken.n_bytes / other.n_bytes,
        "faster to predict with": taken.microseconds / max(other.microseconds, 1e-9),
    }
    gains = [f"{ratio:.0f} times {words}" for words, ratio in ratios.items() if ratio >= _MUCH_CHEAPER]
    if lead.is_more_than_chance or not gains:
        return ""
    behind = f"is {lead} behind, which is no more than chance, and" if lead.by > 0 else "is not behind, and"
    return f"{title} {behind} {' and '.join(gains)}."


# --- words --------------------------------------------------------------------------------------------------


def table_rows(compared: Compared, n_rows: int) -> list[dict[str, str]]:
    """What each candidate came to, best first."""
    ranked = sorted(compared.results, key=lambda result: -result.accuracy)
    rows = []
    for result in ranked:
        lead = lead_of(ranked[0], result)
        behind = "-" if result is ranked[0] else f"{100 * lead.by:.2f} ± {100 * lead.error:.2f}"
        rows.append(
            {
                "algorithm": result.name,
                "": result.words,
                "accuracy": percent(result.accuracy),
                "points behind": behind,
                f"training, {n_rows:,} rows": seconds_words(result.whole_seconds),
                "model": size_of(result.n_bytes),
                "a prediction": f"{result.microseconds:.2g} µs" if result.microseconds < 100
                else f"{result.microseconds:.0f} µs",
            }
        )  # fmt: skip
    return rows


# --- what it costs ------------------------------------------------------------------------------------------


class Watch:
    """Seconds within a context, without those in which machine code was compiled."""

    def __init__(self) -> None:
        self.seconds = self._began = self._compiling = 0.0

    @property
    def so_far(self) -> float:
        """Seconds until now."""
        return max(time.perf_counter() - self._began - self._compiling, 0.0)

    def __enter__(self) -> "Watch":
        self._before = show_compiling(self._note)
        self._began = time.perf_counter()
        return self

    def _note(self, name: str, seconds: float | None) -> None:
        self._compiling += seconds or 0.0
        self._before(name, seconds)

    def __exit__(self, *_: Any) -> None:
        self.seconds = self.so_far
        show_compiling(self._before)


def file_bytes(model: Any, **how: Any) -> int:
    """Size of the file that a model is saved to."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.frugal")
        save(model, path, **how)
        return os.path.getsize(path)
