"""Made-up rows of the shape of real data, for machines that have none: about as many of them near the margin."""

import numpy as np

__all__ = ["shaped"]


def shaped(name, n_test=10_000):
    """Training and test rows in float32: "digits" (60 000 x 784, ten classes) or "covtype" (464 809 x 54, two)."""
    rng = np.random.default_rng(0)
    X, y = _digits(rng, 60_000 + n_test) if name == "digits" else _forests(rng, 464_809 + n_test)
    return X[:-n_test], y[:-n_test], X[-n_test:], y[-n_test:]


def _digits(rng, n):
    """Blurred spots on a grid of 28 x 28 pixels, 40 ways to write each digit."""
    at = np.arange(28) / 28
    centers, widths = rng.uniform(0.2, 0.8, (400, 6, 2)), rng.uniform(0.04, 0.1, (400, 6, 1))
    rows, columns = (np.exp(-(((at - centers[:, :, k, None]) / widths) ** 2)) for k in (0, 1))
    shapes = np.minimum(np.einsum("ksi,ksj->kij", rows, columns), 1.0).reshape(400, 784).astype(np.float32)
    which = rng.integers(0, 400, (2, n))
    share = rng.uniform(0.7, 1.0, (n, 1)).astype(np.float32)  # of the first shape; some are hard to tell
    X = share * shapes[which[0]] + (1 - share) * shapes[which[1]]
    X += 0.1 * rng.standard_normal(X.shape, np.float32) * (X > 0.05)
    return np.clip(X, 0.0, 1.0, out=X), which[0] % 10


def _forests(rng, n):
    """Ten numbers and two choices, of 4 and of 40; classes change over short distances."""
    numbers, area, soil = rng.random((n, 10), np.float32), rng.integers(0, 4, n), rng.integers(0, 40, n)
    X = np.zeros((n, 54), np.float32)
    X[:, :10] = numbers
    X[np.arange(n), 10 + area], X[np.arange(n), 14 + soil] = 1.0, 1.0
    waves = rng.normal(size=(10, 6)).astype(np.float32) * np.float32(0.7)
    values = np.sin(numbers @ waves + rng.uniform(0, 6, 6)).sum(axis=1) + rng.normal(size=40)[soil]
    return X, np.where(values + rng.normal(size=n) > 0, 1, -1)
