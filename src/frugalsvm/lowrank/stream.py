"""Learning batch after batch, in constant memory: subgradient steps, on Fourier features or on landmarks of the stream.

Landmarks are the first examples. Until there are enough of them, they are all examples so far, made again whenever
their number is a power of two, and the examples are learned again from nothing: the model is the same whatever the
batches are.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from frugalsvm.arrays.sources import dense_rows
from frugalsvm.compiling.threads import ONE_THREAD, Threads
from frugalsvm.lowrank.epochs import (
    SCALE_ROWS,
    Steps,
    averaging_of_stream,
    features_of,
    new_rule,
    started_at,
    take_steps,
)
from frugalsvm.lowrank.subgradient import enclosing_radius, new_state

LENGTH = 10_000  # without alpha, C counts as it does for this many examples


class Stream(NamedTuple):
    """How far a stream has come."""

    feature_map: Any  # None before the first landmarks
    steps: Steps | None  # None before the first
    first: tuple | None  # rows, targets and weights that landmarks will be made of; None when there are enough


class Learned(NamedTuple):
    """What a fit has left for a stream to continue from."""

    parameters: np.ndarray
    n_rows: int


class Method(NamedTuple):
    """How a stream learns."""

    solver: str
    average: Any
    begin: Callable  # the loss and the penalty of steps that begin with given targets and weights
    standardized: Callable  # targets as steps take them, once these have begun
    intercept: bool
    n_components: int
    new_map: Callable  # from dense rows, or None for a map that needs no rows
    learned: Learned | None = None
    threads: Threads = ONE_THREAD  # that features are computed on


def nothing_yet(n_outputs, n_features):
    """Examples for landmarks, before there are any."""
    return np.zeros((0, n_features), np.float32), np.zeros((n_outputs, 0), np.float32), np.zeros(0, np.float32)


def with_weight(X, targets, weights):
    """Rows, targets and weights, these in float32, without the rows of weight 0; None stands for weights of 1."""
    weights = np.ones(X.shape[0], np.float32) if weights is None else weights.astype(np.float32)
    if weights.all():
        return X, targets, weights
    keep = np.flatnonzero(weights)
    return X[keep], targets[:, keep], weights[keep]


def learn_batch(stream: Stream, method: Method, X, targets, weights) -> Stream:
    """Learn examples in their order; states of steps are changed in place."""
    if stream.feature_map is None and stream.first is None:
        stream = stream._replace(feature_map=method.new_map(None))
    examples = X, targets, weights
    if stream.first is not None and X.shape[0]:
        n_new = min(method.n_components - len(stream.first[0]), X.shape[0])
        stream = _learn_first(stream, method, _part(examples, slice(n_new)))
        examples = _part(examples, slice(n_new, None))
    return _learn(stream, method, examples)


def _part(examples, part):
    X, targets, weights = examples
    return X[part], np.ascontiguousarray(targets[:, part]), weights[part]


def _learn_first(stream, method, examples):
    """Learn examples that may become landmarks."""
    rows, targets, weights = stream.first
    n_before = len(rows)
    first = (
        np.concatenate([rows, dense_rows(examples[0])]),
        np.concatenate([targets, examples[1]], axis=1),
        np.concatenate([weights, examples[2]]),
    )
    n_after, is_full = len(first[0]), len(first[0]) == method.n_components
    n_landmarks = method.n_components if is_full else 1 << (n_after.bit_length() - 1)
    if n_landmarks > n_before:  # all examples begin again on new landmarks, and those after them follow
        feature_map = method.new_map(first[0][:n_landmarks])
        stream = _learn(Stream(feature_map, None, first), method, _part(first, slice(n_landmarks)))
        n_before = n_landmarks
    stream = _learn(stream, method, _part(first, slice(n_before, None)))
    return stream._replace(first=None if is_full else first)


def _learn(stream, method, examples):
    if not examples[0].shape[0]:
        return stream
    if stream.steps is None:
        stream = stream._replace(steps=_new_steps(stream.feature_map, method, *examples))
    X, targets, weights = examples
    take_steps(stream.steps, stream.feature_map, X, method.standardized(targets), weights, method.threads)
    return stream


def _new_steps(feature_map, method, X, targets, weights):
    """A run from nothing, or from what a fit found."""
    (loss, penalty), learned = method.begin(targets, weights), method.learned
    targets = method.standardized(targets)
    features = features_of(feature_map, X[:SCALE_ROWS])
    # The first examples of a stream may be few: no smaller ball than the paper's, which is that of targets of size 1,
    # or than the model needs.
    norm = 0.0 if learned is None else float(np.linalg.norm(learned.parameters, axis=1).max())
    usual = penalty**-0.5 if loss.for_classes else enclosing_radius(loss, penalty, np.ones((len(targets), 1)))
    least = max(usual, 2 * norm)
    rule = new_rule(method.solver, loss, penalty, method.intercept, features, targets, weights, least)
    state = new_state(len(targets), features.shape[1], averaging_of_stream(method.average))
    if learned is not None:
        started_at(state, learned.parameters, learned.n_rows, rule)
    return Steps(loss, rule, state)
