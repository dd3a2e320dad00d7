"""How a candidate predicts some rows of a batch, and then learns all of it, block by block.

`predict` and `partial_fit` look at everything that users may pass. For a block of some hundred rows that takes longer
than the learning, and Python does it for one candidate after the other, however many threads there are. Budgeted
candidates are therefore looked at once for each batch; their blocks are calls of compiled code, which run side by side.
"""

from collections.abc import Generator
from typing import Any, NamedTuple

import numpy as np

from frugalsvm._locks import exclusively
from frugalsvm.budgeted.learner import Learner
from frugalsvm.budgeted.policy import NO_BUDGET
from frugalsvm.budgeted.sgd import run
from frugalsvm.compiling.functions import machine_code_for
from frugalsvm.core.dense_scores import MOST_ROWS, new_scoring, new_vectors, score_some
from frugalsvm.core.outputs import binary_labels
from frugalsvm.core.seen_rows import FAR_ROWS, far_limit, largest_size, origin_at
from frugalsvm.core.sources import new_source, rows_at_a_time
from frugalsvm.core.workspace import new_workspace
from frugalsvm.estimators.learner import BudgetedClassifier
from frugalsvm.estimators.unchanged import prepare_to_learn
from frugalsvm.persist.savable import FOR_PREDICTION

_NO_WEIGHTS = np.empty(0)


class Batch(NamedTuple):
    """Rows to be learned in an order, of which some are predicted before."""

    X: Any
    y: np.ndarray
    weights: np.ndarray | None
    norms: np.ndarray | None  # squared norms of the rows, if they are dense
    order: np.ndarray  # indices of rows
    classes: Any  # as in `partial_fit`
    is_judged: np.ndarray  # for each in the order, as blocks
    blocks: list[slice]


def steps_of(candidate: Any, batch: Batch) -> Generator[None, None, np.ndarray]:
    """A step for each block of a batch; returns which predictions were right."""
    quick = _quick_way(candidate, batch)
    learns = _Checked(candidate, batch) if quick is None else quick
    is_right = [np.zeros(0, bool)]
    for block in batch.blocks:
        chosen = np.flatnonzero(batch.is_judged[block]) + block.start  # of the order
        if len(chosen):
            is_right.append(learns.judge(chosen))
        learns.learn(block)
        yield
    return np.concatenate(is_right)  # the result of a task, see `in_turns`


def teach(estimator: Any, X, y, weights, classes) -> None:
    """Learn rows as users would have them learned."""
    more = {} if classes is None else {"classes": classes}
    if weights is not None:
        more["sample_weight"] = weights
    estimator.partial_fit(X, y, **more)


class _Checked:
    """The way for all candidates: what users would call."""

    def __init__(self, candidate: Any, batch: Batch):
        self._candidate, self._batch = candidate, batch

    def judge(self, chosen: np.ndarray) -> np.ndarray:
        """Whether predictions of rows are right."""
        rows = self._batch.order[chosen]
        return self._candidate.predict(self._batch.X[rows]) == self._batch.y[rows]

    def learn(self, block: slice) -> None:
        """Learn a block."""
        X, y, weights, _, order, classes, *_ = self._batch
        rows = order[block]
        teach(self._candidate, X[rows], y[rows], None if weights is None else weights[rows], classes)


class _Quick:
    """The way for budgeted candidates that learn dense rows: the same, by compiled code."""

    def __init__(self, candidate: Any, rows: np.ndarray, order: np.ndarray, labels: np.ndarray, weights: np.ndarray):
        self._candidate, self._rows, self._order, self._labels = candidate, rows, order, labels
        learners = candidate.learners
        self._lanes = [
            _Lane(learner, rows, order, binary_labels(labels, k, len(learners)), weights)
            for k, learner in enumerate(learners)
        ]
        self._score: Any = None
        self._scored: Any = None  # the expansion with which it scored last

    def judge(self, chosen: np.ndarray) -> np.ndarray:
        """Whether predictions of rows are right."""
        candidate = self._candidate
        self._scored = candidate.scoring_expansion(self._scored if len(self._lanes) == 1 else None)
        vectors = new_vectors(self._scored, len(chosen), bias=candidate.intercept_)
        scoring = new_scoring(candidate.kernel_, vectors, self._rows.take(self._order[chosen], axis=0), any_size=True)
        if self._score is None:
            self._score = machine_code_for(score_some, scoring, 0, MOST_ROWS)
        else:
            self._score(scoring, 0, MOST_ROWS)
        scores, labels = scoring.out, self._labels[chosen]
        predicted = scores[:, 0] >= 0 if scores.shape[1] == 1 else scores.argmax(axis=1)
        return predicted == labels

    def learn(self, block: slice) -> None:
        """Learn a block."""
        with exclusively(self._candidate):
            for lane in self._lanes:
                lane.learn(block)


