"""Single rows, past batch validation: length, finiteness and label are checked, and the compiled learner is called.

A validated call costs 0.2 to 0.9 ms, of which the learning itself is 2 %, and finding out the types of thirty arrays to
choose the machine code is another 3 %. Here everything that does not change from row to row is prepared once, the
machine code included: it is called with the same arrays again and again. A `RowPath` answers False or None where it
does not know what to do (a new label, a wrong length, NaN): then the validated way does it, or says what is wrong.

The row, and all that is computed from it, is in arrays of the path, so that each thread needs one of its own. The model
itself is that of the estimator, and whoever asks or teaches it holds the lock of the pipeline.
"""

from contextlib import nullcontext
from math import isfinite
from operator import attrgetter, is_
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from frugalsvm._locks import exclusively
from frugalsvm.budgeted.learner import Learner
from frugalsvm.budgeted.sgd import ask, run
from frugalsvm.compiling.functions import machine_code_for
from frugalsvm.compiling.threads import blas_threads
from frugalsvm.core.dense_scores import DenseScoring, new_scoring, new_vectors, refreshed, score_some
from frugalsvm.core.expansion import Expansion
from frugalsvm.core.seen_rows import SURELY, Directions, far_limit, followed
from frugalsvm.core.sources import new_source, rows_at_a_time
from frugalsvm.core.workspace import new_workspace
from frugalsvm.estimators.bsgd_one_class import BSGDOneClassSVM
from frugalsvm.estimators.bsgd_regressor import BSGDRegressor
from frugalsvm.estimators.learner import BudgetedClassifier
from frugalsvm.estimators.unchanged import prepare_to_learn
from frugalsvm.persist.savable import FOR_PREDICTION
from frugalsvm.pipelines.statistics import KNEE, softened
from frugalsvm.pipelines.watching import bounds_of, take_one

ONE_THREAD = 9000  # products so small are made by one thread anyway: no need to tell BLAS (which takes longer)
NO_WEIGHTS = np.empty(0)
FIRST = np.arange(1)
_PREPARING = Lock()  # arrays of a model that are read-only are exchanged once


class _Prepared(NamedTuple):
    """What learning takes besides the row and its label, and its machine code."""

    code: Any
    parts: Any
    source: Any
    block_rows: int
    expansion: Expansion
    work: Any


class _Question(NamedTuple):
    """What the vote of experts takes."""

    experts: Any
    kernel: Any
    source: Any
    expansion: Expansion
    work: Any


class _Scoring(NamedTuple):
    """The row and all that scores it, the machine code, and the expansion that the weights are of."""

    code: Any
    scoring: DenseScoring
    expansion: Expansion


def row_path_for(estimator, scaler):
    """The fast way for an estimator that has learned, behind a scaler or None; None if there is no such way."""
    kind = next((path for base, path in _PATHS.items() if isinstance(estimator, base)), None)
    if kind is None or hasattr(estimator, FOR_PREDICTION):
        return None
    if kind is RowPath and (estimator.class_weight is not None or len(estimator.classes_) < 2):
        return None
    estimator.check_parameters()
    with _PREPARING:
        prepare_to_learn(estimator)
        return kind(estimator, scaler)


