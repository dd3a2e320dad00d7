"""Elementary functions and reductions written so that the compiler vectorizes them.

``exp2_nonpositive(t) = 2^t`` for ``t <= 0`` is all that a Gaussian kernel needs. With ``t = n + f``, ``n`` an
integer and ``|f| <= 1/2``, it is ``2^n 2^f``. ``n`` is found by adding and subtracting
``1.5 * 2^mantissa_bits``, which rounds to the nearest integer and leaves ``n`` in the low bits of the sum;
``2^f`` is a polynomial (minimax for the relative error, with constant term exactly 1, so that ``2^0 == 1``);
the product is an addition to the exponent bits. No table, no branch, no library call.

``cos_turns(x) = cos(2 pi x)`` finds the nearest integer in the same way. The angle that is left, at most half a turn,
is folded: ``cos(2 pi r) = sin(2 pi s)`` with ``s = 1/4 - |r|``, at most a quarter of a turn. That is odd in ``s``, and
near the zeros of the cosine ``s`` is small: nothing cancels, as it would in an even polynomial of ``r``.
"""

import numpy as np

from frugalsvm.compiling.functions import compiled, generic, larger, separate, smaller

LOG2E = 1.4426950408889634
# Kernels that decay are zero from 2^-FARTHEST on, in every type and on every device, so that far away scores are the
# same in compiled code, on a GPU and in exported models. Machines without an intercept tell classes by values that are
# tiny: with 2^-60 the perceptron is right for 74 % of a9a, with 2^-100 for 77. Below that, products with coefficients
# are subnormal numbers in float32, with which Intel and AMD processors compute many times more slowly.
FARTHEST = 100.0
ADJACENT = np.int64(1)  # a stride; compiled code would be made again for a plain 1
CHUNK = 64  # values that are looked at together: some full vectors
FIRST_INDEX, _NO_INDEX = np.int32(0), np.int32(CHUNK)  # of a chunk

# Compiled code freezes these; they are typed, because a plain float literal would widen float32 loops.
_ONE_32 = np.float32(1.0)
_ROUND_32 = np.float32(1.5 * 2**23)
# Smaller results become this one: far above the smallest normal numbers, 2^-126 and 2^-1022, so that products with
# coefficients are not subnormal numbers
_LOWEST_32 = np.float32(-100.0)
_FARTHEST_32, _FARTHEST_64 = np.float32(-FARTHEST), np.float64(-FARTHEST)
_ZERO_32, _ZERO_64 = np.float32(0.0), np.float64(0.0)
_SHIFT_32 = np.int32(23)
_NO_SIGN_32 = np.int32(2**31 - 1)
_C1, _C2, _C3, _C4, _C5 = (
    np.float32(c)
    for c in (
        0.69314697755563557,
        0.24022242057325384,
        0.055507338057315511,
        0.0096715139260062139,
        0.0013264708407109093,
    )
)

_QUARTER_32 = np.float32(0.25)
# sin(2 pi s) / s in powers of s^2 for |s| <= 1/4, minimax for the absolute error of the sine: 3.4e-9
_S0, _S1, _S2, _S3, _S4 = (
    np.float32(c)
    for c in (
        6.2831851599999030,
        -41.341655011903020,
        81.601002958291130,
        -76.549759823806060,
        39.536558529150454,
    )
)

_ONE_64 = np.float64(1.0)
_ROUND_64 = np.float64(1.5 * 2**52)
_LOWEST_64 = np.float64(-500.0)  # products of two are not subnormal either
_SHIFT_64 = np.int64(52)
_NO_SIGN_64 = np.int64(2**63 - 1)
_D1, _D2, _D3, _D4, _D5, _D6, _D7, _D8, _D9, _D10, _D11 = (
    np.float64(c)
    for c in (
        0.69314718055994532584,
        0.24022650695910131332,
        0.055504108664820080896,
        0.0096181291075940968564,
        0.0013333558146775082534,
        0.00015403530457136989581,
        1.5252733492744019444e-05,
        1.3215435271411859462e-06,
        1.0178199713847758454e-07,
        7.0737849281356822733e-09,
        4.4347518975578216414e-10,
    )
)


