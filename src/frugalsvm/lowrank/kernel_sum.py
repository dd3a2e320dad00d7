"""Weighted sums of kernels over groups of columns: plain values, which are compared, copied and saved like others.

``K(x, z) = sum_t weight_t K_t(x_t, z_t)``, where ``x_t`` are the columns of term t, is a kernel, because sums and
positive multiples of kernels are (Shawe-Taylor & Cristianini 2004, Proposition 3.22).
"""

import numbers
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from frugalsvm._stored import stored
from frugalsvm.core.blocks import is_of_products, kernel_matrix, sum_rows
from frugalsvm.core.capabilities import offers
from frugalsvm.core.kernels import KERNELS, kernel_block
from frugalsvm.core.moments import Moments, scale_gamma
from frugalsvm.exceptions import ParameterError

_LARGEST, _LARGEST_DEGREE = 1e100, 1000
_SCALE = "scale"


class _TermFields(NamedTuple):
    kernel: str
    columns: tuple[int, ...] | None
    weight: float
    gamma: float | str
    degree: int
    coef0: float


@stored("kernel-term", checked_within=_TermFields._fields)
class KernelTerm(_TermFields):
    """One kernel of a `KernelSum`.

    Parameters
    ----------
    kernel : str
        Its name, see :ref:`kernels`.
    columns : sequence of int, default=None
        The columns that it sees, numbered from 0; None is all of them.
    weight : float, default=1.0
        What its values are multiplied by, above 0.
    gamma : "scale" or float, default="scale"
        Kernel coefficient. "scale" is taken by `fit` from the columns of the term, as :ref:`kernels` tells.
    degree : int, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1.0
        Constant of the polynomial kernel.

    Examples
    --------
    >>> from frugalsvm import KernelTerm
    >>> KernelTerm("rbf", columns=range(3), weight=2.0).columns
    (0, 1, 2)
    """

    __slots__ = ()

    def __new__(cls, kernel, columns=None, weight=1.0, gamma=_SCALE, degree=3, coef0=1.0):
        if not isinstance(kernel, str) or kernel not in KERNELS:
            raise ParameterError("kernel", kernel, problem=f"is not one of {', '.join(map(repr, KERNELS))}")
        if not _is_real(degree) or degree != int(degree) or not 1 <= degree <= _LARGEST_DEGREE:
            raise ParameterError("degree", degree, f"an integer from 1 to {_LARGEST_DEGREE}")
        return super().__new__(
            cls,
            kernel,
            None if columns is None else _column_numbers(columns),
            _number("weight", weight),
            _SCALE if isinstance(gamma, str) and gamma == _SCALE else _number("gamma", gamma, " or 'scale'"),
            int(degree),
            _number("coef0", coef0, zero=True),
        )

    @property
    def part(self) -> Any:
        """The kernel of the term, for its columns."""
        if self.lacks_gamma:
            raise ValueError(
                f"gamma='scale' of the kernel {self.kernel!r} is for `fit`, which knows the rows: give it a number."
            )
        cls: Any = KERNELS[self.kernel]
        return cls(**{name: getattr(self, name) for name in cls._fields})

    @property
    def lacks_gamma(self) -> bool:
        """Whether the kernel has a gamma that is to be taken from rows."""
        return self.gamma == _SCALE and "gamma" in KERNELS[self.kernel]._fields

    def of(self, rows: Any) -> Any:
        """The columns of rows, an array or a CSR matrix, that the kernel sees."""
        return rows if self.columns is None else rows[:, list(self.columns)]

    def with_scale_of(self, moments: Moments) -> "KernelTerm":
        """The term with a number for gamma."""
        if not self.lacks_gamma:
            return self
        own = Moments(moments.n_rows, *(self.of(each[None])[0] for each in (moments.mean, moments.var)))
        return KernelTerm(**{**self._asdict(), "gamma": scale_gamma(own, KERNELS[self.kernel])})

    def check_rows(self, X: Any) -> None:
        """Refuse rows that lack columns of the term, or have values that its kernel is not for."""
        n_columns = X.shape[1]
        if self.columns is not None and max(self.columns) >= n_columns:
            raise ValueError(
                f"The kernel {self.kernel!r} of the sum uses column {max(self.columns)}, but X has {n_columns} "
                "columns, numbered from 0."
            )
        if not offers(KERNELS[self.kernel], "nonnegative"):
            return
        values = self.of(X).data if issparse(X) else self.of(X)
        if 0 not in values.shape and values.min() < 0:
            raise ValueError(
                f"The kernel {self.kernel!r} of the sum is for features that are not negative, and X has the value "
                f"{values.min():g} in its columns: leave out a scaler that subtracts the mean, or use another kernel."
            )


