"""How this library compiles.

* ``compiled`` turns a plain function into machine code; ``entry`` does the same for the few functions that
  Python calls, and keeps the machine code on disk between processes (`code_cache.py` says how).
* ``generic`` declares a function whose body is chosen by the *type* of its first argument: parts such as
  kernels, schedules and budget policies are NamedTuples, and the right body is compiled in. Unlike functions
  passed as arguments, this survives Numba's on-disk cache.
* With ``NUMBA_DISABLE_JIT=1`` all of it runs as ordinary Python, so every algorithm is its own slow oracle.

**Which Numba.** Versions 0.61 to 0.69 (``pyproject.toml`` says so too). Some options used here are not documented: a
Numba that lacks one gets the others, with a warning, and gives the same numbers more slowly.
"""

import inspect
import warnings
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numba
import numpy as np
from numba import types
from numba.core.cpu import CPUTargetOptions
from numba.extending import overload
from numba.np.numpy_support import as_dtype

from frugalsvm.compiling.code_cache import keep_code
from frugalsvm.compiling.instructions import (
    INTERPRETED,
    add_to,
    call_library,
    larger,
    library_routine,
    matrix_product,
    smaller,
    value_of,
)
from frugalsvm.compiling.pipeline import EntryCompiler, InnerCompiler

__all__ = [
    "INTERPRETED",
    "add_to",
    "call_library",
    "compiled",
    "entry",
    "generic",
    "inlined",
    "larger",
    "library_routine",
    "machine_code_for",
    "matrix_product",
    "read_only",
    "separate",
    "smaller",
    "value_of",
]


def known_options(options: Mapping[str, Any], known: Any = CPUTargetOptions) -> dict[str, Any]:
    """Those options that this Numba has, with a warning for the others: it would refuse to compile with them."""
    missing = sorted(name for name in options if not hasattr(known, name))
    if missing:
        warnings.warn(
            f"Numba {numba.__version__} has no option {' or '.join(missing)}: frugalsvm computes the same without, but "
            "more slowly. It supports Numba 0.61 to 0.69.",
            RuntimeWarning,
            stacklevel=2,
        )
    return {name: value for name, value in options.items() if name not in missing}


# Everything that the compiler may assume. Inputs are validated to be finite and sentinels are finite too.
# Without Numba's reference counting, functions cannot allocate or return arrays; in return, passing arrays
# around costs nothing: atomic counters took two thirds of the time of a small model.
_FAST = known_options(
    {"fastmath": True, "error_model": "numpy", "nogil": True, "_nrt": False, "no_cfunc_wrapper": True}
)
# For functions that only compiled code calls: without the wrapper that unpacks Python objects, or machine code.
_INNER = {**known_options({"no_cpython_wrapper": True}), "pipeline_class": InnerCompiler}
_INLINED, _SEPARATE = known_options({"forceinline": True}), known_options({"forceinline": False})
# Without re-association and reciprocals: for code that relies on rounding, such as the vectorized exponential.
_ORDERED = {**_FAST, "fastmath": {"contract", "nnan", "ninf", "nsz"}}


def compiled(function: Callable) -> Callable:
    """Compile a function that other compiled functions call: for leaves with few arguments."""
    return _inner(function, _FAST)


def inlined(function: Callable) -> Callable:
    """Compile a function into the code of its callers.

    For small functions that are called for each example or value: a call would show. LLVM does it; Numba's own
    ``inline="always"`` miscompiled conditional expressions (version 0.68).
    """
    return _inner(function, {**_FAST, **_INLINED})


def separate(function: Callable) -> Callable:
    """Compile a function that stays a function unless LLVM finds it small: for all between entries and leaves.

    Code that is called from several places is then translated once. Numba hands ``forceinline`` down from callers to
    callees that do not set it, so ``compiled`` functions are copied into those that call them from an ``inlined`` one.
    """
    return _inner(function, {**_FAST, **_SEPARATE})


def _inner(function: Callable, options: dict[str, Any]) -> Callable:
    dispatcher = numba.njit(**options, **_INNER)(function)
    if not INTERPRETED:
        _compile_once_for_constants(dispatcher)
        _compile_twin_for_python(dispatcher, options)
    return dispatcher


def _compile_once_for_constants(dispatcher: Any) -> None:
    """Let calls with a constant use the code for all numbers: Numba compiles a function again for each constant."""
    choose = dispatcher.get_call_template

    def choose_for_any(args: Any, kws: Any) -> Any:
        return choose(tuple(map(types.unliteral, args)), {name: types.unliteral(each) for name, each in kws.items()})

    dispatcher.get_call_template = choose_for_any


