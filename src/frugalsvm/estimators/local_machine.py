"""What `LocalSVC` and `LocalSVR` share: parameters, training in cells, scores."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from frugalsvm._locks import shared
from frugalsvm.arrays.namespace import arrays_of, arrays_on, is_torch, on_host
from frugalsvm.cells.batches import near, padded_length
from frugalsvm.cells.budget import BudgetTooSmall, array_bytes, exact_bytes, trained_within
from frugalsvm.cells.choosing import best_choice, judge_in
from frugalsvm.cells.codes import CodedCells, expanded
from frugalsvm.cells.on_device import bytes_on_device
from frugalsvm.cells.places import OnDevice, OnThreads, Place
from frugalsvm.cells.solver import Cells, cell_bytes
from frugalsvm.cells.tree import Tree, cells_of
from frugalsvm.compiling.threads import row_blocks
from frugalsvm.core.seen_rows import some_rows
from frugalsvm.estimators._learned_rows import forget_rows_learned, keep_learned
from frugalsvm.estimators._local_saved import LOCAL
from frugalsvm.estimators._public_trees import check_tree, grown_for, with_public_origin
from frugalsvm.estimators.constraints import (
    check_count,
    is_auto,
    one_of,
    optional,
    or_auto,
    parsed_bytes,
    positive,
    size,
)
from frugalsvm.estimators.fit_warnings import warn_if_coefficients_cancel, warn_of_copies
from frugalsvm.estimators.kernel_model import Fits
from frugalsvm.estimators.local_changes import ChangesRows
from frugalsvm.estimators.local_learner import LearnsBatches
from frugalsvm.estimators.parameters import learned, parameter, parameters
from frugalsvm.estimators.progress import following
from frugalsvm.estimators.seen_rows import absolute_rows, relative_rows
from frugalsvm.estimators.unchanged import forget_learned
from frugalsvm.estimators.validation import (
    AS_IT_IS,
    refuse_sparse,
    rows_that_count,
    validated_rows,
    validated_tensor,
)
from frugalsvm.exceptions import ParameterError

_TYPES = ("float32", "float64")
_USUAL_SIZE = 2048
_SAMPLE_ROWS = 2**14  # that tell from which gamma on to search
_BLOCK_ROWS = 2**14
_MOST_TREES = 1000
_ONE_CELL = 2 * _USUAL_SIZE  # up to this number, rows are not divided


def _a_cell_size(name: str, value: Any) -> None:
    if isinstance(value, str):
        raise ParameterError(name, value, "an integer of at least 2, or 'auto'")
    check_count(name, value, least=2)


def _a_number_of_trees(name: str, value: Any) -> None:
    check_count(name, value)
    if value > _MOST_TREES:
        raise ParameterError(name, value, f"an integer from 1 to {_MOST_TREES}")


@parameters
class LocalParameters:
    """Parameters of machines in cells.

    Parameters
    ----------
    kernel : str
        See :ref:`kernels`. Tables with sharp boundaries like "matern12", smooth ones "rbf".
    gamma : float, "scale" or "auto"
        Factor of squared distances; "scale" is one over the sum of the variances, and "auto" chosen together with C.
    metric : {"diag", "full", "auto"}, array or None
        What rows are multiplied by before the kernel sees them: learned, or an array, such as ``metric_`` of another
        model. See :ref:`metric`.
    cell_size : int or "auto"
        Most rows of a cell. The time is proportional to its square, and larger cells are more accurate. "auto" is 2048,
        and up to 4096 rows are one cell.
    n_trees : int
        Several trees are averaged, which is more accurate, and takes as many times as long.
    tree : {"rows", "public"}
        How rows are divided: by directions and cuts that are taken from the rows, or by random cuts of ``ranges``, in
        which no row that is forgotten can leave a trace. The latter have cells of less equal sizes. See
        :ref:`forgetting`.
    ranges : pair of floats or arrays of shape (n_features,), or None
        For ``tree="public"``: the least and largest values that features may have, known without looking at the rows.
    budget : str or None
        Most bytes of the model, such as "20MB": rows are kept as codes of few bits, and only as many as there is room
        for, with more of them where cells are hard to learn. None keeps all rows as they are.
    memory : str
        Limit for the matrices of cells: fewer threads work where there is no room for all. On a GPU, so much of its
        memory: as many cells are solved together as there is room for.
    copy_X : bool
        False lets the model keep rows where they are, if they have its type, and with a metric write there what the
        kernel sees: do not use ``X`` afterwards then.
    device : {"cpu", "cuda", "auto"}
        Where `fit` and predictions are computed. "cuda" is a GPU, with PyTorch; tensors that are there stay there. The
        model does not depend on it, up to rounding, and predicts on a CPU as well.
    dtype : {"float32", "float64"}
        Type in which kernels are computed and cells are solved; those that float32 is too coarse for are solved in
        float64 anyway.
    n_jobs : int
        Threads; None is one, -1 all cores. The model does not depend on it, unless there are fewer cells than threads.
    verbose : int
        With 1, `fit` shows its progress in a line on standard error: cells, cells per second, time left.
    random_state : int, RandomState instance or None
        For the directions in which trees divide.
    """

    C: float | str = parameter(default="auto", check=or_auto(positive), kw_only=False)
    kernel: Any = "matern12"
    gamma: float | str = "auto"
    metric: Any = None
    cell_size: int | str = parameter(default="auto", check=or_auto(_a_cell_size))
    n_trees: Any = parameter(default=1, check=_a_number_of_trees)
    tree: Any = "rows"
    ranges: Any = None
    budget: str | None = parameter(default=None, check=optional(size))
    memory: Any = parameter(default="4GB", check=size)
    copy_X: Any = parameter(default=True, check=one_of((True, False)))
    device: Any = "cpu"
    dtype: Any = parameter(default="float32", check=one_of(_TYPES))


class LocalMachine(LearnsBatches, ChangesRows, LocalParameters, Fits):
    """Base of estimators that have a least-squares machine in every cell of some trees.

    The model is ``_rows`` (as the kernel sees them) and ``_cells``, one for each tree. In a budget of bytes, these have
    the rows that are kept, as codes, and ``_rows`` has none.

    Subclasses define ``_examples_of`` (rows, targets (n_outputs, n), weights or None, of what users pass);
    ``targets_of(y, sample_weight)``, targets and weights of all rows, whose classes or scale the model takes;
    ``known_targets(y)``, targets of some rows, when these are known; and ``take_left_out(scores, targets, weights)``,
    which takes leave-one-out scores (n, n_outputs) of all rows.

    Attributes
    ----------
    C_, gamma_ : float
    cell_size_ : int
    n_cells_ : int
    """

    _saved = LOCAL
    _rows: np.ndarray
    _cells: list[Cells] | list[CodedCells]

    @property
    def _in_float32(self) -> bool:  # type: ignore[override]
        return self._dtype == np.float32

    @property
    def _dtype(self) -> Any:
        """The type of the rows that were learned; before, the one that they will have."""
        return self._rows.dtype if hasattr(self, "_rows") else np.dtype(self.dtype)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags

    # --- parameters -----------------------------------------------------------------------------------------

    def _check_params(self):
        super()._check_params()
        check_tree(self)
        arrays_on(self.device)  # says what is missing

    def _arrays(self):
        """Where `fit` and predictions are computed: coded rows are known to compiled code only."""
        is_coded = self.budget is not None or isinstance(getattr(self, "_cells", [None])[0], CodedCells)
        return arrays_on("cpu" if is_coded else self.device)

    def _size_for(self, n_rows: int) -> int:
        """Most rows of a cell."""
        if not is_auto(self.cell_size):
            return int(self.cell_size)
        return _ONE_CELL if n_rows <= _ONE_CELL else _USUAL_SIZE

    def _memory_for(self, size: int, needed: int) -> int:
        """Bytes that cells may take, given what one of them needs."""
        available = parsed_bytes("memory", self.memory)
        if needed > available:
            raise ValueError(
                f"A cell of {size:,} rows needs {needed / 2**20:,.1f} MB, and memory={self.memory!r}: raise memory, or "
                "lower cell_size."
            )
        return available

    def _place_for(self, size: int, n_outputs: int) -> Place:
        """Where cells are solved."""
        arrays = self._arrays()
        if not arrays.is_torch:
            needed = cell_bytes(size, self._width, n_outputs, self._dtype)
            return OnThreads(self._threads(), self._memory_for(size, needed))
        needed = bytes_on_device(padded_length(size), self._width, n_outputs, self._dtype.itemsize)
        return OnDevice(arrays, min(self._memory_for(size, needed), arrays.free_bytes()), self._threads())

    def _choose(self, X, targets, weights, *, whole):
        """Gamma and C are chosen later, when there are cells."""

    # --- training -------------------------------------------------------------------------------------------

    def _loss(self, targets, scores, weights) -> float:
        """Mean squared error of leave-one-out scores, by which gamma and C are chosen."""
        return float(np.average(np.square(targets - scores).mean(axis=0), weights=weights))

    # Steps of a training whose rows are not all in one place: see `frugalsvm.estimators.local_learner`.

    def look_back(self, rows, numbers, targets, weights):
        """Do what comes after training: rows, as the kernel sees them, are those with these numbers; None is all."""
        self._look_back(rows, numbers, targets, weights)
        keep_learned(self, numbers, targets, weights)

    def _look_back(self, rows, numbers, targets, weights):
        """What an estimator makes of leave-one-out scores and rows."""

    def _fit(self, attempt, X, y, sample_weight):
        self._forget()
        refuse_sparse(self, X)
        given = X
        X, targets, weights = self._examples_of(X, y, sample_weight, first=True)
        random_state = check_random_state(self.random_state)
        X = self._seen_first(X, targets, weights, random_state, out=None if self.copy_X else X)
        if not is_torch(X) and (is_auto(self.C) or is_auto(self.gamma)):
            warn_of_copies(self, X, targets, weights)
        self._fit_rows(self._own_rows(X, given), targets, weights, random_state, None if self.copy_X else given)

    def _forget(self):
        """Be ready to learn from the beginning."""
        forget_learned(self)
        forget_rows_learned(self)
        for name in ("_rows", "_cells"):  # whose type is not for the new ones
            self.__dict__.pop(name, None)

    def _own_rows(self, X, given):
        """Rows in the type of the model, which users cannot change by changing what they have given."""
        if is_torch(X):  # from a GPU, the model's rows are copies anyway
            X = arrays_of(X).single(X)
            return X.clone() if X.device.type == "cpu" else X
        is_users = X is given or not X.flags.owndata  # a frame's or a tensor's, too
        return self._copied(X) if self.copy_X and is_users else X.astype(self._dtype, copy=False)

    def _copied(self, X):
        """Rows that nobody else can change."""
        rows, threads = np.empty(X.shape, self._dtype), self._threads()

        def copy(block):
            rows[block] = X[block]

        threads.run(copy, row_blocks(len(X), threads.count, _BLOCK_ROWS, _BLOCK_ROWS))
        return rows

    def _seen_first(self, X, targets, weights, random_state, out=None):
        """Take the metric, the kernel and the origin from rows; returns them as the kernel sees them.

        With a metric, they may be written to ``out``, the rows themselves.
        """
        X = self._with_metric(X, lambda: targets, weights, random_state, whole=True, out=out)
        known = rows_that_count(X, weights)
        self._kernel = self._new_kernel(some_rows(known, _SAMPLE_ROWS) if is_auto(self.gamma) else known)
        known = with_public_origin(self, known) if self.tree == "public" else self._with_origin(known, whole=True)
        return known if len(known) == len(X) else relative_rows(X, self._origin, self._type_of(X))

    def _fit_rows(self, rows, targets, weights, random_state, home=None):
        """Learn from rows as the kernel sees them; those of a device may be written to ``home`` for the model."""
        known = slice(None) if weights is None or weights.all() else np.flatnonzero(weights)
        n_rows = len(rows) if weights is None else int(np.count_nonzero(weights))
        size = self._size_for(n_rows)
        place = self._place_for(min(size, n_rows), len(targets))
        examples = place.examples(
            rows[known],
            np.ascontiguousarray(targets[:, known], self._dtype),
            np.empty(0) if weights is None else np.ascontiguousarray(weights[known], np.float64),
            home if _has_room(home, (n_rows, self._width), self._dtype) else None,
        )
        rng = np.random.default_rng(random_state.randint(np.iinfo(np.int32).max))
        trees = grown_for(self, place, examples, size, rng)
        left_out = self._fit_cells(place, examples, trees, size)
        if len(left_out) < len(rows):  # rows without a weight were left out anyway
            of_cells = examples.rows if len(self._rows) else self._rows  # those of a device where it has them
            every = place.scores(self._kernel, of_cells, self._cells, rows)
            every[known] = left_out
            left_out = every
        self.take_left_out(left_out, targets, weights)
        self.look_back(rows, None, targets, weights)

    def _bytes_beside(self, n_rows, n_outputs) -> int:
        """Bytes of the model that are not for its cells."""
        return 0

    def _fit_cells(self, place, examples, trees, size):
        """Choose what is to be chosen, and learn in all cells of some trees; returns leave-one-out scores."""
        C = self.choose_strength(place, examples, trees[0], size)
        with following(self, sum(tree.n_cells for tree in trees), "cells", has_model=False) as progress:
            rows, cells, left_out = _trained_in_bytes(self, place, examples, trees, size, 1.0 / C, progress.advance)
        self.take_cells(rows, cells, C, size)
        return left_out

    def take_cells(self, rows, cells, C, size):
        """Be what was learned in the cells of each tree, of up to ``size`` rows; leave-one-out scores come later."""
        self._rows, self._cells, self.C_, self.cell_size_ = rows, cells, C, size
        warn_if_coefficients_cancel(self, cells)

    _has_free_gamma = property(lambda self: is_auto(self.gamma) and "gamma" in self._kernel._fields)

    def choose_strength(self, place, examples, tree, size) -> float:
        """C, and the kernel with its gamma, from leave-one-out errors where they are to be chosen."""
        is_free = self._has_free_gamma
        given = None if is_auto(self.C) else float(self.C)
        if given is not None and not is_free:
            return given
        judge, weight = judge_in(place, self._kernel, examples, tree, size, self._loss)
        choice = best_choice(self._kernel, judge, gamma=is_free, C=given, usual_weight=weight)
        if is_free:
            self._kernel = self._kernel._replace(gamma=choice.gamma)
        return choice.C

    # --- scores ---------------------------------------------------------------------------------------------

    def _known_rows(self, X, dtype):
        refuse_sparse(self, X)
        return super()._known_rows(X, dtype)

    def scores_of(self, X, arrays=None) -> np.ndarray:
        """Scores (n, n_outputs) of rows that users pass, in units of the machines, from a device or the usual one."""
        check_is_fitted(self)
        arrays = self._arrays() if arrays is None or isinstance(self._cells[0], CodedCells) else arrays
        place: Place = OnThreads(self._threads())
        dtype = self._dtype
        if arrays.is_torch:
            place = OnDevice(arrays, min(parsed_bytes("memory", self.memory), arrays.free_bytes()))
            X, dtype = self._for_device(X, arrays)
        return place.scores(self._kernel, self._rows, self._cells, self._known_rows(X, dtype))

    def _for_device(self, X, arrays):
        """Rows, and the type to validate them in; tensors are float32 once the kernel sees them."""
        if not self._in_float32:
            return on_host(X), self._dtype
        return arrays.asarray(X) if is_torch(X) else X, AS_IT_IS

    def _new_rows(self, X, dtype):
        """Validated rows; those that are learned on a device go there first, and are looked at there."""
        arrays = self._arrays()
        if not arrays.is_torch:
            return super()._new_rows(X, dtype)
        X, dtype = self._for_device(X, arrays)
        if not self._in_float32:
            return super()._new_rows(X, dtype)
        X = near(arrays, validated_rows(self, X, reset=True, dtype=dtype, check_finite=False))
        X = validated_tensor(self, X, reset=False) if is_torch(X) else X
        self._check_values(X)
        return X

    @shared
    def apply(self, X):
        """The cell of every row, as forests of scikit-learn tell leaves.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_trees)
            Numbers of cells, from 0 in each tree.
        """
        check_is_fitted(self)
        rows, threads = self._known_rows(on_host(X), self._dtype), self._threads()
        return np.column_stack([cells_of(cells.tree, rows, threads) for cells in self._cells])

    # --- what was learned -----------------------------------------------------------------------------------

    def learned_rows(self, n_most: int | None = None) -> np.ndarray:
        """Rows that the model has, as users know them: all, or some of them, evenly from first to last."""
        check_is_fitted(self)
        rows, _ = self.machines()
        count = len(rows) if n_most is None else min(n_most, len(rows))
        return absolute_rows(rows[np.arange(count) * len(rows) // max(count, 1)], self._origin, self._metric)

    def machines(self) -> tuple[np.ndarray, list[Cells]]:
        """All rows, as the kernel sees them, and for each tree the machines of its cells; without codes."""
        if isinstance(self._cells[0], CodedCells):
            return expanded(self._cells, self._dtype)
        return self._rows, self._cells

    @learned
    def row_dtype_(self):
        """Type of the stored rows, in which kernel values are computed."""
        return np.dtype(self._dtype)

    @learned
    def n_cells_(self):
        """Number of cells, in all trees."""
        return sum(cells.tree.n_cells for cells in self._cells)

    @learned
    def model_bytes_(self):
        """Bytes that prediction needs: rows, trees, coefficients."""
        return array_bytes((self._rows, *self._cells))


def _trained_in_bytes(
    model: Any,
    place: Place,
    examples: Any,
    trees: list[Tree],
    size: int,
    ridge: float,
    advance: Callable[[int], Any],
) -> tuple[np.ndarray, list[Cells] | list[CodedCells], np.ndarray]:
    """The rows of a model, its cells, and leave-one-out scores; exact if there is no budget, or one for all of it."""
    kernel = model._kernel
    beside = model._bytes_beside(len(examples.rows), len(examples.targets))
    budget = None if model.budget is None else parsed_bytes("budget", model.budget) - beside
    if budget is None or exact_bytes(examples, trees) <= budget:
        cells, left_out = place.trained(kernel, examples, trees, size, ridge, advance)
        return place.rows_of(examples), cells, left_out
    memory, threads = parsed_bytes("memory", model.memory), model._threads()
    try:
        coded, left_out = trained_within(kernel, examples, trees, size, ridge, budget, memory, threads, advance)
    except BudgetTooSmall as error:
        n_cells, least = sum(tree.n_cells for tree in trees), error.least + beside
        problem = (
            f"is too small for {n_cells:,} cells of up to {size:,} rows, which need at least {least}B: raise it, or "
            "cell_size"
        )
        raise ParameterError("budget", model.budget, problem=problem) from None
    return examples.rows[:0].copy(), coded, left_out


def _has_room(array, shape, dtype) -> bool:
    """Whether an array can be overwritten by rows of a shape and a type."""
    if not isinstance(array, np.ndarray) or array.shape != shape or array.dtype != dtype:
        return False
    return array.flags.c_contiguous and array.flags.writeable
