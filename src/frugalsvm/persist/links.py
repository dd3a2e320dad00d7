"""Numbers in a part that say where something is, or how many: compiled code follows them without a look.

That covers what scoring and learning follow; it does not prove that the numbers in a model are those of a training run.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from frugalsvm.budgeted.strategies import NO_BUDGET
from frugalsvm.core.cache import NONE
from frugalsvm.core.expansion import SLOT_MULTIPLE
from frugalsvm.dual.state import CHUNK, N_MEMBERS
from frugalsvm.dual.state import N_FREE as N_FREE_MEMBERS
from frugalsvm.exact.state import N_FREE, N_MARGIN
from frugalsvm.persist.errors import malformed

__all__ = ["check_links", "policy_fits"]

N_TALLIES = 11
_MANY = 2**62  # beyond every count
_SAME_NORM = {"f4": 1e-3, "f8": 1e-6}  # relative error that squared norms of rows may have


def check_links(name: str, part: Any, sizes: dict[str, Any]) -> None:
    """Check the numbers of a part whose types and shapes are right."""
    right = _CHECKS.get(name, lambda part, sizes: True)(part, sizes)
    if not right:
        raise malformed(f"numbers of {name} are out of range")


def _within(array: Any, limit: int, least: int = -1) -> bool:
    return array.size == 0 or (int(array.min()) >= least and int(array.max()) < limit)


def _distinct(array: Any) -> bool:
    return len(np.unique(array)) == len(array)


def _has_norms(rows: Any, norms: Any) -> bool:
    """Whether numbers are the squared norms of rows: kernels are made of both."""
    with np.errstate(over="ignore"):
        expected = np.square(rows, dtype=np.float64).sum(axis=1)
        error = np.abs(norms - expected)
    return bool((error <= _SAME_NORM[norms.dtype.str[1:]] * expected + 1e-30).all())


def _expansion(part: Any, sizes: dict[str, Any]) -> bool:
    n = int(part.counts[0]["n_slots"])
    if not (_within(part.counts, _MANY, 0) and n <= sizes["s"] and sizes["s"] % SLOT_MULTIPLE == 0):
        return False
    return sizes["c"] in (sizes["o"], 2 * sizes["o"]) and sizes["o"] > 0 and _has_norms(part.rows[:n], part.norms[:n])


def _kernel_rows(part: Any, sizes: dict[str, Any]) -> bool:
    capacity, n_rows, log = sizes["s"], sizes["r"], sizes["l"]
    logged = int(part.state[0]["n_logged"])
    right = log >= capacity and log & (log - 1) == 0 and n_rows > 0 and _within(part.state, _MANY, 0)
    right &= _within(part.place, n_rows) and _within(part.slot, capacity) and _within(part.log, capacity, 0)
    right &= _within(part.stamp, logged + 1) and _within(part.synced, logged + 1)
    if not right:
        return False
    held, placed = np.flatnonzero(part.slot != NONE), np.flatnonzero(part.place != NONE)
    return len(held) == len(placed) and bool((part.place[part.slot[held]] == held).all())


def _dual(part: Any, sizes: dict[str, Any]) -> bool:
    capacity, n, n_free = sizes["s"], int(part.members.counts[0]["n_slots"]), int(part.pool[N_FREE_MEMBERS])
    right = sizes["t"] == N_TALLIES and sizes["w"] == capacity // CHUNK + 1
    right &= _within(part.free, capacity, 0) and 0 <= n_free <= n and -1 <= int(part.pool[1]) < capacity
    right &= _within(part.zone, 3, 0) and sizes["o"] == part.members.coef.shape[0]
    if not right:
        return False
    is_member = part.bound != 0.0
    right = _distinct(part.free[:n_free]) and _within(part.free[:n_free], max(n, 1), 0) and not is_member[:, n:].any()
    # Random members are drawn until one is found, and free slots are taken without a look.
    right &= not is_member[:, part.free[:n_free]].any() and bool(np.isin(part.truth, (-1.0, 0.0, 1.0)).all())
    return bool(right) and bool((part.tallies[:, N_MEMBERS] == is_member.sum(axis=1)).all())


def _exact(part: Any, sizes: dict[str, Any]) -> bool:
    n, n_margin, n_free = int(part.points.counts[0]["n_slots"]), int(part.counts[N_MARGIN]), int(part.counts[N_FREE])
    room, margin, free = sizes["m"], part.margin[: max(n_margin, 0)], part.free[: max(n_free, 0)]
    right = 0 <= n_margin <= room and 0 <= n_free <= n and _within(part.zone, 5, 0) and part.points.coef.shape[0] == 1
    right &= _within(part.counts, _MANY, 0) and _within(part.place, room) and _within(part.free, sizes["s"], 0)
    right &= _within(part.margin, sizes["s"]) and _within(margin, n, 0) and _within(free, n, 0) and _distinct(free)
    if not right or not (part.place[margin] == np.arange(n_margin)).all():
        return False
    # The factor is divided by its diagonal.
    return int((part.place >= 0).sum()) == n_margin and bool((np.diag(part.R)[:n_margin] != 0.0).all())


def _twins(part: Any, sizes: dict[str, Any]) -> bool:
    return _within(part.partner, sizes["s"]) and _within(part.side, 2) and _within(part.tallies, _MANY, 0)


def _tracking(part: Any, sizes: dict[str, Any]) -> bool:
    return sizes["k"] == part.n_steps and _within(part.moved, _MANY) and int(part.rng[0]) != 0


def _nystroem(part: Any, sizes: dict[str, Any]) -> bool:
    return (part.whitening is None) == (part.eigenvalues is None) and _has_norms(part.landmarks, part.norms)


def _structured(part: Any, sizes: dict[str, Any]) -> bool:
    p, sizes["f"] = sizes["p"], part.n_features
    return sizes["d"] <= sizes["b"] * p and p & (p - 1) == 0 and part.n_features <= p


def _steps(part: Any, sizes: dict[str, Any]) -> bool:
    return _within(part.clock, _MANY + 2, 0) and _within(part.averaging, _MANY + 2, 0)


def _covers(letter: str) -> Callable[[Any, dict[str, Any]], bool]:
    """Whether the first number of a state counts some of what there is room for."""
    return lambda part, sizes: _within(part.state, _MANY, 0) and int(part.state[0]) <= sizes[letter]


def _neighbours(part: Any, sizes: dict[str, Any]) -> bool:
    return _covers("s")(part, sizes) and _within(part.slot, sizes["s"])


def _origin(part: Any, sizes: dict[str, Any]) -> bool:
    """Far rows have a sum that goes with their number and their squares."""
    with np.errstate(over="ignore"):
        squared_sum = float(part.far_sum @ part.far_sum)
    return squared_sum <= 1.001 * part.n_far * part.far_squares


def _range_watch(part: Any, sizes: dict[str, Any]) -> bool:
    counts = (part.n_beyond, part.n_blocks, part.n_renewals)
    right = _within(part.suspects, sizes["f"], 0) and _within(part.n_rows, sizes["b"] + 1, 0)
    return right and all(_within(each, _MANY, 0) for each in counts)


def policy_fits(policy: Any, expansion: Any) -> bool:
    """Whether there is room, in a store and in its budget policy, for the support vectors that may come."""
    capacity, n = expansion.rows.shape[0], int(expansion.counts[0]["n_slots"])
    budget, span = getattr(policy, "budget", _MANY), getattr(policy, "span", None)
    grows = not hasattr(policy, "budget") or (budget == NO_BUDGET and hasattr(policy, "with_room"))
    if not grows and not n <= budget < capacity:
        return False
    return span is None or span.column.size >= min(capacity, budget + 1)


_CHECKS: dict[str, Callable[[Any, dict[str, Any]], bool]] = {
    "core.expansion.Expansion": _expansion,
    "core.cache.KernelRows": _kernel_rows,
    "core.origin.Origin": _origin,
    "dual.state.Dual": _dual,
    "dual.tracking.Tracking": _tracking,
    "exact.state.Exact": _exact,
    "exact.twins.Twins": _twins,
    "asset.nystroem.Nystroem": _nystroem,
    "asset.fourier.StructuredFourier": _structured,
    "asset.subgradient.SubgradientState": _steps,
    "budgeted.projection.Span": _covers("p"),
    "budgeted.self_scored.SelfScores": _covers("s"),
    "budgeted.neighbours.Neighbours": _neighbours,
    "budgeted.perceptrons.RemoveRandom": lambda part, sizes: int(part.rng[0]) != 0,
    "pipelines.watching.RangeWatch": _range_watch,
    "estimators._machines.Machine": lambda part, sizes: policy_fits(part.parts.policy, part.expansion),
    "estimators._predictor.Predictor": lambda part, sizes: _has_norms(part.rows, part.norms),
}