class _Lane:
    """A learner, and a batch that it learns in place."""

    def __init__(self, learner: Learner, rows: np.ndarray, order: np.ndarray, labels: np.ndarray, weights: np.ndarray):
        self._parts, self._expansion = learner
        self._labels, self._weights = labels, weights
        self._source = new_source(self._parts.kernel, rows, order, self._expansion)
        self._block_rows = rows_at_a_time(self._source)
        self._work = new_workspace(self._expansion)
        self._run = machine_code_for(run, *self._arguments(slice(0, 0)))

    def _arguments(self, block: slice) -> tuple[Any, ...]:
        source, weights = self._source._replace(order=self._source.order[block]), self._weights
        some_weights = weights[block] if weights.size else weights
        return self._parts, source, self._labels[block], some_weights, 0, self._block_rows, self._expansion, self._work

    def learn(self, block: slice) -> None:
        """Learn a block, of which the end is always reached: the store has a budget."""
        self._run(*self._arguments(block))


def _quick_way(candidate: Any, batch: Batch) -> _Quick | None:
    """The quick way for a batch; None where `partial_fit` does more than to learn, or has to say what is wrong."""
    if batch.norms is None or batch.classes is not None or not _is_plain(candidate):
        return None
    candidate.check_parameters()
    order, y = batch.order, batch.y[batch.order]
    labels = _labels_of(y, candidate.classes_)
    if labels is None or not _takes_norms(candidate, batch.norms[order]):
        return None
    prepare_to_learn(candidate)
    if candidate.origin_ is not None and candidate.origin_.n_far > 0:
        candidate.keep_origin(origin_at(candidate.origin_.point))  # the last row is not far
    rows, dtype = batch.X, candidate.row_dtype_
    if rows.dtype != dtype:
        rows, order = rows[order].astype(dtype), np.arange(len(order))
    return _Quick(candidate, rows, order, labels, _NO_WEIGHTS if batch.weights is None else batch.weights[batch.order])


def _labels_of(y: np.ndarray, classes: np.ndarray) -> np.ndarray | None:
    """The index of the class of each row; None if one is not among them."""
    if y.dtype.kind != classes.dtype.kind:
        return None
    labels = np.searchsorted(classes, y)
    labels[labels == len(classes)] = 0
    return labels if np.array_equal(classes[labels], y) else None


def _takes_norms(candidate: Any, norms: np.ndarray) -> bool:
    """Whether rows of these squared norms, in order, leave the origin where it is, and do not overflow.

    Far rows move it, and are counted, where they come one after the other: see `frugalsvm.core.seen_rows.followed`.
    """
    origin, dtype = candidate.origin_, candidate.row_dtype_
    if norms.max() > largest_size(candidate.n_features_in_, dtype) ** 2:
        return False
    if origin is None:
        return True
    is_far = np.concatenate([[False], [True] * origin.n_far, norms > far_limit(candidate.kernel_, dtype), [False]])
    if not is_far.any():
        return True
    edges = np.flatnonzero(is_far[1:] != is_far[:-1])  # where runs begin and end
    return not is_far[-2] and int((edges[1::2] - edges[::2]).max()) < FAR_ROWS


def _is_plain(candidate: Any) -> bool:
    """Whether all that a candidate does with a batch is to learn it, within a budget."""
    own = type(candidate).__module__.partition(".")[0] == __name__.partition(".")[0]
    if not own or not isinstance(candidate, BudgetedClassifier) or hasattr(candidate, FOR_PREDICTION):
        return False
    if getattr(candidate, "class_weight", None) is not None or candidate.calibrate is not None:
        return False
    if candidate.metric_part_ is not None or getattr(candidate, "device", "cpu") != "cpu":
        return False
    origin = candidate.origin_
    if len(candidate.classes_) < 2 or (origin is not None and not origin.is_zero):
        return False
    return all(learner.budget is not None and learner.budget < NO_BUDGET for learner in candidate.learners)
