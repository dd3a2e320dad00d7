"""Out-of-fold scores along a path of penalties, all from the same kernel values.

A fold is left out by weights of zero: nothing is computed again, and the same C means the same penalty. Each penalty
starts from the solution of the one before, in the same fold. It does not start from the solution of another fold, which
has seen the rows that are left out here: steps end when the next would gain little, and a trace of them would stay. On
a device, all folds and penalties are solved side by side; on the CPU, folds are, on threads.
"""

from typing import Any

import numpy as np

from frugalsvm.arrays.namespace import HOST
from frugalsvm.compiling.threads import ONE_THREAD, Threads
from frugalsvm.lowrank.options import Options
from frugalsvm.lowrank.problem import Problem, Sample
from frugalsvm.lowrank.side_by_side import fits_side_by_side, solve_side_by_side
from frugalsvm.lowrank.training import Training, solve_path

# Rows that tell how far quantiles are off, at least; and rows per feature with which quantiles hold by themselves.
_LEAST_ROWS, _ROWS_FOR_FEATURE = 100, 100
_MOST_LEFT_OUT, _FOLDS = 4000, 5


def cross_validated(
    problem: Problem,
    options: Options,
    folds: np.ndarray,
    penalties: Any,
    rng: np.random.Generator,
    threads: Threads = ONE_THREAD,
) -> np.ndarray:
    """Scores ``(n_penalties, n_outputs, n_rows)`` of all rows, each from the machines that have not seen its fold.

    Parameters
    ----------
    problem : Problem
        Rows are in a random order.
    options : Options
        Of the solver.
    folds : array of int (n_rows,)
        The fold of each row; -1 is no fold: all machines see such rows, and their scores are not a number.
    penalties : sequence of float
        Decreasing, for the number of all rows: ``1 / (C n_rows)``.
    rng : numpy.random.Generator
    threads : Threads
        For folds side by side, on the CPU.
    """
    arrays = problem.arrays
    out = np.full((len(penalties), problem.n_outputs, problem.n_rows), np.nan)
    left_out = [folds == fold for fold in np.unique(folds[folds >= 0])]
    if fits_side_by_side(problem, len(left_out) * len(penalties)):
        return _side_by_side(problem, options, left_out, penalties, out)

    def solve_without(fold):
        is_out, own_rng = fold
        part = problem._replace(weights=_weights_without(problem, is_out))
        training = Training(part, Sample(*part[:3]), None, part, options)
        for k, solution in enumerate(solve_path(training, penalties, own_rng)):
            out[k][:, is_out] = arrays.host(part.scores(solution.parameters))[:, is_out]

    # Side by side: passes over so few rows gain little from threads.
    threads = threads if arrays is HOST else ONE_THREAD
    threads.run(solve_without, list(zip(left_out, rng.spawn(len(left_out)), strict=True)))
    return out


def _weights_without(problem, is_out):
    return problem.weights * problem.arrays.asarray((~is_out).astype(np.float32))


def _side_by_side(problem, options, left_out, penalties, out):
    arrays, xp = problem.arrays, problem.arrays.xp
    weights = xp.stack([_weights_without(problem, is_out) for is_out in left_out])
    for is_out, found in zip(left_out, solve_side_by_side(problem, weights, penalties, options), strict=True):
        rows = problem.rows.take(arrays.asarray(np.flatnonzero(is_out)))
        found = found.reshape((-1, found.shape[-1]))
        scores = arrays.single(problem.whitening.raw(found[:, :-1])) @ rows.T + arrays.single(found[:, -1:])
        out[:, :, is_out] = arrays.host(scores).reshape((len(penalties), problem.n_outputs, -1))
    return out


def are_few(problem: Problem) -> bool:
    """Whether the rows of a problem are so few that quantiles hold less often for new rows, but enough to tell."""
    return bool(_LEAST_ROWS <= problem.n_rows <= _ROWS_FOR_FEATURE * problem.n_features)


def errors_left_out(
    problem: Problem, options: Options, rng: np.random.Generator, threads: Threads
) -> tuple[np.ndarray, np.ndarray]:
    """Errors (n, n_outputs) of rows, each of a machine without its fold, in units of the solver; and their weights."""
    n_rows = problem.n_rows
    some = min(n_rows, _MOST_LEFT_OUT)
    folds = np.full(n_rows, -1)
    folds[:some] = np.arange(some) % -(-_FOLDS * some // n_rows)
    (scores,) = cross_validated(problem, options._replace(tell=None), folds, [problem.penalty], rng, threads)
    targets, weights = (problem.arrays.host(each)[..., :some] for each in (problem.targets, problem.weights))
    return (targets - scores[:, :some]).T.astype(np.float64), weights.astype(np.float64)
