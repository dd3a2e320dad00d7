"""What makes conjugate gradients short: Cholesky factors of Hessians of a few rows.

With many features, several outputs share the mean of theirs; with few, each has its own.
"""

from typing import Any

__all__ = ["Preconditioner"]

_TINY = 1e-300
_MOST_DOUBLE = 32_768  # features: beyond, matrices in float64 leave no room for others
_ROWS_EACH = ((4096, 6), (8192, 3))  # features, rows for each of them; beyond, two
_OWN_ROWS = 16  # rows for each feature where outputs have their own: few of them are near the margin of any one
_OWN_NUMBERS = 2**25  # of matrices, one for each output
_BLOCK_NUMBERS = 2**30  # features of rows that are made at a time
_DEAR = 8192  # features: making a matrix takes longer than many steps
_PATIENCE = {"small": 4, "usual": 10, "dear": 20}  # steps more than when it was new before a new one is made
_WHOLE = 2048  # features: with no more of them, inverses are whole matrices, and solving is one operation


class Preconditioner:
    """An approximate inverse of the Hessian for each output.

    Parameters
    ----------
    problem : Problem
    rows, weights : array
        Raw rows of the sample that the Hessian is made of, and their weights ``(n_outputs, n_rows)``.
    divisor : int
        With several outputs, so many times fewer rows.
    """

    _first_steps: int | None = None  # of conjugate gradients when it was new

    def __init__(self, problem, rows, weights, divisor: int):
        arrays, d = problem.arrays, problem.factor.n_features
        xp, self._arrays, self._intercept = arrays.xp, arrays, problem.intercept
        is_small = 1 < weights.shape[0] <= _OWN_NUMBERS // d**2
        self.is_own = is_small and not _all_alike(xp, weights)
        self._patience = _PATIENCE["small"] if is_small else _PATIENCE["dear" if d >= _DEAR else "usual"]
        each = _OWN_ROWS if self.is_own else _rows_each(d)
        rows, weights = _thinned(arrays, rows, weights, each * (d + 1) // divisor)
        roots = xp.sqrt(weights if self.is_own else xp.mean(weights, axis=0, keepdims=True))
        matrices, sides = _moments(problem, rows, roots)
        corners = xp.sum(arrays.double(roots) ** 2, axis=1)
        # Explicit inverses: their products are limited by memory alone, solutions of triangular systems are not.
        self._inverse = arrays.inverse_of_lower(_factorised(arrays, matrices, problem.penalty))
        if self._intercept:  # the last columns, by their Schur complements
            self._side = self._inner(sides)
            left = corners - xp.sum(arrays.double(sides) * arrays.double(self._side), axis=1)
            self._corner = arrays.single(xp.maximum(left, 1e-6 * corners + 1e-30))[:, None]
        self._whole = self._as_whole() if d <= _WHOLE else None

    def is_stale(self, n_steps: int) -> bool:
        """Whether a new one is due, after this one took so many steps of conjugate gradients."""
        if self._first_steps is None:
            self._first_steps = n_steps
        return n_steps > self._first_steps + self._patience

    def _as_whole(self):
        """The inverses of whole Hessians, with the row and column of the intercept."""
        n, d = self._inverse.shape[:2]
        whole = self._arrays.zeros((n, d + 1, d + 1), "float32")
        whole[:, :d, :d] = self._inverse.mT @ self._inverse
        if self._intercept:
            scaled = self._side / self._corner
            whole[:, :d, :d] += scaled[:, :, None] * self._side[:, None, :]
            whole[:, :d, d] = whole[:, d, :d] = -scaled
            whole[:, d, d] = 1 / self._corner[:, 0]
        return whole

    def solve(self, vectors: Any) -> Any:
        """An output's vector in each row, the intercept last."""
        if self._whole is None:
            return self._solve_by_parts(vectors)
        if self._whole.shape[0] == 1:
            return vectors @ self._whole[0]
        return (self._whole @ vectors[:, :, None])[:, :, 0]

    def _solve_by_parts(self, vectors):
        xp = self._arrays.xp
        inner = self._inner(vectors[:, :-1])
        if not self._intercept:
            return xp.concat((inner, 0 * vectors[:, -1:]), axis=1)
        last = (vectors[:, -1:] - xp.sum(vectors[:, :-1] * self._side, axis=1, keepdims=True)) / self._corner
        return xp.concat((inner - last * self._side, last), axis=1)

    def _inner(self, vectors):
        if self._inverse.shape[0] == 1:
            inverse = self._inverse[0]
            return (vectors @ inverse.T) @ inverse
        return (self._inverse.mT @ (self._inverse @ vectors[:, :, None]))[:, :, 0]


def _all_alike(xp, weights) -> bool:
    """Whether one matrix serves all outputs, as where all scores are zero."""
    return bool(xp.all(weights[1:] == weights[:1]))


def _rows_each(n_features: int) -> int:
    return next((each for most, each in _ROWS_EACH if n_features <= most), 2)


def _thinned(arrays, rows, weights, limit: int):
    """Fewer rows, whose weights have the same sums."""
    if rows.shape[0] <= limit:
        return rows, weights
    xp, part = arrays.xp, arrays.strided(rows.shape[0], limit)
    fewer = weights[:, part]
    factors = xp.sum(weights, axis=1, keepdims=True) / xp.clip(xp.sum(fewer, axis=1, keepdims=True), 1e-30, None)
    return arrays.take(rows, part), fewer * factors


def _moments(problem, rows, roots):
    """Sums of outer products of weighted features, and of the features themselves, for each row of ``roots``."""
    arrays, n, d = problem.arrays, roots.shape[0], problem.factor.n_features
    matrices, sides = arrays.zeros((n, d, d), "float32"), arrays.zeros((n, d), "float32")
    step = max(1, _BLOCK_NUMBERS // (n * d))
    for start in range(0, rows.shape[0], step):
        part = slice(start, start + step)
        scaled = problem.factor.features(rows[part])[None] * roots[:, part, None]
        arrays.add_squares(matrices, scaled)
        sides += (roots[:, None, part] @ scaled)[:, 0]
    return matrices, sides


def _factorised(arrays, matrices, penalty: float):
    """Cholesky factors in float32, with as much added to the diagonal as it takes: sums in float32 are not exact.

    Changes the matrices.
    """
    xp, n = arrays.xp, matrices.shape[-1]
    diagonal = xp.arange(n, device=arrays.device)
    ridge = 1e-7 * max(float(xp.max(xp.linalg.diagonal(matrices))), _TINY)
    if n <= _MOST_DOUBLE:
        matrices = arrays.double(matrices)
    matrices[:, diagonal, diagonal] += penalty + ridge
    while (factors := arrays.cholesky(matrices)) is None:
        matrices[:, diagonal, diagonal] += 9.0 * ridge
        ridge *= 10.0
    return arrays.single(factors)
