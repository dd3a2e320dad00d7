"""States of learners as bytes: what ``<name>_save`` writes on a device, and ``<name>_load`` reads there.

All numbers have their least significant byte first. In this order:

================================== ===================================================================================
FSVM, version, digest              4 bytes each, and 8 that tell the model: its kernel, sizes, classes, scaling, ...
scale, error_sum                   doubles
n_seen, n_updates, n_maintenance,
n_kernel_values, n_slots           8 bytes each
for each slot in use               row and norm (float or double), coefficients and size (doubles), birth (8 bytes)
what the policy and the loss keep  the inverse of projections, a random generator, a window of scores, experts
what is around the estimator       statistics of the features, if they follow the stream; scores of a conformal model
checksum                           CRC-32, 4 bytes
================================== ===================================================================================

The size of a context in RAM is `context_bytes`, that of the largest state `state_bytes`.
"""

import copy
import hashlib
import os
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from frugalsvm.budgeted.perceptrons import Forget, RemoveRandom
from frugalsvm.estimators.unchanged import prepare_to_learn
from frugalsvm.export.learning_c.around import Following, Scaling, follow, learner_of, pipeline_of
from frugalsvm.export.learning_c.kept import LARGEST_COUNT, Reader, kept_of, read_kept
from frugalsvm.export.learning_c.plan import Plan, plan_of
from frugalsvm.export.models import checked_dtype
from frugalsvm.persist.archive import ModelFileError
from frugalsvm.persist.savable import check_object

MAGIC, VERSION = b"FSVM", 1
_COUNTS = ("n_seen", "n_updates", "n_maintenance", "n_kernel_evals")
_DTYPES = (np.dtype(np.float32), np.dtype(np.float64))


def write_state(model: Any, *, dtype="float32") -> bytes:
    """The state of a model, for ``<name>_load`` of the learner that `to_c` made of it.

    Parameters
    ----------
    model : estimator or StreamPipeline
        A fitted model that `to_c` takes with ``learn=True``.
    dtype : {"float32", "float64"}, default="float32"
        That of the exported learner.

    Returns
    -------
    bytes
    """
    known = checked_dtype(dtype)
    return bytes_of(plan_of(model, known), known)


def read_state(model: Any, state: bytes | str | os.PathLike[str]) -> Any:
    """The model that a device has made of an exported one, to predict and to learn more in Python.

    Parameters
    ----------
    model : estimator or StreamPipeline
        The model that was exported by ``to_c(model, folder, learn=True)``, which stays as it is.
    state : bytes or path-like
        What ``<name>_save`` has written, or a file with it.

    Returns
    -------
    estimator or StreamPipeline
        A copy that has learned what the device has learned.

    Raises
    ------
    ModelFileError
        If the bytes are not a state of this model, or are damaged.

    Examples
    --------
    >>> from frugalsvm import BSGDClassifier
    >>> from frugalsvm.datasets import make_checkerboard
    >>> from frugalsvm.export import read_state, write_state
    >>> X, y = make_checkerboard(1000, random_state=0)
    >>> model = BSGDClassifier(budget=20, gamma=8.0, random_state=0).fit(X, y)
    >>> state = write_state(model, dtype="float64")  # in the place of a device
    >>> len(state), read_state(model, state).t_
    (1036, 1000)
    """
    data = state if isinstance(state, bytes) else Path(state).read_bytes()
    reader = Reader(_checked(data))
    digest = reader.bits("<Q")
    dtype = next((each for each in _DTYPES if digest_of(plan_of(model, each), each) == digest), None)
    if dtype is None:
        raise ModelFileError("The state is that of another model: pass the one that was exported.")
    made = copy.deepcopy(model)
    objects = {id(each): each for each in (made, learner_of(made))}.values()
    for each in objects:
        prepare_to_learn(each)
    try:
        follows = _read_into(plan_of(made, dtype), reader, dtype)
    except (struct.error, IndexError, ValueError) as error:
        raise ModelFileError(f"The state is damaged: {error}.") from error
    if follows is not None:
        follow(pipeline_of(made).scaler_, *follows)
    try:
        for each in objects:
            check_object(each)
    except ModelFileError as error:
        raise ModelFileError("The state is damaged: its numbers do not make a model.") from error
    return made


def _checked(data: bytes) -> bytes:
    """What is between the version and the checksum."""
    if len(data) < 20 or data[:4] != MAGIC:
        raise ModelFileError("The bytes are not a state of a learner in C: they do not begin with FSVM.")
    if zlib.crc32(data[:-4]) != struct.unpack("<I", data[-4:])[0]:
        raise ModelFileError("The state is damaged: its checksum does not match.")
    version = struct.unpack("<I", data[4:8])[0]
    if version != VERSION:
        raise ModelFileError(f"The state has version {version}, and this frugalsvm reads version {VERSION}.")
    return data[8:-4]


# --- what a state is of -----------------------------------------------------------------------------------------


