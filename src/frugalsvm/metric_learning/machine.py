"""Small kernel machines, in float64: ridge regression on kernel values, of rows in a metric.

Machines with landmarks: with kernel values K of the rows with all landmarks, and K_m of the landmarks themselves,
weights D of the rows and their sum w, the coefficients are ``a = H^-1 K' D y``, ``H = K' D K + ridge w K_m``.

Machines of batches of neighbors: how well they predict each of their rows without it, and how that changes with the
metric. A machine of rows ``u = A x`` has ``a = W y``, ``W = (K + ridge w D^-1)^-1``, with targets y relative to their
mean. Without row i, it would predict that row with the error ``r_i = a_i / W_ii``. So the loss, ``|sqrt(D) r|^2 / w``,
needs no rows apart. With ``p = W (2 D r / diag W)`` and ``c = 2 D r^2 / diag W``, summed over outputs, it changes by
``sum G_nm dK_nm / w``, where::

    G = W diag(c) W - (p a' + a p') / 2

For kernels of the Euclidean distance with slopes P (`frugalsvm.core.slopes`) the gradient with respect to A is ``A S /
w``, where S is the sum of ``V_nm (x_n - x_m) (x_n - x_m)'`` over all pairs, ``V_nm = G_nm P_nm``. For those of the L1
distance, whose metrics are factors, the sum of ``V_nm |x_n - x_m|`` is in the place of ``A S``.

On the CPU a batch is a matrix, and threads share batches; on a device they are a stack, (n_batches, n, n_features).
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np
from scipy.sparse import issparse

from frugalsvm.arrays.factors import invert_factors
from frugalsvm.arrays.namespace import arrays_of, is_torch, on_host
from frugalsvm.arrays.slopes import radial_slope, radial_value
from frugalsvm.compiling.threads import ONE_THREAD, Threads
from frugalsvm.core.blocks import is_of_products, kernel_matrix
from frugalsvm.core.factor import inverse
from frugalsvm.core.kernels import RBF, Laplacian, kernel_block
from frugalsvm.core.seen_rows import mapped
from frugalsvm.core.slopes import slope_block, sum_weighted_differences

_SLOPES = {RBF: -2.0, Laplacian: -1.0}  # for kernels whose slopes are multiples of gamma and of their values
_PAIRS = 4096  # of rows, for the median distance
_ROUNDING = 2.0**-50  # errors of a squared distance, relative to the norms that it is made of


class Rows(NamedTuple):
    """Rows in float64: arrays of NumPy, or tensors of one device."""

    X: Any  # (n, d)
    targets: Any  # (n, n_outputs)
    weights: Any  # (n,)

    def __getitem__(self, part: Any) -> "Rows":  # type: ignore[override]
        return Rows(*(each[part] for each in tuple(self)))


def standardized(targets: np.ndarray) -> np.ndarray:
    """Values, an output in each column, in their standard deviations; signs of classes as they are."""
    if (np.abs(targets) == 1.0).all():
        return targets
    spread = targets.std(axis=0)
    return (targets - targets.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def drawn_rows(X: Any, targets: Any, weights: np.ndarray | None, rng: np.random.Generator, n_most: int) -> Rows:
    """Some of the rows that have a weight, in float64, as values of the first output or signs of all."""
    known = np.arange(X.shape[0]) if weights is None else np.flatnonzero(weights)
    n_rows = min(len(known), n_most)
    index = np.sort(rng.choice(known, n_rows, replace=False)) if n_rows < len(known) else known
    values = on_host(X[index]) if is_torch(X) else X[index]
    values = np.asarray(values.toarray() if issparse(values) else values, np.float64)
    of_rows = np.ones(n_rows) if weights is None else np.asarray(weights, np.float64)[index]
    return Rows(values, standardized(np.asarray(on_host(targets)[:, index], np.float64).T), of_rows)


def median_distance(kernel: Any, U: Any, rng: np.random.Generator) -> float:
    """The median distance of two rows, as the kernel measures it, or the mean where half of them are equal."""
    first, second = rng.integers(len(U), size=(2, _PAIRS))
    differences = on_host(U[first] - U[second])
    if is_of_products(kernel):
        distances = np.sqrt(np.square(differences).sum(axis=1))
    else:
        distances = np.abs(differences).sum(axis=1)
    return float(np.median(distances)) or float(distances.mean()) or 1.0


def kernel_values(kernel: Any, U: Any, landmarks: Any) -> Any:
    """Kernel values of rows with landmarks, both in the metric."""
    if is_torch(U):
        return radial_value(arrays_of(U).xp, kernel, _distances(kernel, U, landmarks))
    return kernel_matrix(kernel, U, landmarks)


def values_and_slopes(kernel: Any, U: Any, landmarks: Any) -> tuple[Any, Any]:
    """Kernel values, and their slopes (`frugalsvm.core.slopes`)."""
    if type(kernel) in _SLOPES:
        K = kernel_values(kernel, U, landmarks)
        return K, _SLOPES[type(kernel)] * kernel.gamma * K
    if is_torch(U):
        xp, distances = arrays_of(U).xp, _distances(kernel, U, landmarks)
        return radial_value(xp, kernel, distances), radial_slope(xp, kernel, distances)
    norms, landmark_norms = (np.einsum("ij,ij->i", each, each) for each in (U, landmarks))
    products = U @ landmarks.T
    K, slopes = np.empty_like(products), np.empty_like(products)
    kernel_block(kernel, products, landmark_norms, norms, K)
    slope_block(kernel, products, landmark_norms, norms, slopes)
    return K, slopes


def _distances(kernel, U, landmarks):
    """On a device: squared Euclidean distances, or L1 distances."""
    xp = arrays_of(U).xp
    if not is_of_products(kernel):
        return xp.cdist(U, landmarks, p=1.0)
    norms = xp.sum(U * U, axis=-1)[..., :, None] + xp.sum(landmarks * landmarks, axis=-1)[..., None, :]
    found = norms - 2.0 * (U @ landmarks.mT)
    # The root of a rounding error is a large one: what may be zero is zero, as it is in compiled code.
    return xp.where(found > _ROUNDING * norms, found, xp.zeros_like(found))


def squares(K: Any, weights: Any) -> Any:
    """``K' D K``: a product of a matrix with itself, which takes half the time of one with another."""
    root = K if (weights == 1.0).all() else K * arrays_of(K).xp.sqrt(weights)[:, None]
    return root.T @ root