@generic
def exp2_nonpositive(t):
    """``2^t`` for ``t <= 0``: relative error below 2e-7 in float32 and 1e-15 in float64.

    That is down to 2^-100 in float32 and 2^-500 in float64; smaller results become these.
    """


@exp2_nonpositive.implement(np.float32, ordered=True)
def _exp2_float32(t):
    t = larger(t, _LOWEST_32)
    rounded = t + _ROUND_32
    f = t - (rounded - _ROUND_32)
    p = _ONE_32 + f * (_C1 + f * (_C2 + f * (_C3 + f * (_C4 + f * _C5))))
    exponent = np.int32(np.float32(rounded).view(np.int32) << _SHIFT_32)
    return np.int32(np.float32(p).view(np.int32) + exponent).view(np.float32)


@exp2_nonpositive.implement(np.float64, ordered=True)
def _exp2_float64(t):
    t = larger(t, _LOWEST_64)
    rounded = t + _ROUND_64
    f = t - (rounded - _ROUND_64)
    high = _D6 + f * (_D7 + f * (_D8 + f * (_D9 + f * (_D10 + f * _D11))))
    p = _ONE_64 + f * (_D1 + f * (_D2 + f * (_D3 + f * (_D4 + f * (_D5 + f * high)))))
    exponent = np.int64(np.float64(rounded).view(np.int64) << _SHIFT_64)
    return np.int64(np.float64(p).view(np.int64) + exponent).view(np.float64)


@generic
def decay(t):
    """``2^t`` for ``t <= 0`` as kernels have it: exactly 0 from ``2^-FARTHEST`` on."""


@decay.implement(np.float32, ordered=True)
def _decay_float32(t):
    value = exp2_nonpositive(t)
    return value if t > _FARTHEST_32 else _ZERO_32


@decay.implement(np.float64, ordered=True)
def _decay_float64(t):
    value = exp2_nonpositive(t)
    return value if t > _FARTHEST_64 else _ZERO_64


@generic
def below_one(t):
    """``1 - 2^t`` for ``t <= 0`` with a relative error below 1e-15, however near to one ``2^t`` is; float64 only."""


@below_one.implement(np.float64, ordered=True)
def _below_one_float64(t):
    t = larger(t, _LOWEST_64)
    rounded = t + _ROUND_64
    f = t - (rounded - _ROUND_64)
    high = _D6 + f * (_D7 + f * (_D8 + f * (_D9 + f * (_D10 + f * _D11))))
    change = f * (_D1 + f * (_D2 + f * (_D3 + f * (_D4 + f * (_D5 + f * high)))))  # 2^f - 1, without the 1 to lose
    exponent = np.int64(np.float64(rounded).view(np.int64) << _SHIFT_64)
    power = np.int64(_ONE_64.view(np.int64) + exponent).view(np.float64)
    return (_ONE_64 - power) - power * change


@generic
def magnitude_bits(x):
    """The bits of ``|x|`` as an integer: larger ones for larger numbers, and the largest for infinity and NaN.

    Compiled code may assume that there is neither (see `frugalsvm.compiling`), and comparisons of numbers would do so.
    """


@magnitude_bits.implement(np.float32)
def _magnitude_bits_float32(x):
    return np.int32(np.float32(x).view(np.int32) & _NO_SIGN_32)


@magnitude_bits.implement(np.float64)
def _magnitude_bits_float64(x):
    return np.int64(np.float64(x).view(np.int64) & _NO_SIGN_64)


# The index of a large value in one pass that is vectorized: numbers that are not negative are ordered as their bits,
# the last of which give room for the index. So values are equal here that differ by less than one in some thousands.