class RowPath:
    """Learns and scores single rows for one estimator, in place: a classifier, unless a subclass says otherwise."""

    _center: Any  # as the scaler has them, if there is one
    _scale: Any
    _least: Any
    _most: Any
    _room: Any  # for soft clipping
    _bounds: Any

    def __init__(self, estimator, scaler):
        self._estimator, self._scaler = estimator, scaler
        self._classes: Any = getattr(estimator, "classes_", None)  # None unless it is a classifier
        self._indices = {} if self._classes is None else {c: k for k, c in enumerate(self._classes.tolist())}
        self._index, self._weights = 0, NO_WEIGHTS
        names = set(estimator.get_params(deep=False)) - {"metric"}  # an array cannot be compared in a tuple
        self._settings_of = attrgetter(*sorted(names))
        self._settings = self._settings_of(estimator)
        self._state = estimator.state
        self._attributes: list[Any] = []  # of the estimator, when it was looked at last
        learners = estimator.learners
        rows = learners[0].expansion.rows
        shape, dtype = rows.shape, rows.dtype
        self._shape = (estimator.n_features_in_,)
        self._raw, self._distance = np.zeros(self._shape, dtype), np.zeros(self._shape)
        self._size, self._is_beyond = np.zeros(self._shape), np.zeros(self._shape, bool)
        self._read_scaler()
        self._matrix, self._label = np.zeros((1, shape[1]), dtype), self._new_label(learners[0].expansion.n_outputs)
        self._row = self._matrix[0]
        self._read_metric()
        self._origin_at = estimator.origin_
        self._origin = None if self._origin_at is None or self._origin_at.is_zero else self._origin_at.point
        self._limit, self._square = np.finfo(dtype).max / 4, 0.0
        self._near = SURELY * far_limit(estimator.kernel_, dtype)
        self._learners = [self._to_learn(learner) for learner in learners]
        self._note_counts()
        self._n_seen = self._n_learned()
        self._experts: Any = getattr(estimator, "experts", None)
        self._vote: tuple[Any, _Question] | None = None
        self._scoring: _Scoring | None = None
        self._scored_at = -1
        size = shape[0] * shape[1]
        self._threads = (lambda: _NOTHING) if size <= ONE_THREAD else (lambda: blas_threads(estimator.n_jobs, size))

    def _new_label(self, n_outputs):
        """Where compiled code reads what is to be learned of a row."""
        return np.zeros(1, np.int64)

    def _to_learn(self, learner):
        parts, expansion = learner
        source, block_rows, work = _arrays_for(parts.kernel, self._matrix, expansion)
        code = machine_code_for(run, parts, source, self._label, self._weights, 1, block_rows, expansion, work)
        return _Prepared(code, parts, source, block_rows, expansion, work)

    _counts = property(lambda self: self._learners[0].expansion.counts)

    def _note_counts(self):
        self._counts_seen = self._counts["n_seen"]

    def _n_learned(self) -> int:
        """How many rows the model has seen; to take that out of a record takes three times as long."""
        return self._counts_seen.item()

    def is_current(self, estimator, scaler) -> bool:
        """Whether this is still the way for the estimator: it may have been fitted again, or been given parameters."""
        same = estimator is self._estimator and scaler is self._scaler
        if not same or (scaler is not None and scaler.scale_ is not self._scale):
            return False
        attributes = vars(estimator)
        # The very same objects as last time, most often: the rest takes three times as long to compare.
        if len(attributes) == len(self._attributes) and all(map(is_, attributes.values(), self._attributes)):
            return True
        if not self._fits(estimator):
            return False
        self._attributes = list(attributes.values())
        return True

    def _fits(self, estimator) -> bool:
        """Whether what it takes from the estimator is there still."""
        return (
            getattr(estimator, "classes_", None) is self._classes
            and self._is_origin(estimator.origin_)
            and estimator.metric_part_ is self._metric
            and getattr(estimator, "metric", None) is self._given_metric
            and estimator.state is self._state
            and self._settings_of(estimator) == self._settings
        )

    def _is_origin(self, origin) -> bool:
        """Whether an origin is where that of the path is; from then on it is that of the path."""
        known = self._origin_at
        if origin is not known and (None in (origin, known) or not np.array_equal(origin.point, known.point)):
            return False
        self._origin_at = origin
        return True

    def _read_scaler(self):
        scaler: Any = self._scaler
        self._scale = self._least = self._most = self._room = self._bounds = None
        if scaler is None:
            return
        self._center = scaler.center_ if scaler.centres_ else np.zeros(self._shape)
        self._scale, self._most = scaler.scale_, scaler.limit_
        if scaler.soft_clip:
            self._most = KNEE * scaler.limit_
            self._room = scaler.limit_ - self._most
        self._least = None if self._most is None else -self._most
        if scaler.watches:
            self._bounds = bounds_of(scaler.statistics, self._raw.dtype)
            scaler.make_writable()

    def _read_metric(self):
        """What rows are mapped with, and where they are before: where compiled code reads them, without a metric."""
        self._metric, self._given_metric = self._estimator.metric_part_, getattr(self._estimator, "metric", None)
        self._scaled = self._row if self._metric is None else np.zeros(self._shape, self._row.dtype)
        self._centered = np.zeros(self._shape)
        self._mapped = np.zeros(self._row.shape)
        self._directions = self._metric.directions if isinstance(self._metric, Directions) else None

    def watched(self) -> np.ndarray | None:
        """Features that have left their range for long with the row that was learned last; most often None."""
        if self._scaler is None or self._bounds is None:
            return None
        np.greater(np.abs(self._distance, out=self._size), self._bounds, out=self._is_beyond)
        if not take_one(self._scaler._watch, self._raw, self._is_beyond):
            return None
        due = self._scaler.end_block(self._raw.dtype)
        self._read_scaler()
        return due

    def _load(self, x) -> bool:
        """Write a row, scaled, to where the compiled code reads it; whether it is a good one."""
        if x.__class__ is not np.ndarray:
            x = np.asarray(x)
        if x.shape != self._shape or x.dtype.kind not in "fiub":
            return False
        row, origin = self._row, self._origin
        if self._scaler is None and self._metric is None:
            row[:] = x if origin is None else np.subtract(x, origin)
        else:
            if not self._scale_to(self._scaled, x):
                return False
            seen = self._scaled if self._metric is None else self._mapped_from(self._scaled)
            if seen is None:
                return False
            if origin is not None:
                row[:] = np.subtract(seen, origin)
            elif seen is not row:
                row[:] = seen
        self._square = float(row.dot(row))
        return self._square <= self._limit  # neither NaN nor infinite

    def _stays(self) -> bool:
        """Whether the origin stays where it is with the row at hand, which is counted if it is far from it."""
        origin = self._origin_at
        if origin is None or (self._square <= self._near and origin.n_far == 0):
            return True
        after, shift = followed(origin, self._matrix, self._estimator.kernel_, self._row.dtype)
        if shift is not None:
            return False
        self._estimator.keep_origin(after)
        self._origin_at = after
        return True

    def _scale_to(self, scaled, x) -> bool:
        """Write a row, scaled if there is a scaler; whether it may be a good one."""
        if self._scaler is None:
            scaled[:] = x
            return True
        self._raw[:] = x  # rounded to the type of the model first, as whole batches are
        np.subtract(self._raw, self._center, out=self._distance)
        clipped = self._distance
        if self._most is not None:
            if not isfinite(self._raw.dot(self._raw)):
                return False  # what is clipped is finite in any case
            clipped = np.minimum(np.maximum(clipped, self._least, out=self._size), self._most, out=self._size)
            if self._room is not None:
                clipped = softened(self._distance, clipped, self._room)
        scaled[:] = np.divide(clipped, self._scale, out=self._size)  # to cast in one step takes longer
        return True

    def _mapped_from(self, scaled):
        """A scaled row as the metric has it, in float64; None for a bad one."""
        if not isfinite(scaled.dot(scaled)):
            return None  # a factor of zero times infinity
        np.subtract(scaled, self._metric.center, out=self._centered)
        if self._directions is None:
            return np.multiply(self._centered, self._metric.factors, out=self._mapped)
        return self._directions.dot(self._centered, out=self._mapped)

    def index_of(self, y) -> int | None:
        """The index of a label among the classes; None if it is not there."""
        try:
            return self._indices.get(y)
        except TypeError:  # something that cannot be hashed
            return None

    def learn(self, x, y) -> bool:
        """Learn a row; False if it was not, and must be learned with all checks."""
        if not self._takes(y) or not self._load(x) or not self._stays():
            return False
        self._renew_columns()
        with exclusively(self._estimator), self._threads():
            for k, learner in enumerate(self._learners):
                self._write_label(k)
                code, parts, source, block_rows, expansion, work = learner
                if code(parts, source, self._label, self._weights, 0, block_rows, expansion, work) == 0:
                    self._learn_and_grow(k)
        self._n_seen = self._n_learned()
        self._after_learning()
        return True

    def _takes(self, y) -> bool:
        """Whether a label is a good one; it is kept for `_write_label`."""
        index = self.index_of(y)
        self._index = -1 if index is None else index
        return index is not None

    def _write_label(self, k):
        self._label[0] = self._index == k if len(self._learners) > 1 else self._index

    def _after_learning(self):
        """What there is to do once a row is learned."""

    def predicted(self, scores):
        """The prediction for the scores of a row."""
        return self._classes[int(scores[0] >= 0.0) if len(scores) == 1 else int(scores.argmax())]

    def _renew_columns(self):
        """Batches may have been learned in between."""
        if self._n_learned() != self._n_seen:
            for learner in self._learners:
                learner.source.state[0]["is_filled"] = 0
            self._n_seen = self._n_learned()

    def _learn_and_grow(self, k):
        """Without a budget, a full store is exchanged for a larger one."""
        prepared = self._learners[k]
        weights = self._weights if self._weights.size else None
        learner = Learner(prepared.parts, prepared.expansion).learn(self._matrix, self._label, weights, FIRST)
        self._estimator.set_learner(k, learner)
        self._learners[k] = self._to_learn(learner)
        self._note_counts()
        self._scoring = self._vote = None  # they have the rows of the smaller store

    def scores(self, x) -> np.ndarray | None:
        """Decision values of a row, one for each output, in an array that is used again; None for a bad row."""
        if not self._load(x):
            return None
        if self._experts is not None:
            return self._vote_of_experts()
        n_seen = self._n_learned()
        if self._scoring is None or n_seen != self._scored_at:
            self._scoring = self._to_score()
            self._scored_at = n_seen
        code, scoring, _ = self._scoring
        scoring.next_row[0] = 0
        code(scoring, 0, 1)  # which makes no product that several threads would share
        return scoring.out[0]

    def _vote_of_experts(self):
        """Scores of all experts, which take less time than joining their coefficients into those of one model."""
        self._renew_columns()
        if self._vote is None:
            self._vote = self._to_vote()
        code, arguments = self._vote
        arguments.expansion.counts[:] = self._counts
        with self._threads():
            code(*arguments)
        return arguments.experts.values

    def _to_vote(self):
        _, parts, source, _, expansion, work = self._learners[0]
        expansion = expansion._replace(counts=self._counts.copy())  # those of training stay as they are
        experts = self._experts  # which have scratch arrays as well
        experts = experts._replace(parts=experts.parts.copy(), values=experts.values.copy())
        arguments = _Question(experts, parts.kernel, source, expansion, work)
        return machine_code_for(ask, *arguments), arguments

    def _to_score(self):
        """The model as it is now; what was prepared before is used again where it fits."""
        estimator, prepared = self._estimator, self._scoring
        if prepared is not None and len(self._learners) == 1:
            expansion = estimator.scoring_expansion(prepared.expansion)
            vectors = refreshed(prepared.scoring.vectors, int(expansion.counts[0]["n_slots"]))
            return prepared._replace(scoring=prepared.scoring._replace(vectors=vectors))
        expansion = estimator.scoring_expansion()
        vectors = new_vectors(expansion, 1, bias=estimator.intercept_)
        scoring = new_scoring(estimator.kernel_, vectors, self._matrix, any_size=True)
        scoring.next_row[0] = 1  # so that there is nothing to do
        return _Scoring(machine_code_for(score_some, scoring, 0, 1), scoring, expansion)


