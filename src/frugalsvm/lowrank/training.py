"""From data to a problem: rows within a limit of memory, a sample to begin with, validation rows; paths of C."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from frugalsvm.lowrank.continuation import Solution, solve
from frugalsvm.lowrank.options import Options
from frugalsvm.lowrank.problem import Problem, Sample

_LEAST_GAIN = 1e-4  # of a validation score: less is no reason to wait for more, and may come for ever


class Data(NamedTuple):
    """Rows to learn, however they are read: ``blocks()`` goes through them in their order."""

    blocks: Callable
    X: Any  # all rows, or None where they come in blocks only
    targets: Any  # (n_outputs, n_rows) float32, on the device or not
    weights: np.ndarray  # (n_rows,) float32

    @property
    def n_rows(self):
        return self.weights.shape[0]


class Training(NamedTuple):
    """Rows in the form in which the solver takes them."""

    problem: Problem  # without the validation rows; its penalty is yet to be set
    sample: Sample
    validation: Sample | None
    whole: Problem  # with them
    options: Options  # of solvers, for rows that are kept like this


def new_training(storage, data, loss, intercept, validation_share, rng) -> Training:
    """Compute all features if a storage has room for them; otherwise those of a sample, to begin with."""
    arrays, n_rows = storage.backend.arrays, data.n_rows
    n_validation = int(np.ceil(validation_share * n_rows))
    if n_validation >= n_rows:
        raise ValueError(f"validation_fraction={validation_share!r} leaves none of the {n_rows} rows to learn from.")
    targets, weights = arrays.asarray(data.targets, "float32"), arrays.asarray(data.weights, "float32")
    fits = storage.fits(data)
    options = storage.options(fits)
    order = rng.permutation(n_rows) if fits and data.X is not None else None  # batches come in their own order
    rows, whitening = storage.stored(data, order) if fits else storage.computed(data)
    if order is None:
        whole = Problem(rows, targets, weights, loss, 0.0, whitening, intercept)
        return _with_sample(storage, whole, n_validation, options, rng)
    order = arrays.asarray(order)
    targets = arrays.xp.take(targets, order, axis=1)  # not by an index, which may leave outputs between each other
    whole = Problem(rows, targets, weights[order], loss, 0.0, whitening, intercept)
    sample = Sample(*whole[:3])
    if not n_validation:
        return Training(whole, sample, None, whole, options)
    sample, validation = _divided(storage, sample, n_rows - n_validation)
    return Training(whole._replace(**sample._asdict()), sample, validation, whole, options)


def _divided(storage, sample, n):
    """The first rows of a sample, and the others."""
    rows, targets, weights = sample
    # Copies of targets: those of all outputs lie together then.
    first, rest = (storage.backend.arrays.xp.asarray(each, copy=True) for each in (targets[:, :n], targets[:, n:]))
    return Sample(rows.subsample(n), first, weights[:n]), Sample(storage.kept(rows.block[n:]), rest, weights[n:])


def _with_sample(storage, whole, n_validation, options, rng) -> Training:
    """Of rows in an order that is not random: features of some of them."""
    arrays, n_rows = whole.arrays, whole.n_rows
    most_sample, most_validation = storage.most_rows()
    if n_validation:
        n_validation = min(n_validation, most_validation)
        if not n_validation:
            row_bytes = 4 * whole.rows.width
            raise ValueError(
                f"memory is too small for a validation set: a row takes {row_bytes} bytes, and an eighth of the "
                "memory is for it."
            )
    n_sample = min(most_sample, n_rows - n_validation)
    index = np.sort(rng.choice(n_rows, n_sample + n_validation, replace=False))
    # Subsamples are taken from the front, so that their order must be random; validation rows are the last ones.
    positions = rng.permutation(len(index))
    taken = storage.kept(whole.rows.take(arrays.asarray(index), arrays.asarray(positions)))
    index[positions] = index.copy()
    there = arrays.asarray(index)
    sample = Sample(taken, whole.targets[:, there], whole.weights[there])
    if not n_validation:
        return Training(whole, sample, None, whole, options)
    sample, validation = _divided(storage, sample, n_sample)
    others = arrays.xp.asarray(whole.weights, copy=True)
    others[there[n_sample:]] = 0.0
    return Training(whole._replace(weights=others), sample, validation, whole, options)


def validation_scores(training, parameters):
    """Scores of the validation rows, on the host, with their targets and weights."""
    arrays, (rows, targets, weights) = training.problem.arrays, training.validation
    scores = rows.scores(training.problem.whitening.raw(parameters[:, :-1])) + parameters[:, -1:]
    return tuple(arrays.host(each) for each in (scores, targets, weights))


class Watch:
    """Keeps the parameters that did best on validation rows, and tells when it is time to stop."""

    def __init__(self, patience: int, least_gain: float = _LEAST_GAIN):
        self._patience, self._least_gain = patience, least_gain
        self._without_gain, self._mark = 0, -np.inf
        self.best = -np.inf
        self.best_parameters: Any = None

    def note(self, score: float, parameters: Any) -> bool:
        """Note how well parameters do, which must not change later; returns `is_done`."""
        if score > self.best:
            self.best, self.best_parameters = score, parameters
        if score > self._mark + self._least_gain:
            self._mark, self._without_gain = score, 0
        else:
            self._without_gain += 1
        return self.is_done

    @property
    def is_done(self) -> bool:
        """Whether nothing has become better for a while."""
        return self._without_gain >= self._patience


class Watcher(Watch):
    """Called with the parameters of a model in the making; tells when those before did better on validation rows."""

    def __init__(self, training, quality, patience):
        super().__init__(patience)
        self._training, self._quality = training, quality

    def __call__(self, parameters, step=None):
        value = self._quality(*validation_scores(self._training, parameters))
        return self.note(value, self._training.problem.arrays.xp.asarray(parameters, copy=True))


def solve_path(training, penalties, rng) -> list[Solution]:
    """Solutions for decreasing penalties, each from the one before."""
    solutions, start = [], None
    for penalty in penalties:
        problem = training.problem._replace(penalty=penalty)
        solutions.append(solve(problem, training.sample, training.options, rng, start=start))
        start = solutions[-1].parameters
    return solutions
