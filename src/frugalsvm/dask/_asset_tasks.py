"""What a partition does in a round of ASSET."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from frugalsvm.arrays.namespace import HOST
from frugalsvm.arrays.sources import dense_rows
from frugalsvm.compiling.threads import ONE_THREAD, Threads, blas_threads
from frugalsvm.dask._preparing import Rows, as_made_here
from frugalsvm.estimators.targets import TargetScale
from frugalsvm.lowrank.backends.compiled import Compiled, StoredRows, stored_rows
from frugalsvm.lowrank.backends.partition_sums import Iterate, mean_iterates, summed
from frugalsvm.lowrank.epochs import SCALE_ROWS, Steps, features_of, new_rule, parameters_of, started_at, take_steps
from frugalsvm.lowrank.maps import raw_rows, raw_weights, whitening_of, width_of
from frugalsvm.lowrank.passes import Passes
from frugalsvm.lowrank.problem import Problem
from frugalsvm.lowrank.subgradient import average_from, learn, new_state, no_average
from frugalsvm.lowrank.targets import class_targets
from frugalsvm.lowrank.whitening import whitening_with

_BLOCK = 8192  # rows whose features are computed at a time
_KEPT_BLOCK = 2**17  # rows that are visited at a time where their features are there
JUDGING_ROWS = 100_000  # whose scores out of their folds come to the client, at most


class Shared(NamedTuple):
    """What all partitions have to know of the model in the making, and nothing that changes."""

    feature_map: Any
    loss: Any
    intercept: bool
    n_classes: int  # 0 in regression
    n_outputs: int = 1  # of regression
    scale: TargetScale | None = None  # that targets are relative to
    # Of one class, see `frugalsvm.lowrank.one_class`: the mean of all features, and what weights are multiplied by
    center: np.ndarray | None = None
    weight_factor: float = 1.0

    def whole(self, parameters: np.ndarray) -> np.ndarray:
        """The parameters of the model for those of the problem that is solved."""
        if self.scale is not None:
            return self.scale.of_targets(parameters)
        if self.center is None:
            return parameters
        return np.hstack([parameters[:, :-1] + self.center, parameters[:, -1:]])


def _examples(rows: Rows, shared: Shared, first: int = 0) -> tuple[Any, np.ndarray, np.ndarray]:
    """Rows, targets and weights of a partition, from the first that counts."""
    X, labels, weights = rows.part(slice(first, None))
    weights = np.ones(len(labels), np.float32) if weights is None else weights.astype(np.float32)
    weights *= np.float32(shared.weight_factor)
    if shared.n_classes:
        return X, class_targets(HOST, labels, shared.n_classes), weights
    if shared.scale is not None:
        labels = shared.scale.standardized(labels)  # of one target, where it has several quantiles
    return X, np.ascontiguousarray(labels.T, np.float32), weights


def targets_of(rows: Rows, shared: Shared) -> tuple[np.ndarray, np.ndarray]:
    """Targets (n_outputs, n_rows) and weights of rows."""
    return _examples(rows, shared)[1:]


def features_kept(rows: Rows, feature_map: Any) -> np.ndarray:
    """Raw features of all rows of a partition."""
    feature_map = as_made_here(feature_map)
    with blas_threads(None):
        return raw_rows(feature_map, as_made_here(rows.X), np.empty((rows.n_rows, width_of(feature_map)), np.float32))


def sample_problem(sample: Rows, shared: Shared, threads: Threads = ONE_THREAD) -> Problem:
    """The problem on rows that the client has."""
    X, targets, weights = _examples(sample, shared)
    feature_map, backend = shared.feature_map, Compiled()
    backend.passes = Passes(threads)
    rows = stored_rows(feature_map, X, np.arange(len(weights)), backend=backend)
    whitening = whitening_with(whitening_of(feature_map), width_of(feature_map), backend.passes)
    return _problem(rows, targets, weights, shared, whitening)


_LATEST: list[tuple[Any, Any]] = []  # a matrix and its whitening: that of the last training, in this process


def _whitening(feature_map):
    """The same for all partitions of a worker: it makes other forms of its matrix when they are first needed."""
    matrix = whitening_of(feature_map)
    if matrix is None:
        return whitening_with(None, width_of(feature_map))
    for known, whitening in _LATEST:
        if known is matrix:
            return whitening
    whitening = whitening_with(as_made_here(matrix), width_of(feature_map))
    _LATEST[:] = [(matrix, whitening)]
    return whitening


def _problem(rows: StoredRows, targets, weights, shared, whitening) -> Problem:
    """The problem on some rows; of one class, their features make the targets."""
    if shared.center is not None:
        targets = -(
            rows.block
            @ raw_weights(as_made_here(shared.feature_map), as_made_here(shared.center)[None]).T.astype(np.float32)
        ).T
        targets = np.ascontiguousarray(targets)
    return Problem(rows, targets, weights, shared.loss, 0.0, whitening, shared.intercept)


def _blocks(rows: Rows, features: np.ndarray | None, shared: Shared, first: int) -> Iterator[Problem]:
    """The problem on the rows of a partition, from the first that counts: some rows at a time.

    Features are those that are kept, or they are computed for each block.
    """
    X, targets, weights = _examples(rows, shared, first)
    feature_map, whitening = as_made_here(shared.feature_map), _whitening(shared.feature_map)
    kept = None if features is None else as_made_here(features)[first:]
    n_block = _BLOCK if kept is None else _KEPT_BLOCK
    scratch = np.empty((_BLOCK if kept is None else 0, width_of(feature_map)), np.float32)
    for start in range(0, len(weights), n_block):
        part = slice(start, start + n_block)
        n_rows = len(weights[part])
        table = raw_rows(feature_map, X[part], scratch[:n_rows]) if kept is None else kept[part]
        yield _problem(StoredRows(table), targets[:, part], weights[part], shared, whitening)


def evaluated(rows: Rows, features: np.ndarray | None, shared: Shared, iterate: Iterate, function: Callable) -> Any:
    """What a function finds in a partition at an iterate; see `frugalsvm.lowrank.backends.partition_sums`."""
    iterate, rng = as_made_here(iterate), np.random.default_rng([rows.number, iterate.number])
    with blas_threads(None):
        return function(_blocks(rows, features, shared, 0 if iterate.whole else rows.n_validation), iterate, rng)


# --- values of C and folds --------------------------------------------------------------------------------------


class Fold(NamedTuple):
    """One of several parts of all rows, which is left out: every n-th row of each partition."""

    number: int
    n_folds: int

    def keeps(self, places: np.ndarray) -> np.ndarray:
        """1 for rows that are not in the fold, by their places in their partitions; 0 for others."""
        return (places % self.n_folds != self.number).astype(np.float32)


class Question(NamedTuple):
    """What a problem, which leaves a fold out or the validation rows, wants to know of all partitions."""

    function: Callable
    iterate: Iterate
    fold: Fold | None


def answers_of(
    rows: Rows, features: np.ndarray | None, shared: Shared, questions: tuple[Question, ...]
) -> tuple[Any, ...]:
    """What a partition tells to several questions, in one pass: features are computed or read once for all."""
    questions = tuple(map(as_made_here, questions))
    rngs = [np.random.default_rng([rows.number, question.iterate.number]) for question in questions]
    start = 0 if questions[0].iterate.whole else rows.n_validation
    answers: list[list] = [[] for _ in questions]
    with blas_threads(None):
        for block in _blocks(rows, features, shared, start):
            places = np.arange(start, start + block.n_rows)
            for found, question, rng in zip(answers, questions, rngs, strict=True):
                found.append(question.function(iter([_without(block, question.fold, places)]), question.iterate, rng))
            start += block.n_rows
        # Of no rows at all, there is as much to tell.
        nothing = [question.function(iter(()), question.iterate, None) for question in questions]
    return tuple(summed([none, *found]) for none, found in zip(nothing, answers, strict=True))


def _without(block: Problem, fold: Fold | None, places: np.ndarray) -> Problem:
    return block if fold is None else block._replace(weights=block.weights * fold.keeps(places))


def joined_answers(parts: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    """What several partitions found, as one."""
    return tuple(map(summed, zip(*parts, strict=True)))


def scores_out_of_fold(
    rows: Rows, features: np.ndarray | None, n_rows: int, shared: Shared, parameters: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores of the first rows, each by the models that have not learned its fold; with targets and weights.

    ``parameters`` are of shape (n_folds, n_values, n_outputs, d + 1); scores of shape (n_values, n_outputs, n_rows).
    """
    parameters = as_made_here(parameters)
    n_folds, n_values, n_outputs, size = parameters.shape
    scores, start = np.empty((n_values, n_outputs, n_rows)), 0
    _, targets, weights = _examples(rows, shared)
    with blas_threads(None):
        for block in _blocks(rows, features, shared, 0):
            if start >= n_rows:
                break
            n_block = min(block.n_rows, n_rows - start)
            for number in range(n_folds):
                chosen = np.flatnonzero(np.arange(start, start + n_block) % n_folds == number)
                values = block.scores(parameters[number].reshape(-1, size))[:, chosen]
                scores[:, :, start + chosen] = values.reshape(n_values, n_outputs, -1)
            start += n_block
    return scores, targets[:, :n_rows], weights[:n_rows]


