"""A fingerprint of the arrays of a data set, whatever the file that carried them."""

import hashlib
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

Arrays = Mapping[str, NDArray]


def digest(arrays: Arrays, *, any_row_order: bool = False, decimals: int | None = None) -> str:
    """Return the sha256 of the names, types, shapes and values of arrays, in 64 hexadecimal digits.

    For sets whose copies differ in the order of rows, dense ones only, ``any_row_order`` sorts the examples first, and
    ``decimals`` rounds their features where copies differ in the last digit.
    """
    if any_row_order:
        arrays = _with_sorted_rows(arrays, decimals)
    sha = hashlib.sha256()
    for name in sorted(arrays):
        # The same bytes on every machine: little-endian, row after row.
        array = np.ascontiguousarray(arrays[name])
        array = array.astype(array.dtype.newbyteorder("<"), copy=False)
        sha.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        sha.update(array.data)
    return sha.hexdigest()


def _with_sorted_rows(arrays: Arrays, decimals: int | None) -> dict[str, NDArray]:
    sorted_arrays: dict[str, NDArray] = {}
    for split in ("train", "test"):
        if f"y_{split}" in arrays:
            X, y = arrays[f"X_{split}"], arrays[f"y_{split}"]
            if decimals is not None:
                # Whole numbers have no negative zero and compare exactly.
                X = np.rint(X.astype(np.float64) * 10**decimals).astype(np.int64)
            order = np.lexsort((y, *X.T[::-1]))
            sorted_arrays |= {f"X_{split}": X[order], f"y_{split}": y[order]}
    return sorted_arrays