@compiled
def index_mask(n):
    """The bits that indices of ``n`` values need."""
    mask = 15
    while mask < n:
        mask = 2 * mask + 1
    return mask


@generic
def value_and_index(value, index, mask):
    """A value and its index as one integer: larger for larger values, and of equal ones for the first.

    Negative values come after all others, in no order.
    """


@value_and_index.implement(np.float32)
def _value_and_index_float32(value, index, mask):
    # Numba takes operations on 32 bits for 64: each is cut again, so that twice as many are in a vector.
    upper = np.int32(np.float32(value).view(np.int32) | np.int32(mask))
    return np.int32(upper - np.int32(index))


@value_and_index.implement(np.float64)
def _value_and_index_float64(value, index, mask):
    return np.int64((np.float64(value).view(np.int64) | np.int64(mask)) - np.int64(index))


@compiled
def index_in(both, mask):
    """The index in what `value_and_index` has made."""
    return np.int64(mask - (both & mask))


@generic
def fold_turns(x):
    """The s in [-1/4, 1/4] with ``sin(2 pi s) = cos(2 pi x)``, for ``|x| < 2^22``: the first half of ``cos_turns``."""


@generic
def sin_quarter_turns(s):
    """``sin(2 pi s)`` for ``|s| <= 1/4``: the second half of ``cos_turns``."""


@generic
def cos_turns(x):
    """``cos(2 pi x)`` for ``|x| < 2^22``: absolute error below 3e-7 in float32. There is no float64."""


@fold_turns.implement(np.float32, ordered=True)
def _fold_float32(x):
    # |rounded - x|, not |x - rounded|, which the compiler turns around so that it is two instructions
    return _QUARTER_32 - abs(((x + _ROUND_32) - _ROUND_32) - x)


@sin_quarter_turns.implement(np.float32, ordered=True)
def _sin_float32(s):
    # In this order (Estrin's) half of the operations wait for nothing
    u = s * s
    v = u * u
    return s * ((_S0 + u * _S1) + v * ((_S2 + u * _S3) + v * _S4))


@cos_turns.implement(np.float32, ordered=True)
def _cos_float32(x):
    return sin_quarter_turns(fold_turns(x))


# These take matrices and row numbers, not row views: making a view counts a reference, which is an atomic
# operation, and a dozen of those cost more than the arithmetic on a hundred support vectors.


@compiled
def copy_row(target, i, source, j):
    """``target[i] = source[j]``; the assignment itself takes seconds to compile."""
    for f in range(source.shape[1]):
        target[i, f] = source[j, f]


@compiled
def rows_dot(A, i, B, j):
    """``<A[i], B[j]>`` in the type of the matrices."""
    total = A.dtype.type(0)
    for f in range(A.shape[1]):
        total += A[i, f] * B[j, f]
    return total


@separate
def row_products(A, i, B, n, out, stride):
    """``out[j stride] = <A[i], B[j]>`` for ``j < n``, four at a time to load ``A[i]`` once.

    B and ``out`` must have room for a multiple of four.
    """
    for j in range(0, n, 4):
        p = q = r = s = A.dtype.type(0)
        for f in range(A.shape[1]):
            a = A[i, f]
            p += a * B[j, f]
            q += a * B[j + 1, f]
            r += a * B[j + 2, f]
            s += a * B[j + 3, f]
        at = j * stride
        out[at], out[at + stride], out[at + 2 * stride], out[at + 3 * stride] = p, q, r, s


@compiled
def row_weighted_sum(weights, i, values, n):
    """``sum_j weights[i, j] values[j]`` over ``j < n``, in the type of ``values``."""
    total = values.dtype.type(0)
    for j in range(n):
        total += weights[i, j] * values[j]
    return total


