"""Whether the arrays of a model fit together. Compiled code checks no bounds: what it is given must be right.

Each letter is a size that must be the same wherever it occurs in a part and in the parts within it: ``s`` slots, ``f``
features, ``o`` outputs. A digit is that size. Fields in ``_PLACES`` hold numbers of slots (or of other things), -1 for
none.

That covers what scoring reads and the links that learning follows; it does not prove that the numbers in a model are
those of any training run.
"""

from typing import Any

import numpy as np

from frugalsvm.persist.errors import ModelFileError
from frugalsvm.persist.registry import name_of_part

__all__ = ["check_estimator"]

_SHAPES: dict[str, dict[str, str | tuple]] = {
    "core.expansion.Expansion": {
        "rows": "sf", "norms": "s", "coef": "cs", "weights": "os", "sizes": "s", "births": "s", "counts": "6",
        "scalars": "5",
    },
    "core.cache.KernelRows": {
        "values": "rs", "place": "s", "slot": "r", "used": "r", "synced": "r", "log": "l", "stamp": "s", "missing": "s",
        "scratch": "3s", "state": "2",
    },
    "core.origin.Origin": {"point": "f", "far_sum": "f"},
    "dual.state.Dual": {
        "gradient": "os", "truth": "os", "bound": "os", "up": "os", "down": "os", "worst": "ow", "zone": "os",
        "row": "s", "free": "s", "pool": "2", "tallies": ("o", 11), "sums": "o6",
    },
    "dual.tracking.Tracking": {"rng": "1", "lag": "ok", "moved": "ok", "trace": "2"},
    "exact.state.Exact": {
        "of": "8s", "zone": "s", "place": "s", "free": "s", "margin": "m", "R": "mm", "vectors": "4m", "counts": "5",
        "scalars": "2",
    },
    "exact.twins.Twins": {
        "of": "5s", "is_": "3s", "partner": "s", "side": "s", "products": "ss", "merged": "2f", "kernel_rows": "2s",
        "tallies": "6", "sums": "2",
    },
    "asset.nystroem.Nystroem": {"landmarks": "nf", "norms": "n", "whitening": "nd", "eigenvalues": "d"},
    "asset.fourier.DenseFourier": {"frequencies": "fd", "offsets": "d"},
    "asset.fourier.StructuredFourier": {"factors": "b4p", "offsets": "d"},
    "asset.subgradient.SubgradientState": {
        "directions": "od", "scales": "o", "squared_norms": "o", "intercepts": "o", "sums": "2od",
        "intercept_sums": "2o", "waiting": "o", "etas": "2", "clock": "2", "averaging": "3",
    },
    "estimators._pairs.Examples": {"ids": "n", "labels": "n", "slots": "nk"},
}  # fmt: skip

# Maps of models that were fitted on a device: their coefficients are those of kernel values.
_MAY_BE_NONE = {"asset.nystroem.Nystroem": ("whitening", "eigenvalues")}

_PLACES = {
    "core.cache.KernelRows": {"place": "r", "slot": "s", "log": "s"},
    "dual.state.Dual": {"free": "s"},
    "dual.tracking.Tracking": {"moved": "s"},
    "exact.state.Exact": {"place": "m", "free": "s", "margin": "s"},
    "exact.twins.Twins": {"partner": "s"},
}
# Numbers that count the first so many of something
_COUNTS = {
    "core.expansion.Expansion": {("counts", 0): "s"},
    "dual.state.Dual": {("pool", 0): "s"},
    "exact.state.Exact": {("counts", 0): "m", ("counts", 3): "s"},
}
_FROM_PARTS_WITHIN = "sfo"  # sizes that a part shares with the parts within it
_CHUNK = 256  # of `Dual.worst`


def check_estimator(name: str, state: dict[str, Any]) -> None:
    """Check the parts of an object, each in itself, and that all have the same number of features."""
    sizes = {"f": state["n_features_in_"]} if type(state.get("n_features_in_")) is int else {}
    for attribute, value in state.items():
        for each in value if type(value) is list else [value]:
            if isinstance(each, tuple):
                found = _sizes_of(each)
                _agree(sizes, {"f": found["f"]} if "f" in found else {}, f"{name}.{attribute}")


def _agree(sizes: dict[str, int], others: dict[str, int], where: str) -> None:
    for letter, size in others.items():
        if sizes.setdefault(letter, size) != size:
            raise ModelFileError(f"The model file is malformed: the arrays of {where} do not fit together.")


def _sizes_of(value: tuple) -> dict[str, int]:
    """The sizes in a tuple, after checking it and all tuples within."""
    is_part = hasattr(value, "_fields")
    name = name_of_part(type(value)) if is_part else "a tuple"
    sizes: dict[str, int] = {}
    for field, shape in _SHAPES.get(name, {}).items():
        if getattr(value, field) is None and field in _MAY_BE_NONE.get(name, ()):
            continue
        _agree(sizes, _matched(getattr(value, field), shape, f"{name}.{field}"), name)
    for each in value:
        if isinstance(each, tuple):
            within = _sizes_of(each)
            if is_part:
                _agree(sizes, {letter: n for letter, n in within.items() if letter in _FROM_PARTS_WITHIN}, name)
    _check_numbers(name, value, sizes)
    return sizes


def _matched(array: Any, shape: str | tuple, where: str) -> dict[str, int]:
    if not isinstance(array, np.ndarray) or array.ndim != len(shape):
        raise ModelFileError(f"The model file is malformed: {where} is not an array of the right dimension.")
    sizes: dict[str, int] = {}
    for letter, size in zip(shape, array.shape, strict=True):
        fixed = letter if isinstance(letter, int) else int(letter) if letter.isdigit() else size
        _agree({"": fixed}, {"": size}, where)
        if not isinstance(letter, int) and letter.isalpha():
            _agree(sizes, {letter: size}, where)
    return sizes


def _check_numbers(name: str, value: Any, sizes: dict[str, int]) -> None:
    """Check numbers that say where something is."""
    right = True
    for field, letter in _PLACES.get(name, {}).items():
        places = getattr(value, field)
        limit = sizes.get(letter)
        right &= places.dtype.kind == "i" and (places.size == 0 or int(places.min()) >= -1)
        right &= limit is None or places.size == 0 or int(places.max()) < limit
    for (field, place), letter in _COUNTS.get(name, {}).items():
        counts = getattr(value, field)
        right &= counts.dtype.kind == "i" and 0 <= int(counts[place]) <= sizes[letter]
    if name == "core.expansion.Expansion":
        right &= sizes["c"] in (sizes["o"], 2 * sizes["o"])
    elif name == "core.cache.KernelRows":
        right &= sizes["l"] >= sizes["s"] and sizes["l"] & (sizes["l"] - 1) == 0
    elif name == "dual.state.Dual":
        right &= sizes["w"] == sizes["s"] // _CHUNK + 1 and -1 <= int(value.pool[1]) < sizes["s"]
    elif name == "asset.fourier.StructuredFourier":
        right &= type(value.n_features) is int and sizes["d"] <= sizes["b"] * sizes["p"]
        right &= 0 < value.n_features <= sizes["p"]
    if not right:
        raise ModelFileError(f"The model file is malformed: numbers of {name} are out of range.")
