"""Functions become machine code once, in the one that Python calls."""

import gc

import numba
import numpy as np
import pytest
from numba.core.compiler import Flags
from numba.core.errors import TypingError

from frugalsvm.compiling.functions import (
    INTERPRETED,
    compiled,
    entry,
    inlined,
    larger,
    matrix_product,
    separate,
    smaller,
)
from frugalsvm.compiling.pipeline import EntryCompiler, InnerLibrary, _Flags

if INTERPRETED:
    pytest.skip("nothing is compiled", allow_module_level=True)


@compiled
def multiply(left, right, out):
    matrix_product(left, right.T, out)


@compiled
def increment(x):
    return x + 1.0


@separate
def square_of_increment(x):
    return increment(x) * increment(x)


@inlined
def both(x):
    return square_of_increment(x) - increment(x)


@entry
def difference(x):
    return both(x)


@entry
def first_of_product(matrix, out):
    multiply(matrix, matrix, out)
    return both(out[0, 0])


def test_code_of_callees_is_linked_whatever_calls_them():
    assert difference(2.0) == 6.0
    matrix, out = np.array([[1.0, 1.0, 0.0], [2.0, 0.0, 3.0]]), np.empty((2, 2))
    assert first_of_product(matrix, out) == 6.0
    np.testing.assert_array_equal(out, matrix @ matrix.T)
    wide = np.full((2, 5), 7.0)
    first_of_product(matrix, wide)
    np.testing.assert_array_equal(wide, np.c_[matrix @ matrix.T, np.full((2, 3), 7.0)])


def test_all_code_has_vectors_of_256_bits():
    """With wider ones, the order of a sum would depend on where small arrays are in memory (see `pipeline`)."""
    fresh = numba.njit(pipeline_class=EntryCompiler, _nrt=False)(difference.py_func)  # code from the disk has no LLVM
    fresh(2.0)
    (code,) = fresh.inspect_llvm().values()
    attributes = {line.split()[1]: line for line in code.splitlines() if line.startswith("attributes")}
    own = [line for line in code.splitlines() if line.startswith("define") and "difference" in line]
    assert own
    for line in own:
        assert any('"prefer-vector-width"="256"' in attributes.get(word, "") for word in line.split())


@pytest.mark.parametrize("function", [increment, square_of_increment, both])
def test_only_entries_are_machine_code(function):
    difference(2.0)
    difference.recompile()  # what was kept on disk by an earlier run needs no other function
    (code,) = function.overloads.values()
    assert isinstance(code.library, InnerLibrary)
    assert code.library.get_pointer_to_function(code.fndesc.llvm_func_name) == 0
    (code,) = difference.overloads.values()
    assert code.library.get_pointer_to_function(code.fndesc.llvm_func_name) > 0


def test_python_may_call_inner_functions_before_and_after_others_do():
    @inlined
    def twice(x):
        return x + x

    @entry
    def four_times(x):
        return twice(twice(x))

    assert [twice(3.0), four_times(3.0), twice(4.0), twice(1)] == [6.0, 12.0, 8.0, 2]


def test_constants_and_options_of_callers_do_not_make_more_code():
    @inlined
    def add(x, y):
        return x + y

    @separate
    def apart(x):
        return add(x, 2) + add(x, 3)

    @entry
    def all_of_them(x):
        return add(x, 1) + add(x, x) + apart(x)

    assert all_of_them(1) == 11
    assert len(add.overloads) == 1


def test_garbage_is_collected_again_after_a_compilation_also_a_failed_one():
    def wrong(x):
        return x.nothing

    assert gc.isenabled()
    assert entry(lambda x: x + 1)(1) == 2
    assert gc.isenabled()
    with pytest.raises(TypingError):
        entry(wrong)(1)
    assert gc.isenabled()


def test_hashes_of_options_are_those_of_numba_also_after_changes():
    options = _Flags()
    for value in ("always", "never"):
        options.inline = value
        assert hash(options) == hash(Flags(options))
        assert options == Flags(options)
    assert options.copy() == options
    options.nrt = not options.nrt
    assert options != Flags()


def test_passes_that_are_left_out_are_for_what_is_not_used_here():
    """What `_PASSES` cannot do must be refused, and not be compiled to something else."""

    def closure(x):
        def inner(y):
            return x + y

        return inner(x)

    with pytest.raises(Exception, match=r"make_function|closure|Failed"):
        entry(closure)(1.0)


@pytest.mark.parametrize(
    ("left", "right"),
    [(1, 2), (2.0, 1.0), (np.float32(1), np.float32(3)), (2, 1.5), (np.uint64(2**63), np.uint64(1)), (-1, 0)],
)
def test_the_larger_and_smaller_of_numbers_of_any_type(left, right):
    chosen = both_ends(left, right)
    assert chosen == (max(left, right), min(left, right), max(left, 0), min(1.0, right))


@entry
def both_ends(left, right):
    return larger(left, right), smaller(left, right), larger(left, 0), smaller(1.0, right)
