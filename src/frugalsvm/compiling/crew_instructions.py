"""Instructions for crews of threads: numbers in memory that several change, locks, and code by its address."""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


def _instruction(function: Callable) -> Any:
    """An instruction for compiled code, without the type that Numba declares for it."""
    return intrinsic(function)


def _word(context, builder, signature, args):
    """The address of ``words[place]``."""
    array = context.make_array(signature.args[0])(context, builder, args[0])
    return builder.gep(array.data, [args[1]], inbounds=True)


@_instruction
def load(typing_context, words, place):
    """``words[place]`` as it is in memory now."""

    def generate(context, builder, signature, args):
        return builder.load_atomic(_word(context, builder, signature, args), "seq_cst", 8)

    return types.int64(words, types.int64), generate


def _changing(operation):
    @_instruction
    def change(typing_context, words, place, value):
        def generate(context, builder, signature, args):
            return builder.atomic_rmw(operation, _word(context, builder, signature, args), args[2], "seq_cst")

        return types.int64(words, types.int64, types.int64), generate

    return change


# ``words[place]`` becomes a value, or more by it, in one operation of the processor; they return what it was before.
exchange, add = _changing("xchg"), _changing("add")


@_instruction
def pause(typing_context):
    """Tell the processor that this thread only looks whether a number has changed."""

    def generate(context, builder, signature, args):
        triple, module, flag = builder.module.triple, builder.module, ir.IntType(32)
        if triple.startswith("x86_64"):
            name, values = "llvm.x86.sse2.pause", []
        elif triple.startswith(("aarch64", "arm64")):
            name, values = "llvm.aarch64.hint", [ir.Constant(flag, 1)]  # "yield"
        else:
            return context.get_dummy_value()
        kind = ir.FunctionType(ir.VoidType(), [each.type for each in values])
        builder.call(cgutils.get_or_insert_function(module, kind, name), values)
        return context.get_dummy_value()

    return types.none(), generate


@_instruction
def acquire(typing_context, routine, lock, microseconds):
    """Acquire a lock of Python's, which may take as long; returns whether it was."""

    def generate(context, builder, signature, args):
        word, flag = ir.IntType(64), ir.IntType(32)
        kind = ir.FunctionType(flag, [cgutils.voidptr_t, word, flag]).as_pointer()
        lock = builder.inttoptr(args[1], cgutils.voidptr_t)
        found = builder.call(builder.inttoptr(args[0], kind), [lock, args[2], ir.Constant(flag, 0)])
        return builder.sext(found, word)

    return types.int64(types.int64, types.int64, types.int64), generate


@_instruction
def release(typing_context, routine, lock):
    def generate(context, builder, signature, args):
        kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t]).as_pointer()
        builder.call(builder.inttoptr(args[0], kind), [builder.inttoptr(args[1], cgutils.voidptr_t)])
        return context.get_dummy_value()

    return types.none(types.int64, types.int64), generate


@_instruction
def code_of(typing_context, function, arguments):
    """The address of code that runs a part of a `task`, given the address of a tuple of such arguments, and the part.

    Any compiled code may have it run by `share`, with arguments of the same types, without compiling it once more.
    """
    if not isinstance(arguments, types.BaseTuple):
        return None
    each: Any = arguments
    own = function.get_call_type(typing_context, (*each, types.int64), {})

    def generate(context, builder, signature, args):
        kind = context.call_conv.get_function_type(types.none, (types.voidptr, types.int64))
        task = ir.Function(builder.module, kind, builder.module.get_unique_name("task"))
        task.linkage = "internal"
        task.attributes.add("noinline")  # one copy is enough to compile
        inside = ir.IRBuilder(task.append_basic_block("entry"))
        place, part = task.args[-2:]
        stored = inside.load(inside.bitcast(place, args[1].type.as_pointer()))
        values = [*cgutils.unpack_tuple(inside, stored, len(arguments)), part]
        context.get_function(function, own)(inside, values)
        inside.ret(ir.Constant(kind.return_type, 0))  # there is nothing to return, and nothing that fails
        return builder.ptrtoint(task, ir.IntType(64))

    return types.int64(function, arguments), generate


@_instruction
def address_of_arguments(typing_context, arguments):
    """Where a tuple is: in memory of the function that asks."""

    def generate(context, builder, signature, args):
        return builder.ptrtoint(cgutils.alloca_once_value(builder, args[0]), ir.IntType(64))

    return types.int64(arguments), generate


@_instruction
def run_part(typing_context, task, arguments, part):
    def generate(context, builder, signature, args):
        kind = context.call_conv.get_function_type(types.none, (types.voidptr, types.int64)).as_pointer()
        nothing = [ir.Constant(each, None) for each in kind.pointee.args[:2]]
        place = builder.inttoptr(args[1], kind.pointee.args[2])
        builder.call(builder.inttoptr(args[0], kind), [*nothing, place, args[2]])
        return context.get_dummy_value()

    return types.none(types.int64, types.int64, types.int64), generate
