"""The search: heats of ridge machines for kernels and widths, a learned metric, then values of C for the best of them.

1. All kernels, uphill on a grid of widths: few rows, few landmarks, ridge machines.
2. The best kernels again with more rows and landmarks, for which they may be narrower.
3. A metric, judged by rows that it has not seen, beside the best of these.
4. The best two along a path of C, cross-validated with the loss that the machine will have. Their out-of-fold scores
   are what probabilities are calibrated on.

A limit of time is looked at before each candidate: what it will take, and what the fit on all rows will take after it.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.sparse import issparse

from frugalsvm.core.blocks import is_of_products
from frugalsvm.core.capabilities import offers
from frugalsvm.core.kernels import KERNELS
from frugalsvm.metric_learning.race import number_of_judges
from frugalsvm.selection.heats import (
    NEXT,
    RIDGE,
    SOLVED,
    Entry,
    Heat,
    Task,
    best_of,
    best_widths,
    in_order,
    is_better,
    median_width,
    new_heat,
    path_work,
    solved_entries,
)
from frugalsvm.selection.metrics import METRIC, learned_view, metric_entries
from frugalsvm.selection.sampling import random_order, sampled
from frugalsvm.selection.work import Clock, fit_work, largest_within

__all__ = ["Found", "Plan", "search"]

SIZES = (64, 128, 256, 512, 1024, 2048, 4096, 8192)  # of landmarks
_FACTORS = (1 / 4, 1.0, 4.0)  # of C, around what ridge machines want
# Standard errors: that a metric must be better by, that end a comparison, and that end it in the first heat
_LEAD, _NO_DOUBT, _FAR = 1.0, 2.0, 3.0
_FEW_ROWS = 500  # no metric is learned from fewer
_MANY_FEATURES = 1000  # nor for more
_USUAL_ROWS = 20_000
_LEAST_LANDMARKS = 512  # whatever the memory: kernel values that do not fit are computed again in every pass
_USUAL_SECONDS = 60.0  # that a search takes without a limit, about
_RACE_WORK = 12.0  # of learning a metric, in seconds of a usual core
_LEAST_WIDTHS = 3  # of a kernel: with time for fewer, it is left out
_CAUTION = 1.25  # times as long as estimated may be what it takes
_FOR_PATHS, _FOR_FIT = 0.2, 0.3  # shares of a limit of time


class Plan(NamedTuple):
    """Sizes of heats, and the work of the last ones, in seconds of a usual core."""

    kernels: tuple[str, ...]
    first: tuple[int, int] = (4096, 512)  # rows and landmarks
    second: tuple[int, int] = (8192, 1024)
    n_seconds: int = 3  # candidates in the second heat
    n_finalists: int = 2
    n_folds: int = 3
    path_work: float = 12.0  # of each finalist
    fit_work: float = 32.0  # of the last fit to 20 000 rows or fewer; more rows take longer
    n_components: int | None = None  # of the last fit
    learns_metric: bool = True

    def times(self, factor: float) -> "Plan":
        """The same for a device that is so many times as fast."""
        return self._replace(path_work=factor * self.path_work, fit_work=factor * self.fit_work)

    def within(self, seconds: float) -> "Plan":
        """A plan for so many seconds: more time is for more work, less time for smaller heats, too."""
        halvings = max(0, round(np.log2(_USUAL_SECONDS / seconds) / 2))
        first, second = (tuple(max(256, size >> halvings) for size in sizes) for sizes in (self.first, self.second))
        return self._replace(first=first, second=second, fit_work=_FOR_FIT * seconds)


class Found(NamedTuple):
    """What came of a search."""

    best: Entry
    n_components: int
    gamma: float  # for so many components
    learned_from: np.ndarray | None  # rows that the metric of the best was learned from
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
        growth = max(1.0, task.n_rows / _USUAL_ROWS) ** 0.5 if clock.limit is None else 1.0
        self.n_components = plan.n_components or self._affordable(task.n_rows, growth * plan.fit_work)
        self.learned_from, self.reserved = None, _FOR_PATHS + _FOR_FIT

    def run(self) -> Found:
        finalists = self._second_heat(self._first_heat())
        finalists = self._with_metric(finalists)
        best = self._final(finalists)
        self._fill_time()
        ratio = self.n_components / best.heat.n_landmarks
        gamma = best.candidate.narrower(np.sqrt(max(ratio, 1.0))).gamma
        seconds = self.clock.seconds_for(SOLVED, fit_work(self.task.n_rows, self.n_components, self.task.n_outputs))
        self.announce(f"fitting the best to all {self.task.n_rows} rows, which takes about {seconds:.0f} s")
        learned_from = self.learned_from if best.candidate.view.startswith(METRIC) else None
        return Found(best, self.n_components, gamma, learned_from, tuple(self.notes))

    # --- sizes ----------------------------------------------------------------------------------------------------

    def _affordable(self, n_rows, work):
        """The number of landmarks that so much work and the memory allow."""
        room = max(_LEAST_LANDMARKS, self.task.machinery.memory // (4 * n_rows))
        sizes = tuple(size for size in SIZES if size <= min(n_rows, room)) or (n_rows,)
        if sizes[-1] < n_rows <= min(2 * sizes[-1], room, SIZES[-1]):
            sizes = (*sizes, n_rows)
        return largest_within(sizes, lambda size: fit_work(n_rows, size, self.task.n_outputs), work)

    def _fill_time(self):
        """Within a limit of time, as many landmarks as there is time for now that it is known how long fits take."""
        if self.plan.n_components is None and self.clock.limit is not None:
            work = max(self.clock.left, 0.0) / (_CAUTION * self.clock.ratio(SOLVED))
            self.n_components = self._affordable(self.task.n_rows, work)

    @property
    def _reserve(self):
        """Seconds of a limit of time that are for later: for paths of C, and for the last fit."""
        return 0.0 if self.clock.limit is None else self.reserved * self.clock.limit

    def _rows(self, n_rows):
        return sampled(self.order, self.task.labels, n_rows)

    def _heat(self, sizes, number):
        return new_heat(self.task, self._rows(sizes[0]), self.plan.n_folds, sizes[1], number, self.clock, self.tell)

    # --- heats ----------------------------------------------------------------------------------------------------

    def _first_heat(self) -> list[Entry]:
        """The best width of each kernel; the view of rows is that which the first kernel prefers."""
        heat, (first, *others) = self._heat(self.plan.first, 1), self.plan.kernels
        starts = [median_width(heat, view, first) for view in self.task.views]
        found = [best_of(entries) for entries in best_widths(heat, starts, self._reserve)]
        view = best_of(found).candidate.view
        if issparse(self.task.views[view].X):
            others = [kernel for kernel in others if offers(KERNELS[kernel], "products")]
        starts = [median_width(heat, view, kernel) for kernel in others]
        for kernel, entries in zip(others, best_widths(heat, starts, self._reserve, _LEAST_WIDTHS), strict=True):
            if entries:
                found.append(best_of(entries))
            else:
                self.notes.append(f"There was no time for the kernel {kernel!r}.")
        return in_order(found)

    def _second_heat(self, entries) -> list[Entry]:
        """The best again, with more rows and landmarks where there are more; then the kernel may be narrower."""
        heat = self._heat(self.plan.second, 2)
        if len(heat.index) == len(entries[0].heat.index) and heat.n_landmarks == entries[0].heat.n_landmarks:
            return entries
        close = [entry for entry in entries if not is_better(entries[0], entry, _FAR)]

        def tried(entry):
            if not self.clock.fits(2 * heat.ridge_seconds, self._reserve):
                return []
            both = entry.candidate, entry.candidate.narrower(2.0)
            return [heat.ridge_entry(each, entry.next_ridges) for each in both]

        every = heat.side_by_side(tried, close[: self.plan.n_seconds])
        if not all(every):
            self.notes.append("There was no time to compare all kernels on more rows.")
        return in_order([best_of(found) for found in every if found]) or entries

    def _with_metric(self, entries) -> list[Entry]:
        """The best of the plain candidates, or a metric if it is better on rows that it has not seen."""
        task, view = self.task, self.task.views[entries[0].candidate.view]
        wanted = self.plan.learns_metric and task.n_rows >= _FEW_ROWS and view.X.shape[1] <= _MANY_FEATURES
        if not wanted or view.X.shape[1] < 2:
            return entries
        if not self.clock.fits(self.clock.seconds_for(RIDGE, _RACE_WORK), self._reserve):
            self.notes.append("There was no time to learn a metric.")
            return entries
        n_judges = number_of_judges(task.n_rows)
        judges, others = self.order[:n_judges], self.order[n_judges:]
        n_rows, n_landmarks = self.plan.second
        index = np.concatenate([others[:n_rows], judges])
        folds = np.where(np.arange(len(index)) < len(index) - n_judges, -1, 0)
        heat = Heat(task, index, folds, min(n_landmarks, len(index) - n_judges), 3, self.clock, self.tell)
        turning = [kernel for kernel in self.plan.kernels if is_of_products(KERNELS[kernel](gamma=1.0))]
        own = "rbf" if turning else self.plan.kernels[0]
        seconds = self.clock.seconds_for(RIDGE, _RACE_WORK)
        self.announce(f"learning a metric, which takes about {seconds:.0f} s")
        try:
            learned = learned_view(task, view, others, own)
        except np.linalg.LinAlgError:
            self.notes.append("A metric could not be learned: these rows have no kernel machines to learn it with.")
            return entries
        task.views[learned.name] = learned
        # Sums over features have no directions, but factors.
        kernels = self.plan.kernels if learned.metric.ndim == 1 else turning
        plain = best_of(
            heat.all_entries(lambda each: [heat.ridge_entry(each.candidate, each.next_ridges)], entries[:2])
        )
        found = best_of(metric_entries(heat, learned.name, own, kernels, self._reserve))
        if not is_better(found, plain, _LEAD):
            self.notes.append("A learned metric was not taken: on rows that it had not seen it was not clearly better.")
            return entries
        self.learned_from = others
        return [found, plain]

    # --- the last heat --------------------------------------------------------------------------------------------

    def _final(self, entries) -> Entry:
        """The best of the finalists along a path of C: of two, unless there is no doubt which is better."""
        heat, self.reserved = self._final_heat(), _FOR_FIT
        seconds = self.clock.seconds_for(SOLVED, path_work(heat, len(_FACTORS)))
        self.announce(f"comparing values of C on {len(heat.index)} rows, which takes about {seconds:.0f} s each time")
        first, *others = entries
        rivals = [entry for entry in others if entry.heat is first.heat and not is_better(first, entry, _NO_DOUBT)]
        finalists = [first, *rivals[: self.plan.n_finalists - 1]]
        paths = list(zip(finalists, self.task.rng.spawn(len(finalists)), strict=True))
        # Within a limit of time, the first tells whether there is time for the second.
        n_first = len(paths) if self.clock.limit is None else 1

        def along(some):
            return heat.all_entries(lambda path: self._path(heat, *path), some)

        found = along(paths[:n_first])
        for path in paths[n_first:]:
            seconds = self.clock.seconds_for(SOLVED, path_work(heat, len(_FACTORS)))
            if not self.clock.fits(seconds, self._reserve):
                self.notes.append("There was no time for a path of C of the second best.")
                break
            found += along([path])
        return best_of(found)

    def _path(self, heat, entry, rng) -> list[Entry]:
        """Values of C around what ridge machines want, and one more where the best is at an end."""
        ratio = heat.n_landmarks / entry.heat.n_landmarks
        candidate = entry.candidate.narrower(np.sqrt(max(ratio, 1.0)))
        path = [entry.C * factor for factor in _FACTORS]
        found = solved_entries(heat, candidate, path, rng)
        best = best_of(found).C
        if best in (path[0], path[-1]):
            further = best * (_FACTORS[0] if best == path[0] else _FACTORS[-1])
            if self.clock.fits(self.clock.seconds_for(SOLVED, path_work(heat, 1)), self._reserve):
                found += solved_entries(heat, candidate, [further], rng)
        return found

    def _final_heat(self) -> Heat:
        """As many landmarks as the last fit has, or as many as there is work for, and likewise rows."""
        plan, task = self.plan, self.task
        work = plan.path_work
        if self.clock.limit is not None:
            seconds = min(_FOR_PATHS * self.clock.limit, max(self.clock.left, 0.0) - _FOR_FIT * self.clock.limit)
            work = seconds / (_CAUTION * self.clock.ratio(SOLVED))
        per_fit = work / (plan.n_folds * (1 + NEXT * (len(_FACTORS) - 1)))
        n_rows = min(task.n_rows, 2**14)
        n_landmarks = min(self._affordable(n_rows, per_fit), self.n_components)
        while n_rows > 2048 and n_landmarks < min(512, self.n_components):
            n_rows //= 2
            n_landmarks = min(self._affordable(n_rows, per_fit), self.n_components)
        return self._heat((n_rows, n_landmarks), 4)
