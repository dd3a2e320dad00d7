"""Values of C and folds on a cluster: all are solved side by side, and share every pass over the rows.

As on one machine (`frugalsvm.lowrank.cross_validation`), a fold is left out by weights of zero, and the same C means
the same penalty. Partitions have their rows in random order, so that every k-th row is a fold.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from frugalsvm.compiling.threads import blas_threads
from frugalsvm.dask._asset_rounds import Rounds, newton_rounds, options_of, rounds_with_all
from frugalsvm.dask._asset_tasks import JUDGING_ROWS, Fold, Question, answers_of, joined_answers, scores_out_of_fold
from frugalsvm.dask._preparing import shares
from frugalsvm.dask._side_by_side import solved_side_by_side
from frugalsvm.estimators.calibrated import is_calibrated
from frugalsvm.estimators.constraints import values_of_path
from frugalsvm.lowrank.backends.partitions import PartitionedProblem
from frugalsvm.lowrank.continuation import Solution, solve
from frugalsvm.lowrank.problem import Sample
from frugalsvm.lowrank.targets import class_indices

_MOST_BYTES = 2**26  # that a partition tells in a pass


class _Candidate(NamedTuple):
    penalty: float
    fold: Fold | None  # None: validation rows are left out


class _Judged(NamedTuple):
    """Scores of rows that the models of values of C have not learned."""

    scores: np.ndarray  # (n_values, n_outputs, n_rows)
    targets: np.ndarray
    weights: np.ndarray


def path_rounds(rounds: Rounds) -> None:
    """Choose C from a list, then learn all rows with it."""
    values, cv, local = values_of_path(rounds.estimator.C), rounds.estimator.cv, rounds.local
    penalties = [local.penalty_for(C, rounds.n_rows) for C in values]
    folds = [None] if cv is None else [Fold(number, cv) for number in range(cv)]
    solutions = _solved(rounds, [_Candidate(penalty, fold) for fold in folds for penalty in penalties])
    judged = _on_validation_rows(rounds, solutions) if cv is None else _out_of_folds(rounds, solutions, cv)
    results = local.figures_of(solutions) if cv is None else {}
    best = local.take_best([(scores, judged.targets, judged.weights) for scores in judged.scores], results)
    rounds.problem.penalty = penalties[best]
    if cv is None:
        rounds_with_all(rounds, solutions[best].parameters)
    else:
        newton_rounds(rounds)
    if is_calibrated(rounds.estimator):
        values = judged.scores[best].T.astype(np.float64)
        local.calibrate_on(values, class_indices(judged.targets), judged.weights.astype(np.float64))


def _solved(rounds: Rounds, candidates: list[_Candidate]) -> list[Solution]:
    """Solutions, as many side by side as sums of partitions are small."""
    size = rounds.problem.n_features + 1
    at_once = max(1, _MOST_BYTES // (2 * size * (size + 1) * rounds.problem.n_outputs))
    rngs, solutions = rounds.training.rng.spawn(len(candidates)), []
    with blas_threads(None):
        for start in range(0, len(candidates), at_once):
            part = slice(start, start + at_once)
            jobs = [_job(rounds, *each) for each in zip(candidates[part], rngs[part], strict=True)]
            solutions += solved_side_by_side(jobs, lambda questions: _answered(rounds, questions))
    return solutions


def _job(rounds: Rounds, candidate: _Candidate, rng: np.random.Generator) -> Callable:
    """How a candidate is solved, by asking."""
    fold, sample = candidate.fold, rounds.sample_problem
    if fold is not None:
        sample = sample._replace(weights=sample.weights * fold.keeps(rounds.training.sample_places))

    def solved(ask):
        def asked(function, iterate):
            return ask(Question(function, iterate, fold))

        problem = PartitionedProblem(sample, asked, rounds.n_rows, candidate.penalty, whole=fold is not None)
        return solve(problem, Sample(*sample[:3]), options_of(rounds), rng)

    return solved


def _answered(rounds: Rounds, questions: list[Question]) -> list[Any]:
    """What all partitions tell, in one pass."""
    return list(
        rounds.partitions.reduced(answers_of, joined_answers, rounds.training.cluster.broadcast(tuple(questions)))
    )


def _on_validation_rows(rounds: Rounds, solutions: list[Solution]) -> _Judged:
    scores = np.array([rounds.validation_values(each.parameters).T for each in solutions])
    return _Judged(scores, *rounds.validation_targets())


def _out_of_folds(rounds: Rounds, solutions: list[Solution], cv: int) -> _Judged:
    """By some rows of all partitions: all of them, if they are not very many."""
    found = np.array([each.parameters for each in solutions])
    found = found.reshape((cv, -1, *found.shape[1:]))
    sizes, cluster = rounds.training.overview.n_rows, rounds.training.cluster
    wanted = shares(sizes, min(JUDGING_ROWS, int(sizes.sum())))
    sources = [(*source, int(n)) for source, n in zip(rounds.partitions.sources, wanted, strict=True)]
    parts = cluster.each(scores_out_of_fold, sources, rounds.partitions.shared, cluster.broadcast(found))
    return _Judged(*(np.concatenate(each, axis=-1) for each in zip(*parts, strict=True)))