def refuse_rows() -> NoReturn:
    """Say that there is no machine for these rows."""
    raise np.linalg.LinAlgError(
        "No kernel machine can be fitted to the rows: their values may be too large, or too small."
    )


def solver(H: Any, jitter: float):
    """Solves systems with a matrix, which is overwritten: a share of the mean of its diagonal is added to it."""
    arrays = arrays_of(H)
    arrays.add_to_diagonal(H, jitter * float(arrays.xp.linalg.trace(H)) / len(H))
    factor = arrays.cholesky(H)
    if factor is None:
        refuse_rows()
    return lambda right: arrays.solve_factored(factor, right)


# --- batches of neighbors --------------------------------------------------------------------------------------------

# A few hundred random rows of a large table are far apart: their machines see what is coarse. Those of a leaf of a
# balanced tree are as close as rows of the table are, so their machines see what machines of all rows will see.

_MOST_ROWS = 2**15  # of a tree: each has others
_SAMPLE = 128  # rows of a node that tell in which directions they spread


def some_leaves(X: Any, A: Any, size: int, count: int, rng: np.random.Generator) -> Any:
    """Indices of rows, (n_batches, at most ``size``): ``n_batches`` random leaves of a tree in a metric, or fewer."""
    some = rng.permutation(len(X))[:_MOST_ROWS]
    found = leaves(mapped(X[some], A), size, rng)
    chosen = rng.permutation(len(found))[:count]
    return arrays_of(found).asarray(some)[found[chosen]]


def leaves(U: Any, size: int, rng: np.random.Generator) -> Any:
    """Indices of the rows of each leaf, (n_leaves, at most ``size``), all leaves alike; a few last rows are in none.

    A node is cut at the median of a random direction, more likely one in which its rows spread.
    """
    U = arrays_of(U).single(U)  # where exactly a cut is does not matter
    xp, n_levels = arrays_of(U).xp, max(0, int(np.ceil(np.log2(len(U) / size))))
    n_used = len(U) >> n_levels << n_levels
    order = xp.reshape(xp.arange(n_used, **_place(U)), (1, n_used))
    for _ in range(n_levels):
        ranks = xp.argsort(_projections(U[order], rng), axis=1)
        order = xp.reshape(xp.take_along_axis(order, ranks, axis=1), (2 * len(order), -1))
    return order


def _place(U):
    return {"device": U.device} if arrays_of(U).is_torch else {}


def _projections(nodes, rng):
    """Of the rows of each node, (n_nodes, n), on ``S' (S r)``: r is random, and S are some rows of the node."""
    arrays, (_, n, n_features) = arrays_of(nodes), nodes.shape
    sample = nodes[:, rng.integers(n, size=_SAMPLE)]
    sample = sample - arrays.xp.mean(sample, axis=1, keepdims=True)
    r = arrays.asarray(rng.normal(size=(n_features, 1)), "float32")
    # NumPy now and then warns of invalid values in this product, where rows and results are all finite.
    with np.errstate(invalid="ignore"):
        return (nodes @ (sample.mT @ (sample @ r)))[..., 0]


# --- each row without itself -----------------------------------------------------------------------------------------

_LEAST_WEIGHT = 1e-6  # of a row, relative to their mean: no weight at all would divide by zero


