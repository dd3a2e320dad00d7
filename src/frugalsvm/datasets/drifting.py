"""Synthetic streams whose concept changes in a known way, reproducible row by row.

A population has a *concept*, a number: 0 at first, 1 after the first change, and so on. Between two whole numbers it is
on the way from one to the other. A schedule tells the concept of every row. Rows are drawn in the blocks of
``_blocks.py``, and the concept of a row is a function of its position alone (and, in gradual changes, of a
random number that belongs to the row). No row depends on how, or from where, the stream is read.

The populations are those that learners of drifting streams are compared on: SEA (Street & Kim, KDD 2001), a rotating
hyperplane (after Hulten, Spencer & Domingos, KDD 2001), radial basis functions with moving centers (after MOA: Bifet,
Holmes, Kirkby & Pfahringer, JMLR 2010), Friedman's function with exchanged features (after Ikonomovska, Gama &
Dzeroski, DMKD 2011), and the noisy checkerboard (Wang & Vucetic, SDM 2009), which is shifted or turned here.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from frugalsvm.datasets._blocks import Examples, RandomState, Reader, as_seed, check_at_least, check_chunks, chunks_of
from frugalsvm.datasets._drifting_populations import POPULATIONS
from frugalsvm.datasets._schedules import Schedule


def list_drift_streams() -> list[str]:
    """Name the populations of `DriftStream`.

    Returns
    -------
    names : list of str
        Sorted names.

    Examples
    --------
    >>> from frugalsvm.datasets import list_drift_streams
    >>> list_drift_streams()
    ['checkerboard', 'friedman', 'hyperplane', 'moving_rbf', 'rotating_checkerboard', 'sea']
    """
    return sorted(POPULATIONS)


class DriftStream:
    """A synthetic stream of any length whose concept changes in a known way.

    Row ``p`` is the same, bit for bit, whether reading starts there or arrives there, and whatever the sizes of the
    parts that are read. Every row is reached in constant time.

    Parameters
    ----------
    name : {"checkerboard", "rotating_checkerboard", "sea", "hyperplane", "moving_rbf", "friedman"}
        The population, and what its concept c stands for:

        - "checkerboard": a board of ``cells=4`` cells along each side that has moved by c times ``shift=1.0`` cells
          along the first feature. With a shift of 1 the next concept is the negative.
        - "rotating_checkerboard": the same board turned by c quarter turns about its center. A quarter turn gives the
          negative.
        - "sea": three features from 0 to 10; +1 where the first two add up to at most 8, 9, 7, 9.5 (c = 0, 1, 2, 3),
          and then 8 again.
        - "hyperplane": ``n_features=10`` features; +1 on one side of a hyperplane through the mean, turned by c quarter
          turns. After two it is the negative.
        - "moving_rbf": ``n_centers=20`` clouds of standard deviation ``spread=0.07`` in a unit cube of
          ``n_features=10``, of ``n_classes=2`` classes in turn. Each center has moved by c times ``distance=0.5`` in a
          direction of its own, reflected by the walls.
        - "friedman": regression. ``10 sin(pi x0 x1) + 20 (x2 - 0.5)^2 + 10 x3 + 5 x4`` of ``n_features=10`` features,
          plus normal noise of standard deviation ``noise=1.0``. Concept c begins to count features at number c.
    drift : {"none", "abrupt", "gradual", "recurring", "incremental"}, default="abrupt"
        How the concept changes:

        - "abrupt": from one row to the next.
        - "gradual": within ``width`` rows from the change on, more and more rows are of the new concept.
        - "recurring": abruptly, to the concepts 0, 1, ..., ``n_concepts - 1`` and then to 0 again.
        - "incremental": all the time. The concept moves steadily, and is a whole number at the changes.
    changes : int or sequence of int, default=20000
        The concept changes each time after this many rows; or the indices of all changes, in increasing order.
    width : int, default=2000
        Number of rows that a gradual change takes.
    n_concepts : int, default=2
        Number of concepts that recur.
    noise : float, default=None
        Probability that a label is replaced by another one, independently of everything else: None is 0.15 for the
        checkerboards, 0.1 for "sea" and "hyperplane", and 0 for "moving_rbf". For "friedman" see there.
    standardize : bool, default=True
        Whether features have mean 0 and standard deviation 1, by the moments of the population.
    start : int, default=0
        Position of the first row.
    dtype : {numpy.float32, numpy.float64}, default=numpy.float32
        Type of the features. It affects their rounding only, not which rows are drawn.
    random_state : int, Generator, RandomState or None, default=None
        Seed. None draws a fresh one.
    **options
        Other options of the population, as above.

    Attributes
    ----------
    position : int
        Number of the row that is read next. It can be set.
    n_features : int

    References
    ----------
    W. N. Street, Y. Kim (2001). A streaming ensemble algorithm (SEA) for large-scale classification. KDD.

    G. Hulten, L. Spencer, P. Domingos (2001). Mining time-changing data streams. KDD.

    A. Bifet, G. Holmes, R. Kirkby, B. Pfahringer (2010). MOA: massive online analysis. JMLR 11.

    E. Ikonomovska, J. Gama, S. Dzeroski (2011). Learning model trees from evolving data streams. Data Mining and
    Knowledge Discovery 23.

    Examples
    --------
    A noisy checkerboard that is replaced by its negative after 100,000 rows:

    >>> from frugalsvm.datasets import DriftStream
    >>> stream = DriftStream("checkerboard", "abrupt", changes=[100_000], random_state=0)
    >>> X, y = stream.take(500)
    >>> X.shape, stream.position
    ((500, 2), 500)

    Reading can start anywhere:

    >>> later = DriftStream("checkerboard", "abrupt", changes=[100_000], start=400, random_state=0)
    >>> bool((later.take(100)[0] == X[400:]).all())
    True
    """

    def __init__(
        self,
        name: str,
        drift: str = "abrupt",
        *,
        changes: int | Sequence[int] = 20_000,
        width: int = 2_000,
        n_concepts: int = 2,
        noise: float | None = None,
        standardize: bool = True,
        start: int = 0,
        dtype: DTypeLike = np.float32,
        random_state: RandomState = None,
        **options: Any,
    ) -> None:
        if name not in POPULATIONS:
            raise ValueError(f"unknown stream {name!r}; choose one of: {', '.join(list_drift_streams())}")
        self._schedule = Schedule(drift, changes, width, n_concepts)
        if noise is not None:
            options["noise"] = noise
        seed = as_seed(random_state)
        shared: dict[str, Any] = {"standardize": standardize, "dtype": dtype, "seed": seed, "schedule": self._schedule}
        self._population = POPULATIONS[name](**shared, **options)
        self._reader = Reader(self._population, seed)
        self.position = start

    @property
    def position(self) -> int:
        """Number of the row that is read next."""
        return self._position

    @position.setter
    def position(self, value: int) -> None:
        check_at_least("position", value, 0)
        self._position = int(value)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self._population.n_features

    def take(self, n_samples: int) -> Examples:
        """Read the next rows.

        Parameters
        ----------
        n_samples : int

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
        y : ndarray of shape (n_samples,)
            Labels of type int64: +1 and -1, or 0, 1, ... for "moving_rbf". Numbers of type float64 for "friedman".
        """
        check_at_least("n_samples", n_samples, 0)
        X, y = self._reader.read(self._position, n_samples)
        self._position += n_samples
        return X, y

    def chunks(self, n_samples: int | None = None, chunk_size: int = 10_000) -> Iterator[Examples]:
        """Read on chunk by chunk.

        Parameters
        ----------
        n_samples : int or None, default=None
            Number of rows to read. None never ends.
        chunk_size : int, default=10000
            Number of rows in each chunk. The last one may be shorter.

        Yields
        ------
        X, y
            As `take` returns them.
        """
        check_chunks(0, n_samples, chunk_size)
        return self._chunks(n_samples, chunk_size)

    def _chunks(self, n_samples: int | None, chunk_size: int) -> Iterator[Examples]:
        for X, y in chunks_of(self._reader, self._position, n_samples, chunk_size):
            self._position += len(y)
            yield X, y

    def concepts(self, positions: Any) -> NDArray[np.float64]:
        """The concepts of rows.

        Parameters
        ----------
        positions : array-like of int
            Numbers of rows.

        Returns
        -------
        ndarray of float64
            In a gradual change, the mean of the concepts that a row at this position may have.
        """
        positions = np.asarray(positions, dtype=np.int64)
        return self._schedule.mean_concepts(positions)