class _SumFields(NamedTuple):
    terms: tuple[KernelTerm, ...]


@stored("kernel-sum", kind="function", checked_within=("terms",))
class KernelSum(_SumFields):
    """A weighted sum of kernels, each of some or all columns: a ``kernel=`` for the low-rank machines.

    For rows whose columns are of different kinds, such as measurements, counts and fingerprints. A function of your own
    may compute the same, but a sum has a name: models with it can be saved in model files.

    Parameters
    ----------
    terms : sequence of KernelTerm
        The kernels, with their columns and weights.

    See Also
    --------
    ASSETClassifier, ASSETRegressor, ASSETOneClassSVM, NystroemMap : They take it as ``kernel``.

    References
    ----------
    J. Shawe-Taylor, N. Cristianini (2004). Kernel Methods for Pattern Analysis. Cambridge University Press.

    Examples
    --------
    >>> import numpy as np
    >>> from frugalsvm import ASSETClassifier, KernelSum, KernelTerm
    >>> rng = np.random.default_rng(0)
    >>> measured, counts = rng.normal(size=(600, 2)), rng.poisson(3.0, size=(600, 4))
    >>> X, y = np.hstack([measured, counts]), np.sin(3 * measured[:, 0]) + counts[:, 0] > 3
    >>> kernel = KernelSum([
    ...     KernelTerm("rbf", columns=(0, 1), gamma=2.0),
    ...     KernelTerm("chi2", columns=range(2, 6), weight=0.5),
    ... ])
    >>> model = ASSETClassifier(n_components=100, kernel=kernel, C=10, random_state=0).fit(X[:500], y[:500])
    >>> model.score(X[500:], y[500:]) > 0.9
    True
    """

    __slots__ = ()

    def __new__(cls, terms):
        terms = tuple(terms)
        if not terms or not all(isinstance(each, KernelTerm) for each in terms):
            raise ParameterError("terms", terms, "a sequence of at least one KernelTerm")
        return super().__new__(cls, terms)

    def __call__(self, A, B):
        """Kernel values of all pairs of rows in float64, shape (n_A, n_B); A and B are arrays or sparse matrices."""
        A = A.tocsr() if issparse(A) else np.asarray(A)
        B = B.toarray() if issparse(B) else np.asarray(B)
        out = np.zeros((A.shape[0], B.shape[0]))
        for term in self.terms:
            for rows in (A, B):
                term.check_rows(rows)
            out += term.weight * _values(term.part, term.of(A), term.of(B))
        return out

    def check_rows(self, X) -> None:
        """Refuse rows that one of the terms is not for."""
        for term in self.terms:
            term.check_rows(X)

    @property
    def lacks_gamma(self) -> bool:
        """Whether a term has a gamma that is to be taken from rows."""
        return any(term.lacks_gamma for term in self.terms)

    def with_scale_of(self, moments: Moments) -> "KernelSum":
        """The sum with numbers for all gammas."""
        return KernelSum(term.with_scale_of(moments) for term in self.terms)


def _is_real(value) -> bool:
    if isinstance(value, np.generic):
        value = value.item()  # the limit is beyond float32
    return isinstance(value, numbers.Real) and not isinstance(value, bool) and abs(value) <= _LARGEST


def _number(name: str, value, or_else: str = "", *, zero: bool = False) -> float:
    if not _is_real(value) or value < 0 or (value == 0 and not zero):
        raise ParameterError(name, value, f"a {'number of at least 0' if zero else 'positive number'}{or_else}")
    return float(value)


def _column_numbers(columns) -> tuple[int, ...]:
    """Columns as plain integers."""
    expected = "distinct column numbers from 0 on, or None for all columns"
    if isinstance(columns, str) or np.ndim(columns) != 1:
        raise ParameterError("columns", columns, expected)
    found = tuple(columns)
    plain = all(isinstance(each, numbers.Integral) and not isinstance(each, bool) and each >= 0 for each in found)
    if not found or not plain or len(set(found)) < len(found):
        raise ParameterError("columns", columns, expected)
    return tuple(map(int, found))


def _values(kernel, A, B):
    """Kernel values of rows, an array or a CSR matrix, and other rows, an array."""
    if isinstance(A, np.ndarray):
        return kernel_matrix(kernel, A, B)
    A, B = A.astype(np.float64), np.ascontiguousarray(B, np.float64)
    out = np.empty((A.shape[0], len(B)))
    if not is_of_products(kernel):
        return sum_rows(kernel, A, B, out)
    row_norms = np.asarray(A.multiply(A).sum(axis=1)).ravel()
    kernel_block(kernel, A @ B.T, np.einsum("ij,ij->i", B, B), row_norms, out)
    return out
