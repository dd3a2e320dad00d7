"""`warm_up`: the tasks, in an order that keeps all cores busy and has nothing compiled twice."""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from frugalsvm.compiling.threads import thread_count
from frugalsvm.exceptions import ParameterError
from frugalsvm.warming.recipes import RECIPES, SHARED, Recipe
from frugalsvm.warming.workers import Outcome, Task, Workers

DTYPES = ("float64", "float32")


class Warmed(NamedTuple):
    """What was done for one algorithm."""

    name: str
    n_compiled: int
    seconds: float  # over all processes


class WarmUp(NamedTuple):
    """What `warm_up` did."""

    algorithms: tuple[Warmed, ...]
    seconds: float
    folder: str | None

    @property
    def n_compiled(self) -> int:
        return sum(each.n_compiled for each in self.algorithms)


def warm_up(
    algorithms: str | Iterable[str] | None = None,
    *,
    dtypes: str | Iterable[str] = DTYPES,
    sparse: bool = False,
    n_jobs: int | None = -1,
    on_done: Callable[[Warmed], Any] | None = None,
) -> WarmUp:
    """Compile the machine code that first fits and predictions need, and keep it on disk.

    Code for two and for more classes is made, with the default kernel and strategy of each estimator. What is on disk
    already is not compiled again.

    Parameters
    ----------
    algorithms : str or list of str, default=None
        Names of algorithms (``"bsgd"``; see ``frugalsvm.warming.RECIPES``) or of classes (``"BSGDClassifier"``);
        None is all of them.
    dtypes : str or list of str, default=("float64", "float32")
        Types of the rows.
    sparse : bool, default=False
        Whether code for sparse rows (CSR) is made as well.
    n_jobs : int, default=-1
        Number of processes; -1 is one for each core.
    on_done : callable, default=None
        Called with a `Warmed` whenever an algorithm is done.

    Returns
    -------
    WarmUp
        Its fields are what was done for each of the ``algorithms``, the ``seconds`` that all of it took, and the
        ``folder`` that has the machine code (None where Numba finds no folder that it can write); its property
        ``n_compiled`` is the number of functions that were not there.

    Raises
    ------
    RuntimeError
        If something could not be compiled or run.

    Notes
    -----
    Numba keeps machine code in ``NUMBA_CACHE_DIR`` if that is set, otherwise beside the sources of the package, and
    where those cannot be written, in the user's cache folder. Code is made for the processor at hand: warm up on the
    kind of machine that will use it.
    """
    start = time.perf_counter()
    waves = _waves(_chosen(algorithms), _checked_dtypes(dtypes), sparse=sparse)
    n_workers = min(thread_count(n_jobs), max(map(len, waves), default=1))
    with Workers(n_workers) as workers:
        outcomes = _told((outcome for wave in waves for outcome in workers.outcomes_of(wave)), waves, on_done)
    done = tuple(_summary(name, outcomes[name]) for name in outcomes)
    folders = {outcome.folder for each in outcomes.values() for outcome in each}
    return WarmUp(done, time.perf_counter() - start, folders.pop() if len(folders) == 1 else None)


def _chosen(algorithms: str | Iterable[str] | None) -> dict[str, Recipe]:
    """The recipes of these names."""
    if algorithms is None:
        return RECIPES
    wanted = [algorithms] if isinstance(algorithms, str) else list(algorithms)
    known = {*RECIPES, *(recipe.estimator for recipe in RECIPES.values() if recipe.estimator)}
    for name in wanted:
        if name not in known:
            raise ParameterError("algorithms", name, f"names among {', '.join(RECIPES)}, or those of their classes")
    return {name: recipe for name, recipe in RECIPES.items() if {name, recipe.estimator} & set(wanted)}


def _checked_dtypes(dtypes: str | Iterable[str]) -> list[str]:
    wanted = [dtypes] if isinstance(dtypes, str) else list(dtypes)
    for dtype in wanted:
        if dtype not in DTYPES:
            raise ParameterError("dtypes", dtype, "'float64', 'float32' or both")
    return wanted


def _waves(chosen: dict[str, Recipe], dtypes: Sequence[str], *, sparse: bool) -> list[list[list[Task]]]:
    """Groups of tasks, first those that others need, then the others, both beginning with the longest."""
    needed = {recipe.needs for recipe in chosen.values()}
    shared = {name: recipe for name, recipe in SHARED.items() if name in needed}
    waves = [_groups(recipes, dtypes, sparse=sparse) for recipes in (shared, chosen)]
    return [wave for wave in waves if wave]


def _groups(recipes: dict[str, Recipe], dtypes: Sequence[str], *, sparse: bool) -> list[list[Task]]:
    """Tasks for one process each: those that share functions with each other, and types with those functions."""
    groups: defaultdict[Any, list[Task]] = defaultdict(list)
    seconds: Counter = Counter()
    for name, recipe in recipes.items():
        for kind in recipe.kinds:
            if kind.dtype in dtypes and (sparse or not kind.is_sparse):
                group = (recipe.family or name, kind.dtype if recipe.is_by_dtype else None)
                groups[group].append(Task(name, kind))
                seconds[group] += recipe.seconds
    return [groups[group] for group, _ in seconds.most_common()]


def _told(
    outcomes: Iterator[Outcome], waves: list[list[list[Task]]], on_done: Callable[[Warmed], Any] | None
) -> dict[str, list[Outcome]]:
    """All outcomes by name, once they have come; each name is told of when it is complete."""
    n_left = Counter(task.name for wave in waves for group in wave for task in group)
    come: defaultdict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        if outcome.error is not None:
            raise RuntimeError(f"{outcome.name} could not be compiled: {outcome.error}")
        come[outcome.name].append(outcome)
        n_left[outcome.name] -= 1
        if not n_left[outcome.name] and on_done is not None:
            on_done(_summary(outcome.name, come[outcome.name]))
    return come


def _summary(name: str, outcomes: Sequence[Outcome]) -> Warmed:
    return Warmed(name, sum(each.n_compiled for each in outcomes), sum(each.seconds for each in outcomes))
