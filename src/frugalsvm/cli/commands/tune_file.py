"""``frugalsvm tune`` on files that can be read again: candidates compared on a sample of the rows."""

from functools import partial

import numpy as np

from frugalsvm.auto.comparison import Candidate, Compared, OutOfTime, compare, recommended, table_rows, verdict
from frugalsvm.cli.catalogue import AUTO
from frugalsvm.cli.commands.candidates import auto, low_rank, own_choice, tuned
from frugalsvm.cli.console import Status, compiling_shown, tell
from frugalsvm.cli.io.checks import check_enough, check_size
from frugalsvm.cli.options import TrainOptions
from frugalsvm.cli.words.outcome import TuneOutcome, tell_examined, tell_rows_left_out
from frugalsvm.pipelines.first_rows import Examined, examine
from frugalsvm.pipelines.label_task import task_of
from frugalsvm.pipelines.reading import DataOptions, open_data, refuse_other_labels
from frugalsvm.streams.batch import Sample, labels_of, rows_taken, sample_rows
from frugalsvm.words import counted

_MOST_ROWS_OF_LASVM = 100_000  # of a file, beyond which it takes hours
_KERNELS = ("rbf", "laplacian")  # of low-rank machines
_SEVERAL_PASSES, _PASSES = ("bsgd",), 5  # algorithms that learn from more than one
_SECONDS = 120.0  # for each candidate without --time-budget; `auto` knows when to end
_SHARE_OF_AUTO = 0.5  # of a time budget


def tune_file(
    data: DataOptions,
    options: TrainOptions,
    budgets: tuple[int, ...],
    n_wanted: int,
    limit: float | None,
    command: str,
    *,
    quiet: bool,
) -> TuneOutcome:
    """Compare algorithms (``auto``), or an algorithm as `train` sets it with what a search finds.

    ``command`` trains what would be trained without a comparison.
    """
    among_all = options.algorithm == AUTO
    opening = partial(open_data, of_classes=not among_all)
    examined = examine(data._replace(shuffle="no"), opening=opening)
    tell_examined(examined, quiet=quiet)
    if not among_all:
        for budget in budgets:
            check_size(examined, options.algorithm, budget)
    with Status(f"Reading {examined.name} ...", quiet=quiet):
        sample = _sample(examined, n_wanted, data)
    tell_rows_left_out(examined.opened.stream, quiet=quiet)
    _check(examined, sample, of_classes=not among_all)
    impute = examined.data.imputes
    if among_all:
        candidates = _all(options, impute, sample, quiet=quiet)
    else:
        first = options._replace(budget=budgets[0])
        candidates = [own_choice(first, impute), *_tuned(first, impute, budgets)]
    compared = _compared(candidates, sample, limit, options.seed, quiet=quiet)
    return _outcome(compared, sample, command, data.name)


def _sample(examined: Examined, n_wanted: int, data: DataOptions) -> Sample:
    """Rows of all parts of the source; in random order if that is sorted by label, or if it is asked for."""
    sample = sample_rows(examined.batches, n_wanted, data.seed)
    is_mixed = data.shuffle == "yes" or (data.shuffle == "auto" and examined.opened.order.order.is_sorted)
    if not is_mixed:
        return sample
    order = np.random.default_rng([data.seed, 1]).permutation(sample.rows.n_rows)
    return sample._replace(rows=rows_taken(sample.rows, order))


def _check(examined: Examined, sample: Sample, *, of_classes: bool) -> None:
    if not of_classes and not task_of(np.asarray(sample.rows.y)).classifies:
        what = "has numeric targets, and `tune` compares classifiers"
        raise ValueError(f"{examined.name} {what}: `frugalsvm train` compares regressors.")
    refuse_other_labels(sample.rows, examined.opened.stream, numbered=False)
    check_enough(examined, labels_of(sample.rows))