@compiled
def float64_sum(weights, i, values, n):
    """``sum_j weights[i, j] values[j]`` over ``j < n`` in float64, whatever the type of ``values``."""
    total = 0.0
    for j in range(n):
        total += weights[i, j] * np.float64(values[j])
    return total


@compiled
def weighted_sums(weights, first, values, n, out):
    """``out[i] = sum_j weights[i, j] values[j]`` for all rows from ``first``, four at a time to load values once."""
    n_rows = weights.shape[0]
    i = first
    while i + 4 <= n_rows:
        a = b = c = d = values.dtype.type(0)
        for j in range(n):
            value = values[j]
            a += weights[i, j] * value
            b += weights[i + 1, j] * value
            c += weights[i + 2, j] * value
            d += weights[i + 3, j] * value
        out[i], out[i + 1], out[i + 2], out[i + 3] = a, b, c, d
        i += 4
    while i < n_rows:
        out[i] = row_weighted_sum(weights, i, values, n)
        i += 1


@compiled
def minimum(values, n):
    """The smallest of the first ``n >= 1`` values."""
    best = values[0]
    for i in range(n):
        best = smaller(best, values[i])
    return best


@compiled
def maximum(values, n):
    """The largest of the first ``n >= 1`` values."""
    best = values[0]
    for i in range(n):
        best = larger(best, values[i])
    return best


# A loop that may end early is not vectorized, so these look at whole chunks first, and then into one of them. There the
# least index is found in 32 bits: as many indices as values are in a vector then. A number that overflowed may not be
# found again, as it compares in no order; indices stay among those of the values nonetheless.


@compiled
def next_at_least(values, limit, first, n):
    """First index from ``first`` on of a value of at least ``limit``, of the first ``n <= CHUNK``; CHUNK if none."""
    found = _NO_INDEX
    for i in range(n):
        index = np.int32(i)
        found = smaller(found, index if values[i] >= limit and index >= first else _NO_INDEX)
    return found


@compiled
def _next_at_most(values, limit, n):
    found = np.int32(n - 1)  # there is one
    for i in range(n):
        found = smaller(found, np.int32(i) if values[i] <= limit else _NO_INDEX)
    return found


@separate
def first_at_most(values, limit, n):
    """First index of a value that is at most ``limit``, of the first n; n if there is none."""
    for start in range(0, n, CHUNK):
        chunk, size = values[start:], smaller(CHUNK, n - start)
        if minimum(chunk, size) <= limit:
            return start + _next_at_most(chunk, limit, size)
    return n


@separate
def first_at_least(values, limit, n):
    """First index of a value that is at least ``limit``, of the first n; n if there is none."""
    for start in range(0, n, CHUNK):
        chunk, size = values[start:], smaller(CHUNK, n - start)
        if maximum(chunk, size) >= limit:
            return start + smaller(next_at_least(chunk, limit, FIRST_INDEX, size), size - 1)
    return n


@compiled
def first_argmin(values, n):
    """First index of the smallest of the first ``n >= 1`` values."""
    return smaller(first_at_most(values, minimum(values, n), n), n - 1)


@compiled
def first_tied(values, n):
    """First index of a value within 1e-12, relatively, of the smallest of the first ``n >= 1``."""
    lowest = minimum(values, n)
    return smaller(first_at_most(values, lowest + 1e-12 * abs(lowest), n), n - 1)


@compiled
def first_argmax(values, n):
    """First index of the largest of the first ``n >= 1`` values."""
    return smaller(first_at_least(values, maximum(values, n), n), n - 1)


@compiled
def nth_smallest(values, n, k):
    """The value of rank k, from 0, of the first n in increasing order; reorders them (Hoare's selection)."""
    low, high = 0, n - 1
    while low < high:
        pivot = values[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while i < high and values[i] < pivot:  # bounds are for numbers that overflowed
                i += 1
            while j > low and values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if k <= j:
            high = j
        elif k >= i:
            low = i
        else:
            break
    return values[k]
