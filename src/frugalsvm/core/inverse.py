"""The inverse of a symmetric positive definite matrix that grows and shrinks by one row, in O(n^2).

Adding a point with kernel column k and self-value k0 needs ``c = P k`` and the pivot ``r = k0 - k'c`` (its
squared distance to the span of the others):

    P'  =  [ P + c c'/r   -c/r ]
           [   -c'/r       1/r ]

and removing point p is the same read backwards: ``P' = P - P_p P_p' / P_pp`` without row and column p. In the
same way ``-P_p / P_pp`` are the coefficients of the projection of p on the others, and ``1 / P_pp`` is its
squared distance to their span. Rounding errors grow with every change, so callers recompute from time to time.
"""

from frugalsvm.compiling.functions import compiled


@compiled
def inverse_times(inverse, n, vector, out):
    """``out = P vector`` for the leading n x n part."""
    for i in range(n):
        total = 0.0
        for j in range(n):
            total += inverse[i, j] * vector[j]
        out[i] = total


@compiled
def grow_inverse(inverse, n, solved, pivot):
    """Add a point as row n, where ``solved = P k`` and ``pivot = k0 - k' P k > 0``."""
    for i in range(n):
        factor = solved[i] / pivot
        for j in range(n):
            inverse[i, j] += factor * solved[j]
        inverse[i, n] = -factor
        inverse[n, i] = -factor
    inverse[n, n] = 1.0 / pivot


@compiled
def shrink_inverse(inverse, n, p):
    """Remove point p of n; the last point takes its place."""
    pivot = inverse[p, p]
    for i in range(n):
        if i != p:
            factor = inverse[p, i] / pivot
            for j in range(n):
                inverse[i, j] -= factor * inverse[p, j]
    last = n - 1
    if p != last:
        for j in range(last):
            inverse[p, j] = inverse[last, j]
            inverse[j, p] = inverse[j, last]
        inverse[p, p] = inverse[last, last]