# --- one class ------------------------------------------------------------------------------------------------


class FeatureSums(NamedTuple):
    """Sums over rows of raw features by their weights, and of the weights."""

    features: np.ndarray
    weights: float
    n_rows: int


def feature_sums(rows: Rows, features: np.ndarray | None, shared: Shared) -> FeatureSums:
    """Of all rows of a partition."""
    total = FeatureSums(np.zeros(width_of(shared.feature_map)), 0.0, 0)
    with blas_threads(None):
        for block in _blocks(rows, features, shared, 0):
            weights = block.weights.astype(np.float64)
            sums = FeatureSums(weights @ block.rows.block, float(weights.sum()), block.n_rows)
            total = summed([total, sums])
    return total


def rows_below(
    rows: Rows, features: np.ndarray | None, n_most: int, shared: Shared, parameters: np.ndarray, score: float
) -> Any:
    """The first rows of a partition whose values are below a score; dense."""
    parameters, found, start = as_made_here(parameters), [], 0
    with blas_threads(None):
        for block in _blocks(rows, features, shared, 0):
            values = block.scores(parameters)[0]
            found.append(start + np.flatnonzero(values <= score))
            start += block.n_rows
    return dense_rows(as_made_here(rows.X)[np.concatenate([np.zeros(0, np.int64), *found])[:n_most]])


