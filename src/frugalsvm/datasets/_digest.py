"""A fingerprint of the arrays of a data set, whatever the file that carried them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

Arrays = Mapping[str, NDArray]


def digest(arrays: Arrays, *, any_row_order: bool = False, decimals: int | None = None) -> str:
    """Return the sha256 of the names, types, shapes and values of arrays.

    Parameters
    ----------
    arrays : mapping of str to ndarray
        Arrays as stored in the file of a data set.
    any_row_order : bool, default=False
        Sort the examples first, for sets whose copies differ in the order of rows. Dense sets only.
    decimals : int or None, default=None
        Round the features to this number of decimals first, for sets whose copies differ in the last digit.
        Only with ``any_row_order``.

    Returns
    -------
    digest : str
        64 hexadecimal digits.

    Examples
    --------
    >>> import numpy as np
    >>> a = {"X_train": np.array([[1], [2]]), "y_train": np.array([0, 1])}
    >>> b = {name: array[::-1] for name, array in a.items()}
    >>> digest(a) == digest(b)
    False
    >>> digest(a, any_row_order=True) == digest(b, any_row_order=True)
    True
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
