"""What a partition does in a round of ASSET, and how a training begins."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from frugalsvm.asset.losses import Hinge, SquaredHinge
from frugalsvm.asset.maps import raw_rows, whitening_of, width_of
from frugalsvm.asset.newton import minimise
from frugalsvm.asset.parted_bound import dual_of, sides_of
from frugalsvm.asset.rounds import CUT, LAST_CUT, mean_iterates, moments_of, summed
from frugalsvm.asset.rows import StoredRows
from frugalsvm.asset.stages import HEADS, MAX_SHARE, ROUGH
from frugalsvm.asset.subgradient import average_from, learn, new_state, no_average
from frugalsvm.asset.task import Task, point_at
from frugalsvm.dask._preparing import Rows, own
from frugalsvm.estimators._asset_steps import (
    SCALE_ROWS,
    Steps,
    features_of,
    new_rule,
    started_at,
    take_steps,
    unknowns_of,
)
from frugalsvm.estimators._base import blas_threads

__all__ = [
    "LOSSES",
    "Place",
    "dual_told",
    "features_kept",
    "heads_of",
    "mean_of_epochs",
    "moments_told",
    "one_epoch",
    "rule_for",
    "sides_told",
    "started_on_sample",
    "summed_told",
    "task_of_sample",
]

_BLOCK = 8192  # rows at a time
_START_BYTES = 2**28  # of features at the client, in the beginning
LOSSES = {"hinge": Hinge, "squared_hinge": SquaredHinge}


class Place(NamedTuple):
    """Where a round is: unknowns, where they are to go, and how."""

    number: int
    unknowns: np.ndarray
    directions: np.ndarray | None
    width: float
    sampled: float  # share of the rows that make the curvature, at most
    whole: bool  # whether held rows count
    lengths: np.ndarray | None = None  # of the steps
    sides: Any = None  # of the pulls of all partitions


def _targets(local: Any, labels: np.ndarray) -> np.ndarray:
    """+1 for the rows of an output's class, -1 for others."""
    n_classes = len(local.classes_)
    positive = labels[None] == (np.array([[1]]) if n_classes == 2 else np.arange(n_classes)[:, None])
    return np.where(positive, np.float32(1), np.float32(-1))


def _weights(weights: np.ndarray | None, n_rows: int) -> np.ndarray:
    return np.ones(n_rows, np.float32) if weights is None else weights.astype(np.float32)


def features_kept(rows: Rows, local: Any) -> np.ndarray:
    """Raw features of all rows of a partition."""
    with blas_threads(None):
        return raw_rows(own(local._map), own(rows.X), np.empty((rows.n_rows, width_of(local._map)), np.float32))


def _blocks(rows: Rows, features: np.ndarray | None, local: Any, first: int) -> Iterator[Task]:
    """The problem on the rows of a partition, from the first that counts: some rows at a time.

    Features are those that are kept, or they are computed for each block. A block of them stays in the cache of the
    processor while it is read several times.
    """
    X, labels, weights = rows.part(slice(first, None))
    feature_map, whitening = own(local._map), own(whitening_of(local._map))
    kept = None if features is None else own(features)[first:]
    scratch = np.empty((_BLOCK if kept is None else 0, width_of(feature_map)), np.float32)
    for start in range(0, len(labels), _BLOCK):
        part = slice(start, start + _BLOCK)
        chosen = labels[part]
        table = raw_rows(feature_map, X[part], scratch[: len(chosen)]) if kept is None else kept[part]
        yield _task(table, local, chosen, None if weights is None else weights[part], whitening)


def _task(table: np.ndarray, local: Any, labels: np.ndarray, weights: np.ndarray | None, whitening: Any) -> Task:
    """The problem on some rows, whose features are in a table."""
    return Task(
        StoredRows(table),
        _targets(local, labels),
        _weights(weights, len(labels)),
        LOSSES[local.loss](),
        0.0,
        whitening,
        local.fit_intercept,
    )


def _blocks_at(rows: Rows, features: np.ndarray | None, local: Any, place: Place) -> Iterator[Task]:
    return _blocks(rows, features, local, 0 if place.whole else rows.n_held)


def moments_told(rows: Rows, features: np.ndarray | None, local: Any, place: Place) -> Any:
    """Sums over the rows of a partition, at the unknowns."""
    rng = np.random.default_rng([rows.number, place.number])
    place = own(place)
    with blas_threads(None):
        blocks = _blocks_at(rows, features, local, place)
        cut = LAST_CUT if place.whole else CUT
        return moments_of(blocks, place.unknowns, place.width, lambda n: int(np.ceil(n * place.sampled)), rng, cut)