class Machine(NamedTuple):
    """A machine of all rows of a batch, and what it predicts for each of them without it."""

    W: Any
    a: Any  # (n, n_outputs)
    errors: Any  # r
    shifts: Any  # of the diagonal of K: ridge w / D
    weights: Any

    @property
    def loss(self) -> Any:
        xp = arrays_of(self.a).xp
        return xp.sum(self.weights[..., None] * self.errors**2, axis=(-2, -1)) / xp.sum(self.weights, axis=-1)


class Judged(NamedTuple):
    """A loss and its gradient."""

    loss: Any
    gradient: Any  # with respect to A
    ridge_slope: Any  # with respect to the logarithm of the ridge


def machine_of(K: Any, ridge: Any, rows: Rows) -> Machine:
    """The machine of rows with kernel values K."""
    arrays = arrays_of(K)
    xp, weights = arrays.xp, rows.weights
    total = xp.sum(weights, axis=-1, keepdims=True)
    weights = xp.maximum(weights, _LEAST_WEIGHT * total / K.shape[-1])
    means = xp.sum(weights[..., None] * rows.targets, axis=-2, keepdims=True) / total[..., None]
    shifts = ridge * total / weights
    W = _inverse(arrays, K, shifts)
    a = W @ (rows.targets - means)
    return Machine(W, a, a / xp.linalg.diagonal(W)[..., None], shifts, weights)


def _inverse(arrays, K, shifts):
    n = K.shape[-1]
    if arrays.is_torch:
        factor = K + shifts[..., None] * arrays.xp.eye(n, dtype=K.dtype, device=K.device)
        invert_factors(arrays, factor)
        return factor.mT @ factor
    shifted = K.copy()
    shifted.reshape(-1)[:: n + 1] += shifts
    W = inverse(shifted)
    if W is None:
        refuse_rows()
    return W


def for_each(function: Any, rows: Rows, batches: Any, threads: Threads) -> list:
    """What a function makes of the rows of each batch; on a device, of all batches at once."""
    if is_torch(rows.X):
        return [function(rows[batches])]
    return threads.run(lambda index: function(rows[index]), list(batches))


def mean_losses(
    kernel: Any, A: Any, ridges: Sequence[float], rows: Rows, batches: Any, threads: Threads = ONE_THREAD
) -> list[float]:
    """The mean loss of batches with a metric, ``A`` (a matrix, or a vector of factors), for each of some ridges."""

    def losses(part):
        U = mapped(part.X, A)
        K = kernel_values(kernel, U, U)
        return [float(machine_of(K, ridge, part).loss.mean()) for ridge in ridges]

    return list(np.mean(for_each(losses, rows, batches, threads), axis=0))


def judged(kernel: Any, A: Any, ridge: Any, rows: Rows, batches: Any, threads: Threads = ONE_THREAD) -> Judged:
    """The mean loss of batches with its gradient."""
    each = for_each(lambda part: _judged(kernel, A, ridge, part), rows, batches, threads)
    if is_torch(rows.X):
        return Judged(*(value.mean(axis=0) for value in each[0]))
    return Judged(*(sum(values) / len(values) for values in zip(*each, strict=True)))


def _judged(kernel, A, ridge, rows):
    U = mapped(rows.X, A)
    K, slopes = values_and_slopes(kernel, U, U)
    found = machine_of(K, ridge, rows)
    W, a, r = found.W, found.a, found.errors
    xp = arrays_of(W).xp
    of_errors = 2.0 * found.weights[..., None] * r / xp.linalg.diagonal(W)[..., None]
    root = xp.sqrt(xp.sum(of_errors * r, axis=-1))[..., None] * W
    p = W @ of_errors
    G = root.mT @ root - 0.5 * (xp.concat((p, a), axis=-1) @ xp.concat((a, p), axis=-1).mT)
    total = xp.sum(found.weights, axis=-1)
    ridge_slope = xp.sum(found.shifts * xp.linalg.diagonal(G), axis=-1) / total
    gradient = (_euclidean if is_of_products(kernel) else _l1)(A, G * slopes, rows.X)
    return Judged(found.loss, gradient / xp.reshape(total, total.shape + (1,) * A.ndim), ridge_slope)


def _euclidean(A, V, X):
    """``A S``: for factors, its diagonal."""
    xp = arrays_of(V).xp
    sums, mixed = xp.sum(V, axis=-1)[..., None], V @ X
    if A.ndim == 1:
        return 2.0 * A * xp.sum(X * (sums * X - mixed), axis=-2)
    return 2.0 * A @ (X.mT @ (sums * X - mixed))


def _l1(A, V, X):
    """``sum V_nm |x_n - x_m|`` over all pairs, for each feature."""
    if is_torch(V):
        xp = arrays_of(V).xp
        each = (X[..., f] for f in range(len(A)))
        return xp.stack([xp.sum(V * xp.abs(x[..., :, None] - x[..., None, :]), axis=(-2, -1)) for x in each], axis=-1)
    out = np.zeros(len(A))
    sum_weighted_differences(V, np.ascontiguousarray(X), np.ascontiguousarray(X.T), out)
    return out
