"""Compiled code sees the tuples that Python calls it with as addresses, with the same values in them."""

import pickle
from typing import NamedTuple

import numpy as np
import pytest
from numba import typeof
from numba.core.errors import TypingError

from frugalsvm.compiling.functions import INTERPRETED, compiled, entry, inlined, separate
from frugalsvm.compiling.in_place import InPlace, in_place

if INTERPRETED:
    pytest.skip("nothing is compiled", allow_module_level=True)

COUNTS = np.dtype([("n", np.int64), ("m", np.int64)])


class Weight(NamedTuple):
    value: float


class Numbers(NamedTuple):
    small: np.int8
    flag: bool
    single: np.float32
    nothing: None
    count: int


class Inner(NamedTuple):
    numbers: Numbers
    row: np.ndarray
    weight: Weight


class Outer(NamedTuple):
    matrix: np.ndarray
    inner: Inner
    counts: np.ndarray
    pair: tuple


def outer():
    numbers = Numbers(np.int8(-3), True, np.float32(0.5), None, 7)
    inner = Inner(numbers, np.arange(3.0), Weight(2.0))
    return Outer(np.arange(6, dtype=np.float32).reshape(2, 3), inner, np.zeros(1, COUNTS), (1.5, 2))


@entry
def weight_of(weight):
    return weight.value


@entry
def all_fields(outer, numbers):
    inner, own = outer.inner, outer.inner.numbers
    first, second = outer.pair
    flags = (10 if own.flag else 0) + (100 if own.nothing is None else 0) + (1000 if numbers.flag else 0)
    sums = own.small + own.single + own.count + flags, numbers.count, first + second
    return sums, outer.matrix[1, 2], inner.row[2], inner.weight.value


def test_small_functions_that_only_read_read_what_was_written():
    """The optimizer takes fields for constant, and must not take them for never written."""
    assert [weight_of(Weight(value)) for value in (2.0, 3.0)] == [2.0, 3.0]


def test_all_kinds_of_fields_have_their_values():
    others = Numbers(np.int8(1), False, np.float32(1), None, 9)
    assert all_fields(outer(), others) == ((114.5, 9, 3.5), 5.0, 2.0, 2.0)


@separate
def add_weight(inner, k):
    inner.row[k] += inner.weight.value


@inlined
def count(outer, by):
    counts = outer.counts[0]
    counts["n"] += by.count


@entry
def change(outer, n):
    for k in range(n):
        add_weight(outer.inner, k)
        count(outer, outer.inner.numbers)


def test_functions_get_tuples_and_those_within_them_and_change_their_arrays():
    tuples = outer()
    change(tuples, 3)
    np.testing.assert_array_equal(tuples.inner.row, [2.0, 3.0, 4.0])
    assert tuples.counts[0]["n"] == 21


def test_an_inner_function_is_compiled_for_addresses_and_python_may_call_it_with_tuples():
    @compiled
    def row_sum(inner):
        return inner.row[0] + inner.row[1] * inner.weight.value

    @entry
    def of_outer(outer):
        return row_sum(outer.inner)

    assert of_outer(outer()) == row_sum(outer().inner) == 2.0
    assert [type(argument) for signature in row_sum.overloads for argument in signature] == [InPlace]


def test_tuples_that_compiled_code_makes_are_tuples():
    @compiled
    def value_of(weight):
        return weight.value

    @entry
    def doubled(weight):
        total = 0.0
        for _ in range(2):
            total += value_of(Weight(weight.value + total))
        return total

    assert doubled(Weight(1.0)) == 3.0


def test_names_are_short_and_types_are_told_apart():
    """Names of functions are made of those of the types, and written into the code many times."""
    types = [in_place(typeof(each)) for each in (outer(), outer().inner, Weight(1.0), Weight(1), outer())]
    assert all(len(each.name) < 30 for each in types)
    assert len(set(types)) == 4
    assert types[0] == types[-1] == pickle.loads(pickle.dumps(types[0]))
    assert hash(types[0]) == hash(pickle.loads(pickle.dumps(types[0])))
    assert in_place(typeof(1.0)) == typeof(1.0)


def test_a_field_that_is_not_there_is_named():
    @entry
    def wrong(weight):
        return weight.wait

    with pytest.raises(TypingError, match="wait"):
        wrong(Weight(1.0))
