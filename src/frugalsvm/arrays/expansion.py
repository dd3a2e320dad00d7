"""Decision values of kernel expansions on a device."""

from typing import Any

import numpy as np

from frugalsvm.arrays.namespace import on_host
from frugalsvm.arrays.sources import DeviceSource, HostSource, block_rows


def expansion_values(arrays, device_map, coefficients, X: Any) -> np.ndarray:
    """``features(X) @ coefficients.T`` on the host, block by block; X is an array, a CSR matrix or a tensor."""
    columns = arrays.asarray(np.asarray(coefficients).T, "float32")
    out = np.empty((X.shape[0], columns.shape[1]))
    if arrays.holds(X):
        source: Any = DeviceSource(arrays, X)
    else:
        rows = on_host(X)
        source = HostSource(arrays, lambda: iter((rows,)), rows.shape[0])
    with arrays.products():
        for start, part in source.blocks(block_rows(device_map.width)):
            out[start : start + part.shape[0]] = arrays.host(device_map.rows(part) @ columns)
    return out
