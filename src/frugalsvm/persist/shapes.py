"""What the parts of a model are made of: types, shapes, and numbers that are finite. Compiled code checks nothing.

A field that is a number, a part or a choice of parts is declared by its annotation in the NamedTuple, and arrays in
``ARRAYS``, by their type and shape. Each letter of a shape is a size that must be the same wherever it occurs in a part
and in the parts within it: ``s`` slots, ``f`` features, ``o`` outputs. A digit is that size. Types are ``x`` (that of
the rows: float32 or float64), ``e`` float32, ``d`` float64, ``i`` int64, ``u`` uint64, ``t`` int8 and ``?`` bool.
"""

import math
from typing import Any, get_type_hints

import numpy as np

from frugalsvm.core.kernels import KERNELS
from frugalsvm.persist.errors import malformed
from frugalsvm.persist.links import check_links
from frugalsvm.persist.registry import name_of_part

__all__ = ["check_part", "is_finite"]

ARRAYS: dict[str, dict[str, str]] = {
    "core.expansion.Expansion": {
        "rows": "x sf", "norms": "x s", "coef": "d cs", "weights": "x os", "sizes": "d s", "births": "i s",
        "counts": "i 6", "scalars": "d 5",
    },
    "core.cache.KernelRows": {
        "buffer": "x n", "values": "x rs", "place": "i s", "slot": "i r", "used": "d r", "synced": "i r", "log": "i l",
        "stamp": "i s", "missing": "i s", "scratch": "x 3s", "columns": "x 00", "state": "i 2",
    },
    "core.origin.Origin": {"point": "d f", "far_sum": "d f"},
    "dual.state.Dual": {
        "gradient": "x os", "truth": "d os", "bound": "x os", "up": "x os", "down": "x os", "worst": "d ow",
        "zone": "t os", "row": "i s", "free": "i s", "pool": "i 2", "tallies": "i ot", "sums": "d o6",
    },
    "dual.tracking.Tracking": {"rng": "u 1", "lag": "d ok", "moved": "i ok", "trace": "d 2"},
    "exact.state.Exact": {
        "of": "d 8s", "zone": "t s", "place": "i s", "free": "i s", "margin": "i m", "R": "d mm", "vectors": "d 4m",
        "counts": "i 5", "scalars": "d 2",
    },
    "exact.twins.Twins": {
        "of": "d 5s", "is_": "? 3s", "partner": "i s", "side": "t s", "products": "d ss", "merged": "d 2f",
        "kernel_rows": "d 2s", "tallies": "i 6", "sums": "d 2",
    },
    "asset.nystroem.Nystroem": {"landmarks": "e nf", "norms": "e n", "whitening": "d nd", "eigenvalues": "d d"},
    "asset.fourier.DenseFourier": {"frequencies": "e fd", "offsets": "e d"},
    "asset.fourier.StructuredFourier": {"factors": "e b4p", "offsets": "e d"},
    "asset.subgradient.SubgradientState": {
        "directions": "d od", "scales": "d o", "squared_norms": "d o", "intercepts": "d o", "sums": "d 2od",
        "intercept_sums": "d 2o", "waiting": "d o", "etas": "d 2", "clock": "i 2", "averaging": "i 3",
    },
    "estimators._pairs.Examples": {"ids": "i n", "labels": "i n", "slots": "i nk"},
    "estimators._predictor.Predictor": {
        "rows": "x nf", "norms": "x n", "coef": "d on", "intercept": "d o", "counts": "i 6",
    },
    "budgeted.projection.Span": {"inverse": "d pp", "column": "d p", "solved": "d p", "state": "i 2"},
    "budgeted.neighbours.Neighbours": {"slot": "i s", "nearness": "d s", "value": "d s", "state": "i 1"},
    "budgeted.self_scored.SelfScores": {"values": "d s", "state": "i 2"},
    "budgeted.self_scored.RemoveConfident": {"confidence": "d s"},
    "budgeted.self_scored.RemoveHarmless": {"errors": "d s", "counts": "d 2s"},
    "budgeted.bpa.ProjectOnNewcomer": {"lost": "d s"},
    "budgeted.bpa.ProjectOnNeighbour": {"lost": "d s"},
    "budgeted.bpa.ProjectOnAll": {"lost": "d s"},
    "budgeted.perceptrons.RemoveRandom": {"rng": "u 1"},
    "budgeted.perceptrons.Forget": {"spoiled": "d 1"},
    "pipelines.watching.RangeWatch": {
        "n_rows": "i 1", "n_beyond": "i f", "n_blocks": "i f", "n_renewals": "i f", "suspects": "i k", "values": "d bk",
    },
}  # fmt: skip

_DTYPES = {"x": ("f4", "f8"), "e": ("f4",), "d": ("f8",), "i": ("i8",), "u": ("u8",), "t": ("i1",), "?": ("?",)}
# Maps of models that were fitted on a device: their coefficients are those of kernel values.
_MAY_BE_NONE = {"asset.nystroem.Nystroem": ("whitening", "eigenvalues")}
_FROM_PARTS_WITHIN = "sfox"  # sizes, and the type of rows, that a part shares with the parts within it