# --- subgradient steps ----------------------------------------------------------------------------------------


def rule_for(solver: str, sample: Rows, shared: Shared, penalty: float) -> Any:
    """The step rule, from a sample of the rows."""
    X, targets, weights = _examples(sample, shared)
    with blas_threads(None):
        features = features_of(shared.feature_map, X[:SCALE_ROWS])
    return new_rule(solver, shared.loss, penalty, shared.intercept, features, targets, weights)


def one_epoch(
    rows: Rows,
    features: np.ndarray | None,
    shared: Shared,
    rule: Any,
    parameters: np.ndarray,
    n_steps: int,
    number: int,
    averages: bool,
) -> tuple[np.ndarray, int]:
    """Parameters after steps on all rows of a partition, from the common ones, and how many steps there were."""
    X, targets, weights = _examples(rows, shared, rows.n_validation)
    n_rows, parameters, feature_map = len(weights), as_made_here(parameters), as_made_here(shared.feature_map)
    if not n_rows:
        return parameters, 0
    order = np.random.default_rng([rows.number, number]).permutation(n_rows)
    averaging = average_from(n_steps + n_rows // 2 + 1) if averages else no_average()
    state = new_state(len(parameters), parameters.shape[1] - 1, averaging)
    if n_steps:
        state = started_at(state, parameters, n_steps, rule)
    steps = Steps(shared.loss, rule, state)
    with blas_threads(None):
        if features is None:
            take_steps(steps, feature_map, X[order], targets[:, order], weights[order])
        else:
            table = as_made_here(features)[rows.n_validation :]
            learn(steps.loss, rule, _whitening(feature_map).features(table), targets, weights, order, state)
    return parameters_of(steps), n_rows


def mean_by_examples(parts: list[tuple[np.ndarray, int]]) -> tuple[np.ndarray, int]:
    """The mean of what partitions have come to by their examples, and how many these were."""
    numbers = [n for _, n in parts]
    if not sum(numbers):
        return parts[0]
    return mean_iterates([parameters for parameters, _ in parts], numbers), sum(numbers)