def _compile_twin_for_python(dispatcher: Any, options: dict[str, Any]) -> None:
    """Where Python calls an inner function after all, as tests do, compile it once more, as an entry.

    An inner function has no machine code. Numba's dispatcher therefore must not learn of its overloads: then it asks
    for machine code to be compiled in every call.
    """

    def note(code: Any) -> None:
        dispatcher.overloads[tuple(code.signature.args)] = code

    @cache  # made when it is called for: hundreds of dispatchers take a while at the start of every program
    def twin() -> Any:
        return numba.njit(**options, pipeline_class=EntryCompiler)(dispatcher.py_func)

    dispatcher.add_overload = note
    dispatcher._compile_for_args = lambda *args, **kws: twin()._compile_for_args(*args, **kws)


def entry(function: Callable) -> Callable:
    """Compile a function that Python calls, and keep the machine code on disk."""
    dispatcher = numba.njit(**_FAST, pipeline_class=EntryCompiler)(function)
    if not INTERPRETED:
        keep_code(dispatcher, (*_FAST, *_INNER, *_INLINED))
    return dispatcher


def machine_code_for(function: Callable, *arguments: Any) -> Callable:
    """What to call instead of an `entry` that is called again and again with the very same arrays.

    A call of an `entry` looks at the types of all arguments, arrays in nested tuples included, to choose the machine
    code; for a model that learns one row at a time that takes longer than the learning. This chooses once. The result
    looks at nothing: it must be called with arguments of these types only.

    Parameters
    ----------
    function : callable
        From `entry`.
    *arguments
        Such that the function does nothing: it is called once with them, so that there is machine code.

    Returns
    -------
    callable
        The machine code; or the function itself where it is interpreted, or where a future Numba keeps its code
        elsewhere: ``overloads``, ``typeof_pyval`` and ``entry_point`` belong to its dispatchers and are not documented.
    """
    function(*arguments)
    try:
        compiled_for: Any = function
        return compiled_for.overloads[tuple(map(compiled_for.typeof_pyval, arguments))].entry_point
    except (AttributeError, KeyError):
        return function


def read_only(part: Any) -> Any:
    """An array, or a part and the arrays within it, as views that cannot be written.

    Numba compiles a function once for arrays that can be written and once for those that cannot, as in files that are
    mapped into memory; and it does so for each of its arguments. These are of one type.
    """
    if isinstance(part, np.ndarray):
        if not part.flags.writeable:
            return part
        view = part.view()
        view.flags.writeable = False
        return view
    return type(part)(*map(read_only, part)) if isinstance(part, tuple) else part


def _part_of(numba_type: Any) -> type | None:
    """The Python class that selects an implementation, for the Numba type of a first argument."""
    if isinstance(numba_type, types.Float):
        return as_dtype(numba_type).type
    return getattr(numba_type, "instance_class", None)


def generic(declaration: Callable) -> Any:
    """Declare a function chosen by the type of its first argument; its body is never run.

    The returned function has a decorator ``implement(*part_types, ordered=False)`` that adds a body; without types
    it is the body for all types that have none of their own.
    """
    bodies: dict[type | None, Callable] = {}
    name = declaration.__name__

    def dispatch(part, *rest):
        body = bodies.get(type(part), bodies.get(None))
        if body is None:
            raise TypeError(f"{name} is not implemented for {type(part).__name__}")
        return body(part, *rest)

    dispatch.__name__ = dispatch.__qualname__ = name
    dispatch.__doc__ = declaration.__doc__
    dispatch.__module__ = declaration.__module__
    signature = inspect.signature(declaration)
    # One overload for all bodies that are compiled alike: Numba tries overloads one after another.
    options_of: dict[type | None, tuple[bool, bool]] = {}
    declared: set[tuple[bool, bool]] = set()

    def declare(ordered: bool, inline: bool) -> None:
        def resolve(part, *rest):
            own = _part_of(part)
            own = own if own in bodies else None
            return bodies[own] if options_of.get(own) == (ordered, inline) else None

        resolve.__signature__ = signature  # type: ignore[attr-defined]  # Numba calls it by these names
        options = {**(_ORDERED if ordered else _FAST), **_INNER, **(_INLINED if inline else _SEPARATE)}
        overload(dispatch, jit_options=options, strict=False)(resolve)
        declared.add((ordered, inline))

    def implement(*part_types: type, ordered: bool = False, inline: bool = True):
        def add(body: Callable) -> Callable:
            if inspect.signature(body) != signature:
                names = ", ".join(part_type.__name__ for part_type in part_types)
                raise TypeError(f"{name} for {names or 'all'}: expected the signature {signature}")
            if (ordered, inline) not in declared:
                declare(ordered, inline)
            for part_type in part_types or (None,):
                bodies[part_type], options_of[part_type] = body, (ordered, inline)
            return body

        return add

    dispatch.implement = implement  # type: ignore[attr-defined]
    return dispatch
