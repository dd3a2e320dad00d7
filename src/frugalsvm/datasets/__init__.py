"""Data for experiments: synthetic streams of any length, and real sets by name.

>>> from frugalsvm.datasets import make_checkerboard
>>> X, y = make_checkerboard(100, random_state=0)
>>> X.shape, y.shape
((100, 2), (100,))
"""

from frugalsvm.datasets.deformed import make_deformed_mnist, stream_deformed_mnist
from frugalsvm.datasets.drifting import DriftStream, list_drift_streams
from frugalsvm.datasets.real import (
    DatasetMismatchError,
    DatasetUnavailableError,
    fetch,
    get_data_home,
    list_datasets,
    load,
)
from frugalsvm.datasets.synthetic import list_streams, make_checkerboard, make_two_gaussians, make_waveform, stream

__all__ = [
    "DatasetMismatchError",
    "DatasetUnavailableError",
    "DriftStream",
    "fetch",
    "get_data_home",
    "list_datasets",
    "list_drift_streams",
    "list_streams",
    "load",
    "make_checkerboard",
    "make_deformed_mnist",
    "make_two_gaussians",
    "make_waveform",
    "stream",
    "stream_deformed_mnist",
]