def digest_of(plan: Plan, dtype: np.dtype) -> int:
    """64 bits that tell a model, apart from what it learns, from others."""
    parts = plan.learner.parts
    numbers: list[Any] = [dtype.str, plan.n_features, plan.n_outputs, plan.kind, plan.nu, plan.rate]
    for part in (parts.kernel, parts.schedule, parts.policy):
        own: dict[str, Any] = {key: value for key, value in part._asdict().items() if np.isscalar(value)}
        numbers.append((type(part).__name__, sorted((key, float(value)) for key, value in own.items())))
    if plan.scaling is not None and plan.scaling.is_soft:
        numbers.append("soft")
    digest = hashlib.blake2b(repr(numbers).encode(), digest_size=8)
    arrays = [plan.class_weights, plan.quantile_order, plan.filling, plan.origin]
    arrays += [None if plan.window is None else np.array([len(plan.window.scores)])]
    if plan.following is not None:
        arrays += [np.array(plan.following[:3])]
    else:
        arrays += [None] * 3 if plan.scaling is None else list(plan.scaling[:3])
    arrays += [None] * 2 if plan.targets is None else list(plan.targets)
    if plan.conformal is not None:
        arrays += [np.array([*plan.conformal.promise, plan.conformal.window])]
    loss: tuple[Any, ...] = () if plan.kind == "nothing" else parts.loss
    if plan.experts is not None:
        loss = (plan.experts.strengths, plan.experts.clocks)
    for array in (*arrays, *map(np.atleast_1d, loss)):
        digest.update(b"-" if array is None else np.asarray(array, np.float64).tobytes())
    digest.update(repr(None if plan.classes is None else plan.classes.tolist()).encode())
    return int.from_bytes(digest.digest(), "little")


def _span(plan: Plan) -> Any:
    return getattr(plan.learner.parts.policy, "span", None)


def context_bytes(plan: Plan, dtype: np.dtype) -> int:
    """The size of a context: ``sizeof(<name>_context)``."""
    slots, d, n_outputs, real = plan.budget + 1, plan.n_features, plan.n_outputs, dtype.itemsize
    size = 48 + 8 * (n_outputs + 2) * slots + 16 * n_outputs
    size += real * (slots * d + 2 * slots + d)
    size += 4 * n_outputs * slots if real == 4 else 0
    size += 16 + 8 * slots * (slots + 2) if _span(plan) is not None else 0
    size += 8 if isinstance(plan.learner.parts.policy, RemoveRandom | Forget) else 0
    size += 8 * n_outputs if plan.kind == "number" else 0
    size += 40 + 8 * len(plan.window.scores) if plan.window is not None else 0
    size += 16 + 24 * len(plan.experts.clocks) if plan.experts is not None else 0
    size += 8 + 56 * d if plan.following is not None else 0
    size += 40 + 16 * plan.conformal.window if plan.conformal is not None else 0
    return -(-(size + 4) // 8) * 8


def state_bytes(plan: Plan, dtype: np.dtype) -> int:
    """The size of the largest state."""
    slots = plan.budget
    size = 76 + slots * (dtype.itemsize * (plan.n_features + 1) + 8 * (plan.n_outputs + 2))
    size += 16 + 8 * (slots + 1) ** 2 if _span(plan) is not None else 0
    size += 8 if isinstance(plan.learner.parts.policy, RemoveRandom | Forget) else 0
    size += 40 + 8 * len(plan.window.scores) if plan.window is not None else 0
    size += 16 + 24 * len(plan.experts.clocks) if plan.experts is not None else 0
    size += 8 + 56 * plan.n_features if plan.following is not None else 0
    size += 40 + 8 * plan.conformal.window if plan.conformal is not None else 0
    return size


# --- writing and reading ----------------------------------------------------------------------------------------


def bytes_of(plan: Plan, dtype: np.dtype) -> bytes:
    """The state of a model."""
    expansion = plan.expansion
    counts, scalars = expansion.counts[0], expansion.scalars[0]
    n = int(counts["n_slots"])
    rows = (expansion.rows[:n] - plan.shift).astype(dtype)
    is_same = rows.dtype == expansion.rows.dtype and not np.any(plan.shift)
    norms = expansion.norms[:n] if is_same else np.einsum("ij,ij->i", rows, rows)
    little = dtype.newbyteorder("<")
    chunks = [MAGIC, struct.pack("<IQ", VERSION, digest_of(plan, dtype))]
    chunks.append(struct.pack("<2d", scalars["scale"], scalars["error_sum"]))
    chunks.append(struct.pack("<5Q", *(int(counts[name]) for name in _COUNTS), n))
    for j in range(n):
        chunks.append(np.append(rows[j], norms[j]).astype(little).tobytes())
        chunks.append(np.append(expansion.coef[:, j], expansion.sizes[j]).astype("<f8").tobytes())
        chunks.append(struct.pack("<Q", int(expansion.births[j])))
    chunks += kept_of(plan)
    data = b"".join(chunks)
    return data + struct.pack("<I", zlib.crc32(data))


def _read_into(plan: Plan, reader: Reader, dtype: np.dtype) -> tuple[Scaling, Following] | None:
    """Write what a device has learned into the arrays of a model; returns statistics that have followed the stream."""
    expansion, little = plan.expansion, dtype.newbyteorder("<")
    scale, error_sum = reader.array(2)
    if not scale > 0:
        raise ValueError("its scale is not positive")
    counts = [reader.count(LARGEST_COUNT) for _ in _COUNTS]
    n = reader.count(plan.budget)
    expansion.scalars[0]["scale"], expansion.scalars[0]["error_sum"] = scale, error_sum
    for name, value in zip((*_COUNTS, "n_slots"), (*counts, n), strict=True):
        expansion.counts[0][name] = value
    expansion.weights[:] = 0.0
    for j in range(n):
        row = reader.array(plan.n_features + 1, little)
        expansion.rows[j], expansion.norms[j] = row[:-1] + plan.shift, row[-1]
        numbers = reader.array(plan.n_outputs + 1)
        expansion.coef[:, j], expansion.sizes[j] = numbers[:-1], numbers[-1]
        expansion.births[j] = reader.count(LARGEST_COUNT)
    if np.any(plan.shift) or dtype != expansion.rows.dtype:
        expansion.norms[:n] = np.einsum("ij,ij->i", expansion.rows[:n], expansion.rows[:n])
    expansion.weights[:, :n] = expansion.coef[:, :n]
    follows = read_kept(plan, reader)
    reader.end()
    return follows
