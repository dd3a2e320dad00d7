"""An endless stream of deformed handwritten digits, reproducible example by example.

Each example is a real digit of MNIST, seen through a random smooth displacement of its pixels (the elastic
distortions of Simard, Steinkraus & Platt, ICDAR 2003) and a random shift, as in the sets with which Loosli,
Canu & Bottou (2007) and Lee & Wright (ASSET, 2012) train on millions of digits.

The stream of a seed has a pool of smooth fields, and each example combines two of them. What an example is made
of, its recipe, is drawn as in ``_blocks.py``: example ``i`` never depends on how it is read.
"""

import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import DTypeLike, NDArray

from frugalsvm.compiling.functions import entry, larger, smaller
from frugalsvm.datasets._blocks import (
    Examples,
    Population,
    RandomState,
    Reader,
    as_seed,
    check_at_least,
    check_chunks,
    chunks_of,
)
from frugalsvm.datasets.real import load

_SIDE = 28
_N_PIXELS = _SIDE * _SIDE
_WHITE = np.float32(255.0)
# The image in a frame of zeros, one pixel above and to the left, two below and to the right: the interpolation
# reads a pixel and the next one, for positions that reach one pixel out of the image on either side.
_FRAMED_SIDE = _SIDE + 3
_LAST_PLACE = np.float32(_SIDE + 1)

# Standard deviation, in pixels, of the Gaussian that smooths the fields: that of Simard et al.
_SMOOTHING = 4.0
# A thousand fields make half a million pairs, each with a continuum of angles. Changing it changes every stream.
_N_FIELDS = 1024


def make_deformed_mnist(
    n_samples: int = 1000,
    *,
    split: Literal["train", "test"] = "train",
    digits: Collection[int] | None = None,
    elasticity: float = 0.5,
    shift: float = 1.0,
    dtype: DTypeLike = np.float32,
    random_state: RandomState = None,
    data_home: str | os.PathLike[str] | None = None,
    download: bool = True,
) -> Examples:
    """Draw deformed handwritten digits: the first examples of `stream_deformed_mnist`.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of examples.
    split, digits, elasticity, shift, dtype, random_state, data_home, download
        As in `stream_deformed_mnist`.

    Returns
    -------
    X : ndarray of shape (n_samples, 784)
        Images of 28 x 28 pixels, row by row, from 0 to 1.
    y : ndarray of shape (n_samples,), int64
        Digits.

    Examples
    --------
    >>> from frugalsvm.datasets import make_deformed_mnist
    >>> X, y = make_deformed_mnist(100, random_state=0)  # doctest: +SKIP
    >>> X.shape  # doctest: +SKIP
    (100, 784)
    """
    check_at_least("n_samples", n_samples, 0)
    chunks = stream_deformed_mnist(
        n_samples,
        chunk_size=max(n_samples, 1),
        split=split,
        digits=digits,
        elasticity=elasticity,
        shift=shift,
        dtype=dtype,
        random_state=random_state,
        data_home=data_home,
        download=download,
    )
    return next(chunks, (np.empty((0, _N_PIXELS), dtype=dtype), np.empty(0, dtype=np.int64)))


