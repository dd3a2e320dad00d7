"""Instructions that Numba has no word for, or compiles slowly: choices, counters of threads, matrix products, BLAS.

Where nothing is compiled (``NUMBA_DISABLE_JIT=1``), they are ordinary Python.
"""

import ctypes
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils, config
from numba.extending import get_cython_function_address, intrinsic
from numba.np.linalg import call_xxgemm

INTERPRETED = bool(config.DISABLE_JIT)


def also_in_python(one: Any, in_python: Callable) -> Any:
    """An intrinsic that can be called: bodies of generic functions also run as ordinary Python."""
    kind = type(one)
    one.__class__ = type(kind.__name__, (kind,), {"__call__": staticmethod(in_python)})
    return one


def _select(predicate: str, in_python: Callable) -> Any:
    """An intrinsic ``a if a <predicate> b else b`` for numbers, that LLVM vectorizes inside reductions."""

    @intrinsic
    def choose(typing_context, a, b):
        a, b = types.unliteral(a), types.unliteral(b)
        both = typing_context.unify_types(a, b)
        if not isinstance(both, types.Float | types.Integer):
            return None

        def generate(context, builder, signature, args):
            left, right = (
                context.cast(builder, value, own, both) for value, own in zip(args, signature.args, strict=True)
            )
            if isinstance(both, types.Float):
                is_first = builder.fcmp_ordered(predicate, left, right, flags=["fast"])
                return builder.select(is_first, left, right, flags=["fast"])
            compare = builder.icmp_signed if both.signed else builder.icmp_unsigned
            return builder.select(compare(predicate, left, right), left, right)

        return both(a, b), generate

    return also_in_python(choose, in_python)


@intrinsic
def _fetch_and_add(typing_context, counter, step):
    """``counter[0] += step`` as one operation of the processor; returns the value before."""
    if not isinstance(counter, types.Array) or counter.dtype != types.int64 or not isinstance(step, types.Integer):
        return None

    def generate(context, builder, signature, args):
        array = context.make_array(signature.args[0])(context, builder, args[0])
        return builder.atomic_rmw("add", array.data, args[1], "acq_rel")

    return types.int64(counter, types.int64), generate


@intrinsic
def _load(typing_context, counter):
    """``counter[0]`` as it is in memory now, whatever it was a moment ago."""
    if not isinstance(counter, types.Array) or counter.dtype != types.int64:
        return None

    def generate(context, builder, signature, args):
        array = context.make_array(signature.args[0])(context, builder, args[0])
        return builder.load_atomic(array.data, "acquire", 8)

    return types.int64(counter), generate


_counting = threading.Lock()


def _add_interpreted(counter, step):
    with _counting:
        before = int(counter[0])
        counter[0] += step
    return before


# Threads work together by these. Of those that add to ``counter[0]``, each gets another value, the one before; who
# sees the sum also sees what the others wrote to memory before they added to it.
add_to, value_of = (_add_interpreted, lambda counter: int(counter[0])) if INTERPRETED else (_fetch_and_add, _load)


@intrinsic
def _product(typing_context, a, b, out):
    """The matrix product alone: around it, Numba's ``np.dot`` compiles checks and allocations for half a second."""
    if not (a.dtype == b.dtype == out.dtype and isinstance(a.dtype, types.Float) and {a.layout, out.layout} == {"C"}):
        return None

    def generate(context, builder, signature, args):
        parts = []
        for each, value in zip(signature.args, args, strict=True):
            array = context.make_array(each)(context, builder, value)
            parts += each, cgutils.unpack_tuple(builder, array.shape), array.data
        call_xxgemm(context, builder, *parts)
        return context.get_dummy_value()

    return types.none(a, b, out), generate


def _product_in_numpy(a, b, out):
    np.matmul(a, b, out=out[:, : b.shape[1]])


def library_routine(library: str, name: str) -> int:
    """Where a routine of the "blas" or "lapack" that SciPy has is in memory: for compiled code, as an argument."""
    return get_cython_function_address(f"scipy.linalg.cython_{library}", name)


@intrinsic
def _call_library(typing_context, address, arrays):
    """Call a routine that takes pointers only, as those of BLAS and LAPACK do: to the first elements of arrays."""
    if not isinstance(arrays, types.BaseTuple):
        return None

    def generate(context, builder, signature, args):
        pointers = []
        for kind, value in zip(signature.args[1], cgutils.unpack_tuple(builder, args[1]), strict=True):
            array = context.make_array(kind)(context, builder, value)
            pointers.append(builder.bitcast(array.data, cgutils.voidptr_t))
        routine = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t] * len(pointers)).as_pointer()
        builder.call(builder.inttoptr(args[0], routine), pointers)
        return context.get_dummy_value()

    return types.none(types.int64, arrays), generate


def _call_from_python(address, arrays):
    routine = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(arrays))(address)
    routine(*(array.ctypes.data for array in arrays))


call_library = _call_from_python if INTERPRETED else _call_library


if INTERPRETED:
    larger, smaller, matrix_product = max, min, _product_in_numpy
else:
    # The builtin max and min, and an if, all keep a reduction scalar: about 0.7 ns a value against 0.1. Besides, the
    # builtin ones are compiled again for each constant and each pair of types.
    larger, smaller = _select(">", max), _select("<", min)
    matrix_product = _product  # by the library that SciPy has; b may be transposed, and out have more columns than it
