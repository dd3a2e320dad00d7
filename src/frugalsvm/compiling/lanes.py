"""Weighted sums of columns in vectors of the processor, some hundred bytes at a time.

``out[k] = sum_f matrix[row, f] columns[f stride + k]`` for all k of a stretch: its sums stay in registers until the
last feature. Of a loop over k for each feature LLVM makes code that loads and stores them every time, and takes up to
thirty slots at the end one by one: with twenty features and forty slots that took three times as long.

Up to `MOST_IN_ORDER` are added one after the other, as a sum of a single row adds them: the same bits. Of more, every
other one has a sum of its own, so that two wait for less.
"""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from frugalsvm.compiling.instructions import also_in_python

MOST_IN_ORDER = 8
_IN_ORDER = ("nnan", "ninf", "nsz", "contract")  # the compiler must not add in another order


def _lanes(n_bytes):
    """An intrinsic ``(matrix, row, columns, stride, first, out)`` for the stretch from ``first`` on."""

    @intrinsic
    def sums(typing_context, matrix, row, columns, stride, first, out):
        arrays = matrix, columns, out
        if not all(isinstance(each, types.Array) and each.layout == "C" for each in arrays):
            return None
        if not (matrix.dtype == columns.dtype == out.dtype and isinstance(out.dtype, types.Float)):
            return None
        return types.none(matrix, types.int64, columns, types.int64, types.int64, out), generate

    def generate(context, builder, signature, args):
        matrix, columns, out = (context.make_array(signature.args[k])(context, builder, args[k]) for k in (0, 2, 5))
        row, stride, first = args[1], args[3], args[4]
        scalar, size = matrix.data.type.pointee, signature.args[0].dtype.bitwidth // 8
        vector = ir.VectorType(scalar, n_bytes // size)
        n_features = cgutils.unpack_tuple(builder, matrix.shape)[1]
        factors = builder.gep(matrix.data, [builder.mul(row, n_features)])
        zeros = ir.Constant(vector, None)
        one, other = (cgutils.alloca_once_value(builder, zeros) for _ in range(2))

        def add(sums, f):
            at = builder.add(builder.mul(f, stride), first)
            values = builder.load(_as_vector(builder, columns.data, at, vector), align=size)
            factor = _everywhere(builder, builder.load(builder.gep(factors, [f])), vector)
            product = builder.fmul(factor, values, flags=_IN_ORDER)
            builder.store(builder.fadd(builder.load(sums), product, flags=_IN_ORDER), sums)

        zero, two = (ir.Constant(n_features.type, value) for value in (0, 2))
        are_few = builder.icmp_signed("<=", n_features, ir.Constant(n_features.type, MOST_IN_ORDER))
        in_pairs = builder.select(are_few, zero, builder.mul(two, builder.sdiv(n_features, two)))
        with cgutils.for_range_slice(builder, zero, in_pairs, two) as (f, _):
            add(one, f)
            add(other, builder.add(f, ir.Constant(f.type, 1)))
        with cgutils.for_range(builder, n_features, start=in_pairs) as loop:
            add(one, loop.index)
        total = builder.fadd(builder.load(one), builder.load(other), flags=_IN_ORDER)
        builder.store(total, _as_vector(builder, out.data, first, vector), align=size)
        return context.get_dummy_value()

    def in_python(matrix, row, columns, stride, first, out):
        stretch = slice(first, first + n_bytes // out.itemsize)
        out[stretch] = 0.0
        for f in range(matrix.shape[1]):
            out[stretch] += matrix[row, f] * columns[f * stride :][stretch]

    return also_in_python(sums, in_python)


def _as_vector(builder, data, at, vector):
    return builder.bitcast(builder.gep(data, [at]), vector.as_pointer())


def _everywhere(builder, value, vector):
    """A vector of one value."""
    undefined = ir.Constant(vector, ir.Undefined)
    one = builder.insert_element(undefined, value, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(one, undefined, ir.Constant(ir.VectorType(ir.IntType(32), vector.count), None))


lanes_64, lanes_128 = _lanes(64), _lanes(128)
lanes_256 = _lanes(256)  # for few features: not all processors have registers for two sums