def stream_deformed_mnist(
    n_samples: int | None = None,
    *,
    start: int = 0,
    chunk_size: int = 10_000,
    split: Literal["train", "test"] = "train",
    digits: Collection[int] | None = None,
    elasticity: float = 0.5,
    shift: float = 1.0,
    dtype: DTypeLike = np.float32,
    random_state: RandomState = None,
    data_home: str | os.PathLike[str] | None = None,
    download: bool = True,
) -> Iterator[Examples]:
    """Read deformed handwritten digits chunk by chunk, in constant memory: MNIST without an end.

    Each example is a real digit drawn at random, with its pixels displaced by a random smooth field [1]_ and the
    whole shifted, interpolated bilinearly. Large SVMs are trained on such digits in [2]_ and [3]_.

    Parameters
    ----------
    n_samples : int or None, default=None
        Number of examples to read. None never ends.
    start : int, default=0
        Index of the first example. Reaching it takes constant time.
    chunk_size : int, default=10000
        Number of examples in each chunk. The last chunk of a bounded stream may be shorter.
    split : {"train", "test"}, default="train"
        Which real digits are deformed: the 60 000 training digits or the 10 000 test digits. The deformations of
        the two are independent under one seed.
    digits : collection of int or None, default=None
        Which of the digits 0 to 9 are drawn, such as ``(3, 8)``. None draws all of them.
    elasticity : float, default=0.5
        Standard deviation, in pixels, of the displacement of each pixel along each axis. With 0.5 digits look as if
        another hand had written them; with 0.8 the deformations are plain to see. The settings of [1]_, ``alpha=34``
        and ``sigma=4``, come to 1.4, with the same smoothness, and many digits can then not be read. With 0 nothing but
        the shift is left.
    shift : float, default=1.0
        Largest shift of the whole image along each axis, in pixels; shifts are uniform.
    dtype : {numpy.float32, numpy.float64}, default=numpy.float32
        Type of the features. It affects their rounding only, not which examples are drawn.
    random_state : int, Generator, RandomState or None, default=None
        Seed. One seed gives the same examples for every chunk size and start. None draws a fresh seed.
    data_home : path-like or None, default=None
        Folder of the data sets, see `get_data_home`.
    download : bool, default=True
        Whether the network may be used if the real digits are not on this machine.

    Yields
    ------
    X : ndarray of shape (chunk_size, 784)
        Images of 28 x 28 pixels, row by row, from 0 to 1.
    y : ndarray of shape (chunk_size,), int64
        Digits.

    Raises
    ------
    DatasetUnavailableError
        If the real digits are not on this machine and cannot be downloaded.

    See Also
    --------
    make_deformed_mnist : The first examples as a pair ``X, y``.
    load : The real digits, with pixels from 0 to 255.

    References
    ----------
    .. [1] P. Simard, D. Steinkraus, J. Platt. Best practices for convolutional neural networks applied to visual
       document analysis. ICDAR 2003.
    .. [2] G. Loosli, S. Canu, L. Bottou. Training invariant support vector machines using selective sampling. In
       Large-scale kernel machines, MIT Press, 2007.
    .. [3] S. Lee, S. Wright. ASSET: approximate stochastic subgradient estimation training for support vector
       machines. ICPRAM 2012.

    Examples
    --------
    >>> from frugalsvm.datasets import stream_deformed_mnist
    >>> chunks = stream_deformed_mnist(25, chunk_size=10, random_state=0)  # doctest: +SKIP
    >>> [X.shape for X, y in chunks]  # doctest: +SKIP
    [(10, 784), (10, 784), (5, 784)]
    """
    check_chunks(start, n_samples, chunk_size)
    if split not in _RECIPES:
        raise ValueError(f"split must be 'train' or 'test', got {split!r}")
    wanted = _checked_digits(digits)
    recipes = _RECIPES[split](elasticity=elasticity, shift=shift, dtype=dtype)
    seed = as_seed(random_state)
    images, labels = load("mnist", split, data_home=data_home, download=download, dtype=None)
    if wanted is not None:
        is_wanted = np.isin(labels, wanted)
        images, labels = images[is_wanted], labels[is_wanted]
    return _deformed(images, labels, recipes, seed, start, n_samples, chunk_size)


@dataclass(frozen=True, kw_only=True)
class _Recipes(Population):
    """What each example is made of: how to deform, as six features, and the real digit, as a label.

    The features are the numbers of two fields, their coefficients, and the shift along the rows and columns. The
    remainder of the label, divided by the number of real digits, is the number of the real digit.
    """

    n_features: ClassVar[int] = 6
    stream_key: ClassVar[int] = 3

    elasticity: float
    shift: float

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("elasticity", "shift"):
            if not 0.0 <= getattr(self, name) <= _SIDE:
                raise ValueError(f"{name} must lie between 0 and {_SIDE} pixels, got {getattr(self, name)!r}")

    def draw(self, rng: np.random.Generator, size: int) -> Examples:
        picks = rng.integers(2**63, size=size)
        recipes = np.empty((size, 6), dtype=np.float32)
        recipes[:, :2] = rng.integers(_N_FIELDS, size=(size, 2))
        # The squares of the coefficients add up to 1: combined fields are as strong as those of the pool.
        angle = rng.random(size, dtype=np.float32) * np.float32(2.0 * np.pi)
        recipes[:, 2] = self.elasticity * np.cos(angle)
        recipes[:, 3] = self.elasticity * np.sin(angle)
        recipes[:, 4:] = self.shift * (2.0 * rng.random((size, 2), dtype=np.float32) - 1.0)
        return recipes.astype(self.dtype, copy=False), picks


