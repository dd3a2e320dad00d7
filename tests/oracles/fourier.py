"""Random Fourier features of the Gaussian kernel in plain numpy: the oracle of the compiled ones.

Angles are in turns: a feature is sqrt(2 / d) cos(2 pi (frequency . x + offset)).

Structured frequencies (SORF) follow F. X. Yu et al., "Orthogonal Random Features", NIPS 2016, section 4: each block is
the matrix diag(length) H D1 H D2 H D3 on rows that are padded with zeros to a power of two p, here with Hadamard
matrices H of entries +1 and -1, so that the lengths hold what normalises them.
"""

import numpy as np
from scipy.linalg import hadamard


def phi(X, frequencies, offsets):
    """Features (n_rows, d) for frequencies (n_features, d) and offsets (d)."""
    turns = np.asarray(X, np.float64) @ frequencies + offsets
    return np.sqrt(2.0 / offsets.size) * np.cos(2.0 * np.pi * turns)


def structured_frequencies(factors, n_features, d):
    """The matrix (n_features, d) that blocks of factors (D3, D2, D1, lengths), (n_blocks, 4, p), stand for."""
    blocks = [block_matrix(*block) for block in factors.astype(np.float64)]
    return np.concatenate(blocks)[:d, :n_features].T


def block_matrix(signs3, signs2, signs1, lengths):
    H = hadamard(lengths.size).astype(np.float64)
    return np.diag(lengths) @ H @ np.diag(signs1) @ H @ np.diag(signs2) @ H @ np.diag(signs3)


def gaussian_kernel(X, Z, gamma):
    """exp(-gamma ||x - z||^2) for all pairs of rows."""
    differences = X[:, None, :] - Z[None, :, :]
    return np.exp(-gamma * np.sum(differences**2, axis=2))