# What may be in a field whose annotation leaves it open, by its name: modules and names of classes
_CHOICES = {
    "loss": ("core.losses.", "asset.losses."),
    "schedule": ("core.schedules.",),
    "ball": ("budgeted.ball.",),
    "rule": ("asset.subgradient.RobustStep", "asset.subgradient.StrongStep"),
    "policy": (
        "budgeted.policy.Unlimited", "budgeted.maintenance.", "budgeted.perceptrons.", "budgeted.bpa.",
        "budgeted.projectron.", "budgeted.projection.Project", "budgeted.projection.Freeze",
        "budgeted.self_scored.Remove",
    ),
}  # fmt: skip

# Least and largest value of numbers, by their names; between them they must be finite anyway
_RANGES: dict[str, tuple[float, float]] = {
    "gamma": (1e-300, 1e100), "coef0": (0, 1e100), "degree": (1, 1000), "lam": (0, 1e100), "eta0": (1e-300, 1e100),
    "margin": (0, 1), "C": (1e-300, 1e100), "budget": (2, 2**62), "n_outputs": (2, 2**31), "radius": (1e-300, 1e200),
    "epsilon": (0, 1e100), "penalty": (1e-300, 1e100), "intercept_bound": (0, 1e200), "numerator": (0, 1e200),
    "tau": (0, 1e100), "warm_up": (0, 2**62), "clean_every": (0, 2**62), "max_idle": (0, 2**62), "few": (0, 2**62),
    "n_steps": (1, 2**31), "loss": (0, 2), "s": (-1e100, 1), "threshold": (-1, 1e100), "tolerance": (0, 1e100),
    "log_slope": (-30, 30), "information": (0, 1e100), "n_features": (1, 2**62),
    "n_far": (0, 2**62), "far_squares": (0, 1e300),
}  # fmt: skip


def is_finite(array: np.ndarray) -> bool:
    """Whether an array has neither NaN nor infinity."""
    return array.dtype.kind not in "fc" or bool(np.isfinite(array).all())


def check_part(part: tuple) -> dict[str, Any]:
    """Check a NamedTuple and all within; returns its sizes, and the type of its rows as ``x``."""
    cls: Any = type(part)
    name = name_of_part(cls)
    if not cls.__module__.startswith("frugalsvm."):
        return {}
    sizes: dict[str, Any] = {}
    for field, hint in get_type_hints(cls).items():
        value, where = getattr(part, field), f"{name}.{field}"
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            _check_choice(field, hint, value, where)
            within = check_part(value)
            _agree(sizes, {letter: n for letter, n in within.items() if letter in _FROM_PARTS_WITHIN}, name)
        elif field in ARRAYS.get(name, {}):
            if value is not None or field not in _MAY_BE_NONE.get(name, ()):
                _agree(sizes, _matched(value, ARRAYS[name][field], where), name)
        else:
            _check_number(field, hint, value, where)
    check_links(name, part, sizes)
    return sizes


def _agree(sizes: dict[str, Any], others: dict[str, Any], where: str) -> None:
    for letter, size in others.items():
        if sizes.setdefault(letter, size) != size:
            raise malformed(f"the arrays of {where} do not fit together")


def _matched(array: Any, declared: str, where: str) -> dict[str, Any]:
    """The sizes that a declared array has."""
    code, _, shape = declared.partition(" ")
    if type(array) is not np.ndarray or array.ndim != len(shape):
        raise malformed(f"{where} is not an array of the right dimension")
    if array.dtype not in _DTYPES[code] or not (array.flags.c_contiguous or array.size == 0):
        raise malformed(f"{where} is an array of {array.dtype}, which is not its type")
    if not is_finite(array):
        raise malformed(f"{where} has values that are not finite")
    sizes: dict[str, Any] = {"x": array.dtype.str} if code == "x" else {}
    for letter, size in zip(shape, array.shape, strict=True):
        if letter.isdigit() and int(letter) != size:
            raise malformed(f"{where} has a wrong shape")
        if letter.isalpha():
            _agree(sizes, {letter: size}, where)
    return sizes


def _check_choice(field: str, hint: Any, value: tuple, where: str) -> None:
    """Check that a part is one of those that may be there."""
    cls = type(value)
    if isinstance(hint, type) and issubclass(hint, tuple):
        allowed = cls is hint
    elif field == "kernel":
        allowed = cls in KERNELS.values()
    else:
        name = name_of_part(cls)
        allowed = not cls.__module__.startswith("frugalsvm.") or name.startswith(_CHOICES.get(field, ()))
    if not allowed:
        raise malformed(f"{where} cannot be a {cls.__name__}")


def _check_number(field: str, hint: Any, value: Any, where: str) -> None:
    kinds = {float: (float,), int: (int,), bool: (bool,)}.get(hint)
    low, high = _RANGES.get(field, (-math.inf, math.inf))
    if kinds is None or type(value) not in kinds:
        raise malformed(f"{where} cannot be {str(value)[:40]!r}")
    if not math.isfinite(value) or not low <= value <= high or (hint is int and abs(value) > 2**63 - 1):
        raise malformed(f"{where} is out of range")
