"""What `DaskLocalSVC` and `DaskLocalSVR` share: training in four steps, and a model that travels once.

The steps are those of `frugalsvm.estimators.local_learner`, on a cluster.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from dask import delayed

from frugalsvm.cells.choosing import looked_at
from frugalsvm.cells.places import OnThreads, left_out_scores
from frugalsvm.cells.solver import Cells, Examples
from frugalsvm.cells.tree import Tree
from frugalsvm.cells.trunk import grafted
from frugalsvm.compiling.threads import ONE_THREAD, Threads
from frugalsvm.dask._base import DaskEstimator
from frugalsvm.dask._cells_tasks import Route, Solved, gathered, looked, routed, rows_at, sizes_of, solved, some_cells
from frugalsvm.dask._cluster import Cluster, Parcel, client_for, opened
from frugalsvm.dask._collections import Source
from frugalsvm.dask._preparing import Overview, as_made_here, class_weights_of, overview_of
from frugalsvm.estimators.local_learner import Beginning, begin_local, has_choice
from frugalsvm.estimators.validation import numbers_with_weight

_GROUPS_A_THREAD, _GROUP_BYTES = 4, 2**28


class CellsOnCluster(DaskEstimator):
    """Base of estimators whose cells are solved where their rows are.

    Parameters
    ----------
    metric : {"diag", "full", "auto"}, array or None
        What rows are multiplied by before the kernel sees them, see :ref:`metric`; the client learns it from a sample.
    memory : str
        Limit for the sample, and for the matrix of a cell.

    Attributes
    ----------
    history_ : list of dict
        What was found in each of the steps "sample", "shuffle", "choice" and "cells".
    """

    def _check_own_params(self) -> None:
        self._check_class_weight()

    def _begin(self, cluster: Cluster, local: Any, X, y, sample_weight, callback) -> Any:
        """Look at all partitions."""
        sources = self._partitions(X, y, sample_weight)
        looks = cluster.each(looked, sources, local)
        overview = overview_of([look.survey for look in looks])
        filled = [source for source, look in zip(sources, looks, strict=True) if len(look.y)]
        looks = [look for look in looks if len(look.y)]
        if overview.sparse:
            raise ValueError(
                f"{type(self).__name__} takes dense rows, and X has sparse ones: project them first, or use "
                "DaskASSETClassifier or DaskASSETRegressor."
            )
        local.n_features_in_ = overview.n_features
        if overview.names is not None:
            local.feature_names_in_ = overview.names
        rows = _PartitionRows(cluster, filled, [len(look.y) for look in looks], local)
        weights = None if looks[0].weight is None else np.concatenate([look.weight for look in looks])
        targets = np.concatenate([look.y for look in looks])
        return _CellsTraining(cluster, overview, rows, targets, weights, self._teller(callback))

    def _rounds(self, local: Any, training: Any) -> None:
        _train(local, training)

    def _look_back(self, local: Any, validation: Any) -> None:
        if hasattr(local, "classes_"):
            self.classes_ = local.classes_

    def _sent(self, function: Any) -> Any:
        """A function that has the model, as one that is delayed; it travels to each worker once.

        Without a client, as that of a model from a file is, Dask computes in this process, and nothing travels.
        """
        try:
            client = client_for(self.client)
        except ValueError:
            return super()._sent(function)
        return partial(delayed(_called, pure=False), Cluster(client).broadcast(function))


def _called(function: Any, *arguments: Any) -> Any:
    return opened(function)(*arguments)


class _CellsTraining(NamedTuple):
    """All that a training has at hand when rows have been looked at."""

    cluster: Cluster
    overview: Overview
    rows: "_PartitionRows"
    y: np.ndarray
    sample_weight: np.ndarray | None
    tell: Callable[..., None]  # the end of a step
    validation: None = None


class _PartitionRows:
    """The rows of all partitions that have some, numbered one after another; see `begin_local`."""

    def __init__(self, cluster: Cluster, sources: Sequence[Source], lengths: Sequence[int], estimator: Any):
        self._cluster, self.sources, self._estimator = cluster, sources, estimator
        self.firsts = np.concatenate([[0], np.cumsum(lengths)])
        self.numbers = np.arange(self.firsts[-1])

    def taken(self, numbers: np.ndarray) -> np.ndarray:
        """Rows by their numbers, which are in order."""
        ends = np.searchsorted(numbers, self.firsts)
        wanted = [
            (*source, numbers[start:stop] - first)
            for source, first, start, stop in zip(self.sources, self.firsts[:-1], ends[:-1], ends[1:], strict=True)
            if start < stop
        ]
        return np.concatenate(self._cluster.each(rows_at, wanted, self._estimator))


def _train(local: Any, training: _CellsTraining) -> None:
    """Make an estimator that has learned nothing a trained one."""
    cluster, rows, tell = training.cluster, training.rows, training.tell
    targets, weights = local.targets_of(training.y, training.sample_weight)
    rows.numbers = numbers_with_weight(weights, targets.shape[1])
    beginning = begin_local(local, rows, targets, weights)
    tell(None, step="sample", parts=sum(trunk.n_cells for trunk in beginning.trunks))
    trees = _shuffled(local, training, beginning)
    tell(None, step="shuffle", groups=sum(map(len, trees)))
    C = _chosen(local, cluster, trees[0], beginning.size)
    tell(None, step="choice", C=C)
    solving = [_begun(local, cluster, groups, beginning.size, C) for groups in trees]
    # The rows of the model travel while workers solve.
    model_rows = np.concatenate([part.examples.rows for part in _parts(cluster, trees[0])])
    found = [_parts(cluster, futures) for futures in solving]
    tell(None, step="cells", cells=sum(part.branch.n_cells for parts in found for part in parts))
    _finish(local, rows, model_rows, beginning, found, C, targets, weights)


def _shuffled(local: Any, training: _CellsTraining, beginning: Beginning) -> list[list[Any]]:
    """For each tree its groups of parts, as futures: all rows travel once for each tree."""
    cluster, rows = training.cluster, training.rows
    n_groups = max(_GROUPS_A_THREAD * cluster.n_threads(), training.overview.n_bytes // _GROUP_BYTES)
    trees = [np.array_split(np.arange(trunk.n_cells), min(n_groups, trunk.n_cells)) for trunk in beginning.trunks]
    route = Route(
        local,
        [trunk._replace(members=trunk.members[:0]) for trunk in beginning.trunks],
        [np.repeat(np.arange(len(groups)), list(map(len, groups))) for groups in trees],
        class_weights_of(training.overview, getattr(local, "class_weight", None)),
    )
    sources = [(*source, int(first)) for source, first in zip(rows.sources, rows.firsts, strict=False)]
    pieces = cluster.lazy(routed, sources, cluster.broadcast(route))
    parts = [(group.tolist(), number) for number, groups in enumerate(trees) for group in groups]
    wanted = [([each[k] for each in pieces], *own_parts) for k, own_parts in enumerate(parts)]
    futures = cluster.settled(cluster.kept(gathered, wanted, beginning.size, beginning.seed))
    ends = np.cumsum([0, *map(len, trees)])
    return [futures[start:stop] for start, stop in zip(ends[:-1], ends[1:], strict=True)]


def _chosen(local: Any, cluster: Cluster, groups: list[Any], size: int) -> float:
    """C; gamma and C are chosen on some cells of the first tree, side by side on all workers."""
    if not has_choice(local):
        return float(local.C)
    sizes = cluster.each(sizes_of, [(group,) for group in groups])
    places = [
        (group, place, cell)
        for group, parts in enumerate(sizes)
        for place, cells in enumerate(parts)
        for cell in range(len(cells))
    ]
    every = np.concatenate([cells for parts in sizes for cells in parts])
    chosen = [places[k] for k in looked_at(every, size)]
    wanted = [(groups[group], [(place, cell)]) for group, place, cell in chosen]
    cells = [as_made_here(examples) for (examples,) in cluster.each(some_cells, wanted)]
    examples = Examples(
        np.concatenate([each.rows for each in cells]),
        np.concatenate([each.targets for each in cells], axis=1),
        np.concatenate([each.weights for each in cells]),
    )
    tree = _tree_of([len(each.rows) for each in cells], examples.rows)
    return local.choose_strength(OnThreads(_Workers(cluster)), examples, tree, size)


def _tree_of(sizes: list[int], rows: np.ndarray) -> Tree:
    """A tree that has cells only: it cannot tell where a row belongs."""
    ends = np.concatenate([[0], np.cumsum(sizes)])
    return Tree(rows[:0], np.empty(0, np.float32), np.empty((0, 2), np.int64), ends, np.arange(len(rows)))


class _Workers(Threads):
    """The workers of a cluster in the place of threads."""

    def __init__(self, cluster: Cluster):
        super().__init__(cluster.n_threads())
        self._cluster = cluster

    def run(self, function: Callable, items: Sequence, *, shares: bool = False) -> list:
        """``[function(item) for item in items]``, side by side."""
        return self._cluster.each(_applied, [(Parcel(item),) for item in items], self._cluster.broadcast(function))


def _applied(item: Any, function: Callable) -> Any:
    return function(item)


def _begun(local: Any, cluster: Cluster, groups: list[Any], size: int, C: float) -> list[Any]:
    """What is learned from all groups of a tree, as futures."""
    return cluster.kept_beside(solved, [(group,) for group in groups], local.kernel_, size, 1.0 / C)


def _parts(cluster: Cluster, groups: list[Any]) -> list[Any]:
    """What there is of each part, in the order of the parts."""
    return [as_made_here(part) for parts in cluster.results(groups) for part in parts]


def _finish(
    local, rows: _PartitionRows, model_rows, beginning: Beginning, found: list[list[Solved]], C, targets, weights
) -> None:
    """Put together what workers have learned; rows of the model are in the order of the first tree's parts."""
    order = np.concatenate([part.numbers for part in found[0]])
    place = np.empty(targets.shape[1], np.int64)
    place[order] = np.arange(len(order))
    errors = np.zeros(targets.shape)
    for parts in found:
        for part in parts:
            errors[:, part.numbers] += part.errors
    left_out = left_out_scores(targets.astype(model_rows.dtype, copy=False), errors, len(found), ONE_THREAD)
    cells = [_joined(trunk, parts, place, beginning.size) for trunk, parts in zip(beginning.trunks, found, strict=True)]
    local.take_cells(model_rows, cells, C, beginning.size)
    if len(order) < len(place):
        others = np.setdiff1d(np.arange(len(place)), order, assume_unique=True)
        left_out[others] = local.scores_of(rows.taken(others))
    local.take_left_out(left_out, targets, weights)
    local.look_back(model_rows, order, targets, weights)


def _joined(trunk: Tree, parts: list[Solved], place: np.ndarray, size: int) -> Cells:
    """The cells of all parts of a tree."""
    starts = np.cumsum([0, *(len(part.numbers) for part in parts)])
    members = place[np.concatenate([part.numbers for part in parts])]
    tree = grafted(trunk._replace(starts=starts, members=members), [part.branch for part in parts])
    return Cells(
        tree,
        size,
        np.concatenate([part.coef for part in parts], axis=1),
        np.concatenate([part.intercepts for part in parts]),
        np.concatenate([part.centers for part in parts]),
    )