class TargetPath(RowPath):
    """The same for a regressor."""

    def _new_label(self, n_outputs):
        return np.zeros((1, n_outputs))

    def _takes(self, y) -> bool:
        try:
            targets = np.asarray(y, np.float64)
        except (TypeError, ValueError):
            return False
        if targets.ndim > 1 or targets.size != self._estimator.n_targets or not np.isfinite(targets).all():
            return False
        self._label[:] = self._estimator.in_model_units(targets.reshape(1, -1))
        return True

    def _write_label(self, k):
        """It is there: there is one learner for all targets."""

    def predicted(self, scores):
        return self._estimator.predictions_of(scores[None].copy())[0]


class NoveltyPath(RowPath):
    """The same for a one-class machine: rows are learned by their scores, whose latest ones are looked at at times."""

    def __init__(self, estimator, scaler):
        super().__init__(estimator, scaler)
        self._weights = np.ones(1)
        self._learners = [self._to_learn(learner) for learner in estimator.learners]

    def _new_label(self, n_outputs):
        return np.zeros((1, n_outputs))  # compiled code leaves the score there

    def _takes(self, y) -> bool:
        self._weights[0] = self._estimator.row_weight
        return True

    def _write_label(self, k):
        """There is none."""

    def _renew_columns(self):
        if self._n_learned() != self._n_seen:
            self._take_threshold()
        super()._renew_columns()

    def _take_threshold(self):
        self._learners[0] = self._learners[0]._replace(parts=self._estimator.learners[0].parts)

    def _after_learning(self):
        if self._estimator.note_score(self._label[0]):
            self._take_threshold()

    def predicted(self, scores):
        return 1 if scores[0] - self._estimator.offset_ >= 0.0 else -1


_PATHS = {BudgetedClassifier: RowPath, BSGDRegressor: TargetPath, BSGDOneClassSVM: NoveltyPath}
_NOTHING: Any = nullcontext()


def _arrays_for(kernel, matrix, expansion):
    source = new_source(kernel, matrix, FIRST, expansion)
    return source, rows_at_a_time(source), new_workspace(expansion)
