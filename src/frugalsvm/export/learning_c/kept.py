"""What a state has besides support vectors: of policies and losses, and of what is around the estimator."""

import struct
from collections.abc import Iterator
from typing import Any

import numpy as np

from frugalsvm.budgeted.perceptrons import Forget, RemoveRandom
from frugalsvm.core.records import as_numbers
from frugalsvm.export.learning_c.around import Following, Scaling
from frugalsvm.export.learning_c.plan import Plan

LARGEST_COUNT = 2**62
_WINDOW_COUNTS, _WINDOW_SCALARS = ("n_scores", "n_looks"), ("threshold", "offset", "due")
_TAKEN_COUNTS, _TAKEN_SCALARS = ("n_scores", "n_rows", "n_misses"), ("due", "threshold")


class Reader:
    """Reads one number or array after the other."""

    def __init__(self, data: bytes):
        self._data, self._position = data, 0

    def bits(self, form: str) -> Any:
        return self.several(form)[0]

    def several(self, form: str) -> tuple[Any, ...]:
        found = struct.unpack_from(form, self._data, self._position)
        self._position += struct.calcsize(form)
        return found

    def count(self, most: int) -> int:
        value = self.bits("<Q")
        if value > most:
            raise ValueError(f"a count is {value}, above {most}")
        return value

    def array(self, n: int, dtype: Any = "<f8") -> np.ndarray:
        values = np.frombuffer(self._data, dtype, n, self._position)
        self._position += values.nbytes
        if not np.isfinite(values).all():
            raise ValueError("a number is not finite")
        return values

    def end(self) -> None:
        if self._position != len(self._data):
            raise ValueError("it is longer than it should be")


# --- writing ----------------------------------------------------------------------------------------------------


def kept_of(plan: Plan) -> Iterator[bytes]:
    """All of it, in the order in which C has it."""
    policy = plan.learner.parts.policy
    span = getattr(policy, "span", None)
    if span is not None:
        n_covered, n_changes = as_numbers(span.state)[0].tolist()
        yield struct.pack("<2Q", n_covered, n_changes)
        yield span.inverse[:n_covered, :n_covered].astype("<f8").tobytes()
    if isinstance(policy, RemoveRandom):
        yield struct.pack("<Q", int(policy.rng[0]))
    if isinstance(policy, Forget):
        yield struct.pack("<d", policy.spoiled[0])
    if plan.window is not None:
        window = plan.window
        yield from _scores_of(window.counts, window.scalars, _WINDOW_COUNTS, _WINDOW_SCALARS, window.scores)
    if plan.experts is not None:
        yield as_numbers(plan.experts.counts).astype("<u8").tobytes()
        yield as_numbers(plan.experts.standing).astype("<f8").tobytes()
    if plan.following is not None:
        yield from _following(plan.scaling, plan.following)
    if plan.conformal is not None:
        taken = plan.conformal.reservoir
        yield from _scores_of(taken.counts, taken.scalars, _TAKEN_COUNTS, _TAKEN_SCALARS, taken.ring)


def _scores_of(counts, scalars, count_names, scalar_names, ring):
    """The latest scores, and what was made of them."""
    yield struct.pack(f"<{len(count_names)}Q", *(int(counts[0][each]) for each in count_names))
    yield struct.pack(f"<{len(scalar_names)}d", *(float(scalars[0][each]) for each in scalar_names))
    yield ring[: int(counts[0]["n_scores"])].astype("<f8").tobytes()


def _following(scaling, following):
    yield struct.pack("<Q", following.n_rows)
    columns = (scaling.center, scaling.scale, scaling.limit, following.n_blocks, following.constant)
    for center, scale, limit, n_blocks, constant, mean, squares in zip(
        *columns, following.mean, following.squares, strict=True
    ):
        yield struct.pack("<3d2Q2d", center, scale, limit, int(n_blocks), int(constant), mean, squares)


# --- reading ----------------------------------------------------------------------------------------------------


def read_kept(plan: Plan, reader: Reader) -> tuple[Scaling, Following] | None:
    """Write it into the arrays of a model, but for statistics that have followed the stream, which are returned."""
    policy, follows = plan.learner.parts.policy, None
    span = getattr(policy, "span", None)
    if span is not None:
        n_covered, n_changes = reader.count(plan.budget + 1), reader.count(LARGEST_COUNT)
        as_numbers(span.state)[0] = n_covered, n_changes
        span.inverse[:n_covered, :n_covered] = reader.array(n_covered**2).reshape(n_covered, n_covered)
    if isinstance(policy, RemoveRandom):
        policy.rng[0] = reader.bits("<Q")
        if policy.rng[0] == 0:
            raise ValueError("its random generator is zero")
    if isinstance(policy, Forget):
        policy.spoiled[0] = reader.array(1)[0]
    if plan.window is not None:
        window = plan.window
        _read_scores(reader, window.counts, window.scalars, _WINDOW_COUNTS, _WINDOW_SCALARS, window.scores)
        if window.counts[0]["n_looks"] > window.counts[0]["n_scores"]:
            raise ValueError("it has looked at more scores than there were")
    if plan.experts is not None:
        as_numbers(plan.experts.counts)[0] = reader.count(LARGEST_COUNT), reader.count(LARGEST_COUNT)
        standing = as_numbers(plan.experts.standing)
        standing[:] = reader.array(standing.size).reshape(standing.shape)
        if not plan.experts.is_sound({"v": plan.n_scores, "k": len(standing)}):
            raise ValueError("its experts are not what they should be")
    if plan.following is not None:
        follows = _read_following(plan, reader)
    if plan.conformal is not None:
        taken = plan.conformal.reservoir
        known = _read_scores(reader, taken.counts, taken.scalars, _TAKEN_COUNTS, _TAKEN_SCALARS, taken.ring)
        taken.ranked[:known] = np.sort(taken.ring[:known], kind="stable")
        if not taken.is_sound({"w": len(taken.ring)}):
            raise ValueError("its conformal scores are not what they should be")
    return follows


def _read_scores(reader, counts, scalars, count_names, scalar_names, ring):
    for name in count_names:
        counts[0][name] = reader.count(LARGEST_COUNT)
    for name, value in zip(scalar_names, reader.array(len(scalar_names)), strict=True):
        scalars[0][name] = value
    known = min(int(counts[0]["n_scores"]), len(ring))
    ring[:known] = reader.array(known)
    return known


def _read_following(plan, reader):
    n_rows = reader.count(plan.following.block_rows - 1)
    numbers: Any = [[] for _ in range(7)]
    for _ in range(plan.n_features):
        own = (*reader.array(3), reader.count(LARGEST_COUNT), reader.count(1), *reader.array(2))
        for column, value in zip(numbers, own, strict=True):
            column.append(value)
    center, scale, limit, n_blocks, constant, mean, squares = map(np.array, numbers)
    if not ((scale > 0).all() and (limit > 0).all() and (squares >= 0).all()):
        raise ValueError("a scale is not positive")
    following = plan.following._replace(
        n_rows=n_rows, n_blocks=n_blocks, constant=constant.astype(bool), mean=mean, squares=squares
    )
    return plan.scaling._replace(center=center, scale=scale, limit=limit), following