def _all(options: TrainOptions, impute: str | None, sample: Sample, *, quiet: bool) -> list[Candidate]:
    """The algorithms that suit the size of a file; `auto` first, which `train` takes."""
    bsgd, lasvm = options._replace(algorithm="bsgd", budget=500), options._replace(algorithm="lasvm")
    candidates = [auto(options.seed, quiet=quiet), *(low_rank(options.seed, impute, each) for each in _KERNELS)]
    candidates += _tuned(bsgd, impute, (500,), words="learns a stream, 500 vectors")
    if sample.n_rows <= _MOST_ROWS_OF_LASVM:
        candidates.append(tuned(lasvm, impute, (None,), words="as exact as an SVM"))
    return candidates


def _tuned(
    options: TrainOptions, impute: str | None, budgets: tuple[int, ...], *, words: str = "tuned"
) -> list[Candidate]:
    """An algorithm with the best parameters, in one pass and, if it learns from more, in several."""
    found = [tuned(options, impute, budgets, words=words)]
    if options.algorithm in _SEVERAL_PASSES:
        several = options._replace(passes=_PASSES)
        found.append(tuned(several, impute, budgets, words=f"{words}, {_PASSES} passes"))
    return found


def _compared(candidates: list[Candidate], sample: Sample, limit: float | None, seed: int, *, quiet: bool) -> Compared:
    limits = [_limit(candidate, len(candidates), limit) for candidate in candidates]

    def begin(candidate: Candidate) -> None:
        if not quiet:
            number = f"{candidates.index(candidate) + 1} of {len(candidates)}"
            tell(f"Comparing on {sample.rows.n_rows:,} rows: {candidate.name} ({number}) ...")

    with compiling_shown(quiet=quiet):
        try:
            return compare(candidates, sample.rows, sample.n_rows, limits, seed, begin)
        except OutOfTime as error:
            raise ValueError(f"{error}: give more with --time-budget.") from error


def _limit(candidate: Candidate, n_candidates: int, limit: float | None) -> float | None:
    """Seconds for a candidate: `auto` has half of all, the others share what is left."""
    if limit is None:
        return None if candidate.name == AUTO else _SECONDS
    if candidate.name == AUTO:
        return _SHARE_OF_AUTO * limit
    return limit / n_candidates if n_candidates == 2 else (1.0 - _SHARE_OF_AUTO) * limit / (n_candidates - 1)


def _outcome(compared: Compared, sample: Sample, command: str, source: str) -> TuneOutcome:
    best = recommended(compared.results)
    if compared.n_judges == sample.rows.n_rows:
        how = (
            f"All {compared.n_judges:,} rows were predicted, a quarter at a time, by models that had learned the other "
            "three quarters."
        )
    else:
        how = (
            f"Each learned {compared.n_learned:,} rows; accuracy is that on {compared.n_judges:,} others, which none "
            "of them learned."
        )
    sentences = [
        f"{how} Seconds are those of this machine, for all {sample.n_rows:,} rows.",
        *(f"{note} `--time-budget` gives more." for note in compared.notes),
        *verdict(compared, command),
    ]
    figures = {
        "accuracy": best.accuracy,
        "rows": sample.n_rows,
        "rows_learned": compared.n_learned,
        "rows_judged": compared.n_judges,
        "compared": [
            {
                "algorithm": result.name,
                "what": result.words,
                "accuracy": result.accuracy,
                "train_seconds": result.seconds,
                "train_seconds_all_rows": result.whole_seconds,
                "model_bytes": result.n_bytes,
                "prediction_microseconds": result.microseconds,
                "flags": result.flags,
            }
            for result in compared.results
        ],
        "sentences": sentences,
        "candidates": [each for result in compared.results for each in result.tried],
    }
    title, table = f"{source}: {counted(sample.n_rows, 'row')}", table_rows(compared, sample.n_rows)
    return TuneOutcome(best.flags, title, table, tuple(sentences), figures)
