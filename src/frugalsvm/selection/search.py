"""The search: everything is judged by exact leave-one-out errors of machines of about a thousand rows.

1. Kernels and widths, on a random sample.
2. The best kernels again, in cells as dense as those of the last fit.
3. The same in a learned metric, of rbf or of laplacian; only rows count that the metric has not seen.
4. The best with the metric, with half of it and without it, on the same rows, each in cells of its own: one of all
   rows, or two halves, where the last fit is one.
5. Larger cells: what they gain tells how large those of the last fit are to be.
6. A low-rank machine of all rows, where as many landmarks do as well as cells of as many rows: pixels want it. One with
   half of the landmarks tells whether the last fit is to have more.

A limit of time is looked at before each candidate: what it will take, and what the fit to all rows will take after it.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from frugalsvm.cells.choosing import STEPS
from frugalsvm.core.blocks import is_of_products
from frugalsvm.core.capabilities import offers
from frugalsvm.core.kernels import KERNELS
from frugalsvm.metric_learning.machine import Rows, standardized
from frugalsvm.selection.best_metric import best_metric
from frugalsvm.selection.low_rank import Start, affordable_landmarks, global_start, low_rank_entries
from frugalsvm.selection.rounds import Entry, Round, best_of, in_order, is_better
from frugalsvm.selection.task import (
    CELLS,
    Candidate,
    Clock,
    Task,
    View,
    cell_work,
    divided,
    fit_work,
    gamma_for,
    neighborhoods,
    random_order,
    sampled,
    similar_gamma,
)
from frugalsvm.selection.task import LOW_RANK as WORK_OF_LOW_RANK

SAMPLE, PLAIN, METRIC, COMPARED, LARGER, LOW_RANK = range(1, 7)  # rounds
_SMALL, CELL, _LARGE = 512, 1024, 2048  # rows of cells in which candidates are compared
_ALONE = 1536  # up to this number, rows are one sample; more are two
_N_LARGE = 3  # of the last, which are looked at
_COARSE, _FINE = ((4.0, 10.0),), ((2.0, 3.0),)  # steps of gamma and C
_N_FINE = 2  # kernels that are compared in finer steps
_MOST_COMPARED = 2**16  # rows
# Standard errors that a metric must be better by than half of it; and those that another view of the rows must be
# better by, or a metric than none: both were chosen by the same rows, and a view that is better by chance alone can
# hide what a metric finds
_LEAD, _CLEAR = 1.0, 2.0
_NOTHING = 1e-5  # share of errors below which nothing better is in sight
_KEPT_OUT, _MOST_KEPT_OUT = 0.25, 2**14  # share of rows that judge a metric, and do not learn it; at most
_MOST_LEARNED = 2**16  # rows that a metric is learned from
_FEW_ROWS = 500  # no metric is learned from fewer
_MANY_FEATURES = 1000  # nor for more
_RACE_WORK = 12.0  # of learning a metric, in seconds of a usual core
_CAUTION = 1.25  # times as long as estimated may be what it takes
_ONE_CELL = 4096  # up to this number, rows are not divided
_LEAST_SIZE, _USUAL_SIZE = 256, 2048  # of cells
_MOST_TREES = 3
_WELL = 3.0  # times the work of the last fit, where large cells gain much
_PAYS, _PAYS_WELL = 0.005, 0.08  # shares of squared errors that cells of twice the size save, or twice the landmarks
NO_TIME_FOR_LOW_RANK = "There was no time to compare a low-rank machine."
_FACTORS = (1 / 4, 1.0, 4.0)  # of C of low-rank machines
_MOST_JUDGES, _MOST_ROWS = 2**12, 2**16  # of low-rank machines


class Plan(NamedTuple):
    """What to try, and how much the last fit may take."""

    kernels: tuple[str, ...]
    fit_work: float = 60.0  # in seconds of a usual core
    low_rank_work: float = 100.0  # the same for a low-rank machine
    path_work: float = 12.0  # of one of the low-rank machines that are compared
    n_components: int | None = None  # of a low-rank machine, if there must be one
    learns_metric: bool = True

    def times(self, factor: float) -> "Plan":
        """The same for a device that is ``factor`` times as fast."""
        works = {name: factor * getattr(self, name) for name in ("fit_work", "low_rank_work", "path_work")}
        return self._replace(**works)


class Found(NamedTuple):
    """What came of a search."""

    best: Entry
    cell_size: int
    n_trees: int
    unseen: np.ndarray  # (n_rows,) bool: rows that the metric was not learned from, all rows if there is none
    rival: Entry | None  # a low-rank machine that may be better, judged by the rows of its round that count
    n_components: int  # of its last fit
    notes: tuple[str, ...]  # what a limit of time left out


def search(
    task: Task, plan: Plan, clock: Clock, tell: Callable[[Entry], None], announce: Callable[[str], None] | None = None
) -> Found:
    """The best candidate, and how to fit it to all rows.

    ``tell`` is called with each candidate that was judged, ``announce`` before work that takes a while without one.
    """
    return _Search(task, plan, clock, tell, announce or (lambda words: None)).run()


class _Search:
    def __init__(self, task, plan, clock, tell, announce):
        self.task, self.plan, self.clock, self.tell, self.announce = task, plan, clock, tell, announce
        self.notes: list[str] = []
        self.order = random_order(task.labels, task.n_rows, task.rng)
        self.unseen = np.ones(task.n_rows, bool)
        self.large: dict[str, list[np.ndarray]] = {}  # by view, the rows of some large cells
        self.metric_kernel = plan.kernels[0]  # that metrics are learned with
        self.halves: set[str] = set()  # views of half of a metric

    def run(self) -> Found:
        sample = self._on_sample()
        self.metric_kernel = self._kernel_of_metrics(sample)
        if self.plan.n_components is not None or self.task.views[sample[0].candidate.view].is_sparse:
            best = self._in_sample(sample[0])
            return self._found(*self._low_rank(Start(best.candidate, best.C, CELL)), None)
        best = self._in_cells(PLAIN, [(each.candidate, each.C) for each in sample[:2]])[0]
        learned = self._learned_views(sample[0].candidate.view) if best.judgment.error > _NOTHING else []
        if learned:
            best = self._with_or_without(best, self._with_metrics(*learned))
        size, n_trees = self._structure(self._gain(best))
        start = self._global_start(best) if size < self.task.n_rows else None
        rival, n_components = (None, 0) if start is None else self._low_rank(start)
        return self._found(rival, n_components, best, size, n_trees)

    def _found(self, rival, n_components, best, size=0, n_trees=0) -> Found:
        return Found(best or rival, size, n_trees, self.unseen, rival, n_components, tuple(self.notes))

    # --- rounds ---------------------------------------------------------------------------------------------------

    def _round(self, number: int, members: Sequence[np.ndarray]) -> Round:
        return Round(self.task, number, members, self.unseen, self.clock, self.tell)

    def _on_sample(self) -> list[Entry]:
        """The best of each kernel, in order; the view of rows is that which the first kernel prefers."""
        first, *others = self.plan.kernels
        rows = sampled(self.order, self.task.labels, 2 * CELL)
        parts = [rows] if len(rows) <= _ALONE else [rows[::2], rows[1::2]]
        round_ = self._round(SAMPLE, [np.sort(part) for part in parts])
        found: list[Entry] = []
        for view in self.task.views:
            entry = self._best(round_, self._start(round_, view, first))
            if not found or is_better(entry, found[0], _CLEAR):
                found = [entry]
        view = found[0].candidate.view
        if self.task.views[view].is_sparse:
            others = [kernel for kernel in others if offers(KERNELS[kernel], "products")]
        for kernel in others:
            if self._fits(round_, 3):
                found.append(self._best(round_, self._start(round_, view, kernel)))
            else:
                self.notes.append(f"There was no time for the kernel {kernel!r}.")
        return in_order(found)

    def _in_sample(self, plain: Entry) -> Entry:
        """The better of a plain candidate and those with a learned metric, on the same sample."""
        learned = self._learned_views(plain.candidate.view)
        if not learned:
            return plain
        round_ = self._round(METRIC, plain.round.members)
        others = [self._best(round_, *start) for view in learned for start in self._starts_in(view)]
        return self._metric_or_not(plain, others, [round_.entry(plain), *others])

    def _start(self, round_, view, kernel) -> Candidate:
        rows = self.task.views[view].dense(round_.index)
        return Candidate(view, kernel, gamma_for(kernel, rows, self.task.rng))

    def _best(self, round_, candidate, C=100.0, steps=STEPS) -> Entry:
        return round_.best(candidate, C, steps, may_go_on=lambda: self._fits(round_, 4))

    def _in_cells(self, number: int, starts: list[tuple[Candidate, float]]) -> list[Entry]:
        """The best of some kernels in cells, in order; first all of them in small cells with large steps."""
        view = starts[0][0].view
        small, round_ = (self._round(number, self._cells(view, size)) for size in (_SMALL, CELL))
        found = [self._best(small, *start, _COARSE) for start in starts]
        return in_order([self._best(round_, each.candidate, each.C, _FINE) for each in in_order(found)[:_N_FINE]])

    def _cells(self, name: str, size: int) -> list[np.ndarray]:
        """The rows of some cells, which are parts of the same large ones whatever their size."""
        task, view = self.task, self.task.views[name]
        if name not in self.large:
            self.large[name] = neighborhoods(task, view, _LARGE, _N_LARGE)
        return [part for cell in self.large[name] for part in divided(task, view, cell, size)]

    def _learned_views(self, name: str) -> list[View]:
        """That of a learned metric, and that of half of it; none where there are not rows or time enough."""
        task, view = self.task, self.task.views[name]
        n_features = view.width
        if not self.plan.learns_metric or task.n_rows < _FEW_ROWS or not 2 <= n_features <= _MANY_FEATURES:
            return []
        seconds = self.clock.seconds_for(CELLS, _RACE_WORK)
        if not self.clock.fits(seconds, self._for_fit):
            self.notes.append("There was no time to learn a metric.")
            return []
        self.announce(f"learning a metric, which takes about {seconds:.0f} s")
        others = self.order[_number_kept_out(task.n_rows) :][:_MOST_LEARNED]
        try:
            learned = learned_view(task, view, others, self.metric_kernel)
        except np.linalg.LinAlgError:
            self.notes.append("A metric could not be learned: these rows have no kernel machines to learn it with.")
            return []
        found = [learned, learned.softened()]
        self.halves.add(found[1].name)
        task.views.update((each.name, each) for each in found)
        self.unseen[others] = False
        return found

    @property
    def _turning(self) -> list[str]:
        """Kernels for which metrics may have directions: sums over features have none."""
        return [kernel for kernel in self.plan.kernels if is_of_products(KERNELS[kernel](gamma=1.0))]

    def _kernel_of_metrics(self, sample: list[Entry]) -> str:
        """The kernel that metrics are learned with, by how good the best of each kernel is without one.

        "rbf", but for a kernel of sums over features (laplacian) that is clearly better than those of Euclidean
        distances. It is where thresholds of single features count, and the factors of "rbf" are not the best for it.
        Features of two values have no thresholds: both kernels are the same then, but for the factors.
        """
        euclidean = [entry for entry in sample if entry.candidate.kernel in self._turning]
        if not euclidean:
            return self.plan.kernels[0]
        best, some = sample[0].candidate, self.order[: 2 * CELL]
        if best.kernel in self._turning or not is_better(sample[0], euclidean[0], _CLEAR):
            return "rbf"
        return "rbf" if _has_two_values(self.task.views[best.view].dense(some)) else best.kernel

    def _starts_in(self, learned: View) -> list[tuple[Candidate, float]]:
        own = Candidate(learned.name, self.metric_kernel, 1.0)
        kernels = self.plan.kernels if learned.metric.ndim == 1 else self._turning
        return [
            (Candidate(learned.name, kernel, similar_gamma(own, kernel, learned.width)), 100.0) for kernel in kernels
        ]

    def _with_metrics(self, whole: View, half: View) -> list[Entry]:
        """The best kernels with a metric, and the first of them with half of it.

        Of many rows, only the first kernel: the sample in which they would be compared is thinner than the rows.
        """
        found = self._in_cells(METRIC, self._starts_in(whole))
        if self.task.n_rows > _MOST_COMPARED:
            return found[:1]
        return found + self._in_cells(METRIC, [(found[0].candidate._replace(view=half.name), found[0].C)])

    def _with_or_without(self, plain: Entry, others: list[Entry]) -> Entry:
        """The best of some, where a metric must be clearly better: it gains most in cells smaller than the last one."""
        rows = np.sort(self.order[:_MOST_COMPARED])
        size = CELL if self.task.n_rows > _ONE_CELL else _LARGE
        found = []
        for each in (plain, *others):
            cells = divided(self.task, self.task.views[each.candidate.view], rows, size)
            found.append(self._round(COMPARED, cells).entry(each))
        return self._metric_or_not(plain, others, found)

    def _metric_or_not(self, plain: Entry, others: list[Entry], found: list[Entry]) -> Entry:
        """The best with a metric where it is clearly better, by what was found for all on the same rows.

        Half of the metric, where all of it is not better by more than chance: it overstates what it found.
        """
        without, *with_metric = found
        pairs = sorted(zip(others, with_metric, strict=True), key=lambda pair: pair[1].rank_key)
        half = next((pair for pair in pairs if pair[0].candidate.view in self.halves), pairs[0])
        if is_better(pairs[0][1], half[1], _LEAD):
            half = pairs[0]
        for each, entry in (half, pairs[0]):
            if is_better(entry, without, _CLEAR):
                return each
        self.notes.append("A learned metric was not taken: on rows that it had not seen it was not clearly better.")
        self.unseen[:] = True
        return plain

    def _gain(self, best: Entry) -> float:
        """The share of squared errors that cells of twice the size save; none where nothing is left to save."""
        if self.task.n_rows <= _ONE_CELL or best.judgment.error <= _NOTHING:
            return 0.0
        every = np.ones(self.task.n_rows, bool)  # a metric that has seen rows has seen them in cells of either size
        members = [self._cells(best.candidate.view, size) for size in (CELL, _LARGE)]
        rounds = [Round(self.task, LARGER, each, every, self.clock, self.tell) for each in members]
        if not self._fits(rounds[1], 2):
            return 0.0
        one, two = (round_.entry(best) for round_ in rounds)
        return 1.0 - two.rank_key / one.rank_key if one.rank_key > 0 else 0.0

    def _global_start(self, best: Entry) -> Start | None:
        if not self.clock.fits(self.clock.seconds_for(CELLS, self.plan.path_work), self._for_fit):
            self.notes.append(NO_TIME_FOR_LOW_RANK)
            return None
        return global_start(best, self.order)

    def _low_rank(self, start: Start) -> tuple[Entry, int]:
        """A low-rank machine at the best of some values of C, and the number of its landmarks at last."""
        task, plan = self.task, self.plan
        fit, path = (min(work, self._left_work / 3.0) for work in (plan.low_rank_work, plan.path_work))
        n_components = plan.n_components or affordable_landmarks(task, task.n_rows, fit)
        n_judges = min(_number_kept_out(task.n_rows), _MOST_JUDGES)
        index = self.order[:_MOST_ROWS]
        unseen = np.zeros(task.n_rows, bool)
        unseen[self.order[:n_judges]] = True
        round_ = Round(task, LOW_RANK, [index], unseen, self.clock, self.tell)
        n_landmarks = min(n_components, affordable_landmarks(task, len(index), path), len(index) - n_judges)
        self.announce(f"comparing values of C of a low-rank machine with {n_landmarks} landmarks")
        found = low_rank_entries(start, round_, n_landmarks, [start.C * factor for factor in _FACTORS])
        for entry in found:
            self.tell(entry)
        best = best_of(found)
        if plan.n_components is None and n_landmarks < n_components and not self._more_landmarks_pay(start, best):
            n_components = n_landmarks
        return best, n_components

    def _more_landmarks_pay(self, start: Start, best: Entry) -> bool:
        """Whether a machine with half of the landmarks has clearly larger squared errors.

        If not, more of them would save nothing, and a machine with all rows as landmarks takes long.
        """
        half, round_ = best.n_components // 2, best.round
        work = fit_work(round_.n_rows, half, self.task.n_outputs)
        if half < 1 or not self.clock.fits(self.clock.seconds_for(WORK_OF_LOW_RANK, work), self._for_fit):
            return True
        (fewer,) = low_rank_entries(start, round_, half, [best.C])
        self.tell(fewer)
        return best.rank_key < (1.0 - _PAYS) * fewer.rank_key

    # --- the last fit ---------------------------------------------------------------------------------------------

    def _structure(self, gain: float) -> tuple[int, int]:
        """The size of cells, and the number of trees: as large as it pays and as there is time for."""
        n_rows, limit = self.task.n_rows, min(self.plan.fit_work, self._left_work)
        most = min(limit * (_WELL if gain >= _PAYS_WELL else 1.0), self._left_work)

        def work(size):
            return cell_work(n_rows, min(size, n_rows))

        size = _USUAL_SIZE if n_rows > _ONE_CELL else _ONE_CELL
        while size > _LEAST_SIZE and (work(size) > self._left_work or not self._has_room(size)):
            size //= 2
        while gain >= _PAYS and size < n_rows and work(2 * size) <= most and self._has_room(2 * size):
            size *= 2
        return size, 1 if size >= n_rows else max(1, min(_MOST_TREES, int(limit / work(size))))

    def _has_room(self, size: int) -> bool:
        machinery, n_features = self.task.machinery, next(iter(self.task.views.values())).width
        return machinery.cell_bytes(min(size, self.task.n_rows), n_features, self.task.n_outputs) <= machinery.memory

    # --- time -----------------------------------------------------------------------------------------------------

    @property
    def _left_work(self) -> float:
        """Work for which there is time."""
        return max(self.clock.left, 0.0) / (_CAUTION * self.clock.ratio(CELLS))

    @property
    def _for_fit(self) -> float:
        """Seconds of a limit of time that are for the last fit."""
        if self.clock.limit is None:
            return 0.0
        return _CAUTION * self.clock.seconds_for(CELLS, cell_work(self.task.n_rows, CELL))

    def _fits(self, round_: Round, n_candidates: int) -> bool:
        return self.clock.fits(n_candidates * round_.seconds_each, self._for_fit)


# --- metrics ----------------------------------------------------------------------------------------------------------


def _number_kept_out(n_rows: int) -> int:
    """How many rows are kept out of the learning, at least."""
    return min(int(_KEPT_OUT * n_rows), _MOST_KEPT_OUT)


def _has_two_values(rows: np.ndarray) -> bool:
    """Whether no feature has more than two values."""
    return bool(((rows == rows.min(axis=0)) | (rows == rows.max(axis=0))).all())


def learned_view(task: Task, view: View, index: np.ndarray, kernel: str) -> View:
    """The view of a metric that is learned from some rows, for a kernel."""
    part = KERNELS[kernel](gamma=1.0)  # type: ignore[call-arg]
    X = view.take(index)
    rows = Rows(
        (X.toarray() if view.is_sparse else X).astype(np.float64),
        standardized(task.targets[:, index].T.astype(np.float64)),
        task.weights[index].astype(np.float64),
    )
    kinds = ("factors", "matrix") if is_of_products(part) and not view.is_sparse else ("factors",)
    arrays, n_threads = task.machinery.arrays, task.machinery.threads.count
    rows = Rows(*(arrays.asarray(each, "float64") for each in tuple(rows)))
    options = {"kinds": kinds, "classes": task.classes, "n_threads": n_threads, "for_landmarks": False}
    found = best_metric(part, rows, task.rng, **options)
    A = np.asarray(found.point.A, np.float64)
    return view._replace(name=f"learned metric ({kernel})", metric=A, base=view.name)