@dataclass(frozen=True, kw_only=True)
class _TestRecipes(_Recipes):
    stream_key: ClassVar[int] = 4


_RECIPES: dict[str, type[_Recipes]] = {"train": _Recipes, "test": _TestRecipes}


def _deformed(
    images: NDArray[np.uint8],
    labels: NDArray[np.int64],
    recipes: _Recipes,
    seed: int,
    start: int,
    n_samples: int | None,
    chunk_size: int,
) -> Iterator[Examples]:
    """Yield chunks of deformed images; ``images`` has one row of 784 pixels from 0 to 255 for each label."""
    fields = _smooth_fields(np.random.SeedSequence(seed, spawn_key=(recipes.stream_key,)))
    framed = np.zeros(_FRAMED_SIDE * _FRAMED_SIDE, dtype=np.float32)
    for recipe, picks in chunks_of(Reader(recipes, seed), start, n_samples, chunk_size):
        chosen = picks % len(images)
        X = np.empty((len(chosen), _N_PIXELS), dtype=np.float32)
        _deform_all(images, chosen, recipe.astype(np.float32, copy=False), fields, framed, X)
        X = X.astype(recipes.dtype, copy=False)
        # Not in the compiled function, which would multiply by a rounded reciprocal.
        X /= _WHITE
        yield X, labels[chosen]


def _smooth_fields(seed: np.random.SeedSequence) -> NDArray[np.float32]:
    """Return fields of shape (fields, 2 axes, pixels): smooth, normal, of mean 0 and standard deviation 1."""
    # White noise on a larger grid, so that the fields are as strong at the edges as in the middle.
    margin = int(4 * _SMOOTHING)
    distance = np.arange(-margin, _SIDE + margin) - np.arange(_SIDE)[:, None]
    weights = np.exp(-0.5 * (distance / _SMOOTHING) ** 2)
    weights /= np.sqrt((weights**2).sum(axis=1, keepdims=True))
    weights = weights.astype(np.float32)
    width = _SIDE + 2 * margin
    noise = np.random.default_rng(seed).standard_normal((_N_FIELDS, 2, width, width), dtype=np.float32)
    return (weights @ noise @ weights.T).reshape(_N_FIELDS, 2, _N_PIXELS)


@entry
def _deform_all(images, chosen, recipes, fields, framed, out):
    """Write the chosen images, deformed by their recipes, to the rows of ``out``, with pixels from 0 to 255.

    ``framed`` holds an image in its frame; its border must be zero.
    """
    for i in range(chosen.size):
        image = images[chosen[i]]
        for row in range(_SIDE):
            for column in range(_SIDE):
                framed[(row + 1) * _FRAMED_SIDE + column + 1] = image[row * _SIDE + column]
        first, second = fields[int(recipes[i, 0])], fields[int(recipes[i, 1])]
        c1, c2 = recipes[i, 2], recipes[i, 3]
        for row in range(_SIDE):
            base_y = np.float32(row + 1) + recipes[i, 4]
            for column in range(_SIDE):
                pixel = row * _SIDE + column
                base_x = np.float32(column + 1) + recipes[i, 5]
                y = base_y + (c1 * first[0, pixel] + c2 * second[0, pixel])
                x = base_x + (c1 * first[1, pixel] + c2 * second[1, pixel])
                y = smaller(larger(y, np.float32(0.0)), _LAST_PLACE)
                x = smaller(larger(x, np.float32(0.0)), _LAST_PLACE)
                above, left = int(y), int(x)
                dy, dx = y - np.float32(above), x - np.float32(left)
                corner = above * _FRAMED_SIDE + left
                top = framed[corner] + dx * (framed[corner + 1] - framed[corner])
                corner += _FRAMED_SIDE
                bottom = framed[corner] + dx * (framed[corner + 1] - framed[corner])
                value = top + dy * (bottom - top)
                out[i, pixel] = smaller(larger(value, np.float32(0.0)), _WHITE)


def _checked_digits(digits: Collection[int] | None) -> list[int] | None:
    if digits is None:
        return None
    wanted = list(digits)
    if not wanted or not set(wanted) <= set(range(10)):
        raise ValueError(f"digits must be some of the digits 0 to 9, got {digits!r}")
    return wanted