def sides_told(rows: Rows, features: np.ndarray | None, local: Any, place: Place) -> Any:
    """The two sides of the pulls of a partition."""
    place = own(place)
    with blas_threads(None):
        return sides_of(_blocks_at(rows, features, local, place), place.unknowns, place.directions, place.width)


def dual_told(rows: Rows, features: np.ndarray | None, local: Any, place: Place) -> Any:
    """What a partition adds to the dual objective, and its loss after the step."""
    place = own(place)
    with blas_threads(None):
        blocks = _blocks_at(rows, features, local, place)
        return dual_of(blocks, place.unknowns, place.directions, place.width, place.sides, place.lengths)


def summed_told(parts: list) -> Any:
    """Sums of several partitions as one, in their order."""
    return sum(parts[1:], start=parts[0]) if isinstance(parts[0], np.ndarray) else summed(parts)


def heads_of(n_features: int, n_rows: int) -> list[tuple[int, float]]:
    """Sizes of the samples that the client begins with, and widths of the loss: as far as its memory should go."""
    most = min(_START_BYTES // (4 * n_features), MAX_SHARE * n_rows)
    heads = [(n_each * n_features, width) for n_each, width in HEADS]
    return [head for head in heads if head[0] <= most] or [(min(heads[0][0], n_rows), heads[0][1])]


def task_of_sample(local: Any, sample: Rows) -> Task:
    """The problem on rows that the client has."""
    _, labels, weights = sample.part(slice(None))
    return _task(features_kept(sample, local), local, labels, weights, whitening_of(local._map))


def started_on_sample(whole: Task, penalty: float, n_rows: int, settings: Any, rng: Any) -> np.ndarray:
    """Unknowns that are right for a sample of the rows: the first, long steps need no others."""
    unknowns = np.zeros((len(whole.targets), whole.n_features + 1))
    with blas_threads(None):
        for most, width in heads_of(whole.rows.width, n_rows):
            n = min(most, whole.rows.n_rows)
            head = whole._replace(
                rows=whole.rows.head(n),
                targets=np.ascontiguousarray(whole.targets[:, :n]),
                weights=whole.weights[:n],
                penalty=penalty * n_rows / n,
            )
            point = point_at(head, unknowns)
            minimise(head, point, width, max(ROUGH, settings.tolerance), settings.max_iter, rng)
            unknowns = point.unknowns
    return unknowns


# --- subgradient steps ----------------------------------------------------------------------------------------


def rule_for(local: Any, sample: Rows, penalty: float) -> Any:
    """The step rule, from a sample of the rows."""
    X, labels, weights = sample.part(slice(None))
    with blas_threads(None):
        features = features_of(local._map, X[:SCALE_ROWS])
    return new_rule(
        local.solver,
        LOSSES[local.loss](),
        penalty,
        local.fit_intercept,
        features,
        _targets(local, labels),
        _weights(weights, len(labels)),
    )


def one_epoch(
    rows: Rows, features: np.ndarray | None, local: Any, rule: Any, unknowns: np.ndarray, n_steps: int, number: int
) -> tuple[np.ndarray, int]:
    """Unknowns after steps on all rows of a partition, from the common ones, and how many steps there were."""
    X, labels, weights = rows.part(slice(rows.n_held, None))
    n_rows, unknowns = len(labels), own(unknowns)
    if not n_rows:
        return unknowns, 0
    order = np.random.default_rng([rows.number, number]).permutation(n_rows)
    averaging = no_average() if local.average is False else average_from(n_steps + n_rows // 2 + 1)
    state = new_state(len(unknowns), unknowns.shape[1] - 1, averaging)
    if n_steps:
        state = started_at(state, unknowns, n_steps, rule)
    steps = Steps(LOSSES[local.loss](), rule, state)
    targets, weights = _targets(local, labels), _weights(weights, n_rows)
    with blas_threads(None):
        if features is None:
            take_steps(steps, local._map, X[order], targets[:, order], weights[order])
        else:
            whitening = whitening_of(local._map)
            table = own(features)[rows.n_held :]
            table = table if whitening is None else table @ whitening.astype(np.float32)
            learn(steps.loss, rule, table, np.ascontiguousarray(targets), weights, order, state)
    return unknowns_of(steps), n_rows


def mean_of_epochs(told: list[tuple[np.ndarray, int]]) -> tuple[np.ndarray, int]:
    """The mean of what partitions have come to, by examples."""
    numbers = [n for _, n in told]
    if not sum(numbers):
        return told[0]
    return mean_iterates([unknowns for unknowns, _ in told], numbers), sum(numbers)
