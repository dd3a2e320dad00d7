"""Synthetic classification streams of any length, reproducible example by example.

Example ``i`` of a stream is the same whatever the chunk size, the number of samples asked for, or the row where reading
starts; any example can be reached in constant time.

The populations are those of the budgeted SVM literature: Wang, Crammer & Vucetic (JMLR 2012) for the
checkerboard, the two Gaussians and the waveform; Wang & Vucetic (SDM 2009) for the noisy checkerboard. Both
papers scale every attribute to mean 0 and standard deviation 1. Here that is done with the exact moments of
the population, never with statistics of a sample, so training and test draws share one scale.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from frugalsvm.datasets._blocks import (
    Examples,
    Population,
    RandomState,
    Reader,
    check_at_least,
    chunks_of,
    first_examples,
)


def make_checkerboard(
    n_samples: int = 1000,
    *,
    noise: float = 0.0,
    cells: int = 4,
    standardize: bool = True,
    dtype: DTypeLike = np.float32,
    random_state: RandomState = None,
) -> Examples:
    """Draw points uniformly from a square checkerboard whose cells alternate between two classes.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of examples.
    noise : float, default=0.0
        Probability with which each label is flipped, independently of everything else. The points do not
        depend on it. The noisy checkerboard of [2]_ has ``noise=0.15`` in training and none in testing.
    cells : int, default=4
        Number of cells along each side.
    standardize : bool, default=True
        Scale each coordinate to mean 0 and standard deviation 1, that is to ``[-sqrt(3), sqrt(3))``.
        Otherwise the points lie in the unit square.
    dtype : {numpy.float32, numpy.float64}, default=numpy.float32
        Type of the features. It affects their rounding only, not which examples are drawn.
    random_state : int, Generator, RandomState or None, default=None
        Seed. None draws a fresh one.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        Points.
    y : ndarray of shape (n_samples,), int64
        Labels, +1 in the cell at the origin and -1 in its neighbors.

    References
    ----------
    .. [1] Z. Wang, K. Crammer, S. Vucetic. Breaking the curse of kernelization: budgeted stochastic gradient
       descent for large-scale SVM training. JMLR 13, 2012.
    .. [2] Z. Wang, S. Vucetic. Twin vector machines for online learning on a budget. SDM 2009.

    Examples
    --------
    >>> from frugalsvm.datasets import make_checkerboard
    >>> X, y = make_checkerboard(5, random_state=0)
    >>> X.shape, X.dtype
    ((5, 2), dtype('float32'))
    >>> set(y.tolist()) <= {-1, 1}
    True

    The points stay the same when labels are made noisy:

    >>> X_noisy, y_noisy = make_checkerboard(1000, noise=0.15, random_state=0)
    >>> bool((X_noisy[:5] == X).all())
    True
    """
    population = _Checkerboard(noise=noise, cells=cells, standardize=standardize, dtype=dtype)
    return first_examples(population, n_samples, random_state)


def make_two_gaussians(
    n_samples: int = 1000,
    *,
    standardize: bool = True,
    dtype: DTypeLike = np.float32,
    random_state: RandomState = None,
) -> Examples:
    """Draw from two overlapping normal distributions in the plane, each class with probability 1/2.

    Class -1 is N((0, 0), I) and class +1 is N((2, 0), 4 I), as in [1]_.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of examples.
    standardize : bool, default=True
        Scale each coordinate of the mixture to mean 0 and standard deviation 1.
    dtype, random_state
        As in `make_checkerboard`.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        Points.
    y : ndarray of shape (n_samples,), int64
        Labels, -1 or +1.

    References
    ----------
    .. [1] Z. Wang, K. Crammer, S. Vucetic. Breaking the curse of kernelization: budgeted stochastic gradient
       descent for large-scale SVM training. JMLR 13, 2012.

    Examples
    --------
    >>> from frugalsvm.datasets import make_two_gaussians
    >>> X, y = make_two_gaussians(2000, standardize=False, random_state=0)
    >>> X[y == -1].mean(axis=0).round(1) + 0.0
    array([0., 0.], dtype=float32)
    """
    return first_examples(_TwoGaussians(standardize=standardize, dtype=dtype), n_samples, random_state)


def make_waveform(
    n_samples: int = 1000,
    *,
    standardize: bool = True,
    dtype: DTypeLike = np.float32,
    random_state: RandomState = None,
) -> Examples:
    """Draw from the three-class, 21-feature waveform population of Breiman et al. [1]_.

    Three triangular waves have height 6, half-width 6 and peaks at features 11, 15 and 7 (counted from 1).
    Each class mixes two of them with a uniform random weight and adds standard normal noise to every feature.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of examples.
    standardize : bool, default=True
        Scale each feature to mean 0 and standard deviation 1.
    dtype, random_state
        As in `make_checkerboard`.

    Returns
    -------
    X : ndarray of shape (n_samples, 21)
        Noisy waves.
    y : ndarray of shape (n_samples,), int64
        Classes 0, 1 and 2, each with probability 1/3: the mixtures of waves 1 and 2, 1 and 3, 2 and 3.

    Notes
    -----
    The two-class version in the twin vector machine paper puts the first class against the others:
    ``np.where(y == 0, -1, 1)``.

    References
    ----------
    .. [1] L. Breiman, J. Friedman, R. Olshen, C. Stone. Classification and regression trees. Wadsworth, 1984.

    Examples
    --------
    >>> from frugalsvm.datasets import make_waveform
    >>> X, y = make_waveform(300, random_state=0)
    >>> X.shape, sorted(set(y.tolist()))
    ((300, 21), [0, 1, 2])
    """
    return first_examples(_Waveform(standardize=standardize, dtype=dtype), n_samples, random_state)


def list_streams() -> list[str]:
    """Name the populations that `stream` can draw from.

    Returns
    -------
    names : list of str
        Sorted names.

    Examples
    --------
    >>> from frugalsvm.datasets import list_streams
    >>> list_streams()
    ['checkerboard', 'noisy_checkerboard', 'two_gaussians', 'waveform']
    """
    return sorted(_POPULATIONS)


def stream(
    name: str,
    n_samples: int | None = None,
    *,
    start: int = 0,
    chunk_size: int = 10_000,
    random_state: RandomState = None,
    **options: Any,
) -> Iterator[Examples]:
    """Read a synthetic population chunk by chunk, in constant memory.

    Parameters
    ----------
    name : str
        One of `list_streams`. ``"noisy_checkerboard"`` is ``"checkerboard"`` with ``noise=0.15`` by default.
    n_samples : int or None, default=None
        Number of examples to read. None never ends.
    start : int, default=0
        Index of the first example. Reaching it takes constant time, so a run can resume where it stopped, or
        take its test examples from a far part of the stream.
    chunk_size : int, default=10000
        Number of examples in each chunk. The last chunk of a bounded stream may be shorter.
    random_state : int, Generator, RandomState or None, default=None
        Seed. One seed gives the same examples for every chunk size and start, and the same ones that the
        function ``make_*`` of the population returns. None draws a fresh seed.
    **options
        Options of the population: ``standardize`` and ``dtype`` for all of them, ``noise`` and ``cells`` for
        the checkerboards.

    Yields
    ------
    X : ndarray of shape (chunk_size, n_features)
        Features of the chunk.
    y : ndarray of shape (chunk_size,), int64
        Labels of the chunk.

    Examples
    --------
    >>> from frugalsvm.datasets import stream
    >>> [len(y) for X, y in stream("waveform", 25, chunk_size=10, random_state=0)]
    [10, 10, 5]

    Reading can start anywhere, at no cost:

    >>> [(X, y)] = stream("waveform", 25, chunk_size=25, random_state=0)
    >>> [(X_later, y_later)] = stream("waveform", 5, start=20, random_state=0)
    >>> bool((X_later == X[20:]).all() and (y_later == y[20:]).all())
    True
    """
    if name not in _POPULATIONS:
        raise ValueError(f"unknown stream {name!r}; choose one of: {', '.join(list_streams())}")
    return chunks_of(Reader(_POPULATIONS[name](**options), random_state), start, n_samples, chunk_size)


@dataclass(frozen=True, kw_only=True)
class _Checkerboard(Population):
    n_features: ClassVar[int] = 2
    stream_key: ClassVar[int] = 0

    noise: float = 0.0
    cells: int = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 <= self.noise <= 1.0:
            raise ValueError(f"noise must lie in [0, 1], got {self.noise!r}")
        check_at_least("cells", self.cells, 1)

    def draw(self, rng: np.random.Generator, size: int) -> Examples:
        unit = rng.random((size, 2), dtype=np.float32)
        # In double precision the product is exact: no point slips over the edge of its cell by rounding.
        column_and_row = np.multiply(unit, self.cells, dtype=np.float64).astype(np.int64)
        is_odd = (column_and_row[:, 0] + column_and_row[:, 1]) & 1
        if self.noise > 0.0:
            # Drawn after the points, so that the points do not depend on the noise.
            is_odd ^= rng.random(size, dtype=np.float32) < self.noise
        X = self._scaled(unit.astype(self.dtype, copy=False), 0.5, np.sqrt(1.0 / 12.0))
        return X, 1 - 2 * is_odd


@dataclass(frozen=True, kw_only=True)
class _NoisyCheckerboard(_Checkerboard):
    noise: float = 0.15


@dataclass(frozen=True, kw_only=True)
class _TwoGaussians(Population):
    n_features: ClassVar[int] = 2
    stream_key: ClassVar[int] = 1

    def draw(self, rng: np.random.Generator, size: int) -> Examples:
        is_wide = rng.random(size, dtype=np.float32) < 0.5
        X = rng.standard_normal((size, 2), dtype=np.float32).astype(self.dtype, copy=False)
        X *= (1 + is_wide)[:, None].astype(X.dtype)
        X[:, 0] += 2 * is_wide
        # Variance of the mixture: mean of the class variances, plus the variance of the class means.
        X = self._scaled(X, [1.0, 0.0], np.sqrt([2.5 + 1.0, 2.5]))
        return X, 2 * is_wide.astype(np.int64) - 1


@dataclass(frozen=True, kw_only=True)
class _Waveform(Population):
    n_features: ClassVar[int] = 21
    stream_key: ClassVar[int] = 2

    def draw(self, rng: np.random.Generator, size: int) -> Examples:
        y = rng.integers(3, size=size)
        weight = rng.random(size, dtype=np.float32).astype(self.dtype, copy=False)[:, None]
        X = rng.standard_normal((size, 21), dtype=np.float32).astype(self.dtype, copy=False)
        first, second = (wave.astype(X.dtype) for wave in _waves_of_each_class())
        X += weight * (first - second)[y] + second[y]
        return self._scaled(X, *_waveform_moments()), y


_POPULATIONS: dict[str, type[Population]] = {
    "checkerboard": _Checkerboard,
    "noisy_checkerboard": _NoisyCheckerboard,
    "two_gaussians": _TwoGaussians,
    "waveform": _Waveform,
}


@cache
def _waves_of_each_class() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the two waves that each class mixes, as two arrays of shape (3 classes, 21 features)."""
    feature = np.arange(1, 22)
    waves = np.array([np.maximum(6.0 - np.abs(feature - peak), 0.0) for peak in (11, 15, 7)])
    return waves[[0, 0, 1]], waves[[1, 2, 2]]


@cache
def _waveform_moments() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the exact mean and standard deviation of the 21 features."""
    first, second = _waves_of_each_class()
    mean = (first + second).mean(axis=0) / 2.0
    # E[(u a + (1 - u) b)^2] = (a^2 + a b + b^2) / 3 for u uniform on [0, 1]; the noise adds 1.
    mean_square = (first**2 + first * second + second**2).mean(axis=0) / 3.0
    return mean, np.sqrt(1.0 + mean_square - mean**2)
