"""Weighted sums of columns in vectors of the processor, some hundred bytes at a time.

``out[k] = sum_f matrix[row, f] columns[f stride + k]`` for all k of a stretch: its sums stay in registers until the
last feature. Of a loop over k for each feature LLVM makes code that loads and stores them every time, and takes up to
thirty slots at the end one by one: with twenty features and forty slots that took three times as long.
"""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from frugalsvm.compiling.instructions import also_in_python

__all__ = ["LONG_BYTES", "SHORT_BYTES", "long_lanes", "short_lanes"]

LONG_BYTES = 128  # of a stretch: all processors have registers for two sums of it, which wait less than one
SHORT_BYTES = 64


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
        even, odd = (cgutils.alloca_once_value(builder, zeros) for _ in range(2))

        def add(sums, f):
            at = builder.add(builder.mul(f, stride), first)
            values = builder.load(_as_vector(builder, columns.data, at, vector), align=size)
            factor = _everywhere(builder, builder.load(builder.gep(factors, [f])), vector)
            product = builder.fmul(factor, values, flags=["fast"])
            builder.store(builder.fadd(builder.load(sums), product, flags=["fast"]), sums)

        one = ir.Constant(n_features.type, 1)
        with cgutils.for_range(builder, builder.lshr(n_features, one)) as loop:
            f = builder.shl(loop.index, one)
            add(even, f)
            add(odd, builder.add(f, one))
        with builder.if_then(cgutils.is_not_null(builder, builder.and_(n_features, one))):
            add(even, builder.sub(n_features, one))
        total = builder.fadd(builder.load(even), builder.load(odd), flags=["fast"])
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


long_lanes, short_lanes = _lanes(LONG_BYTES), _lanes(SHORT_BYTES)
