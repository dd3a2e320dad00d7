"""How this library compiles.

* ``compiled`` turns a plain function into machine code; ``entry`` does the same for the few functions that
  Python calls, and keeps the machine code on disk between processes.
* ``generic`` declares a function whose body is chosen by the *type* of its first argument: parts such as
  kernels, schedules and budget policies are NamedTuples, and the right body is compiled in. Unlike functions
  passed as arguments, this survives Numba's on-disk cache.
* With ``NUMBA_DISABLE_JIT=1`` all of it runs as ordinary Python, so every algorithm is its own slow oracle.

**Why the cache is stamped.** Numba decides whether a cached function is fresh by looking at the file that the
function is in, not at the files of the functions that it calls: after an edit of a callee, old machine code
would run silently. Each cache entry is therefore stamped with a digest of all sources of this package. The
stamp lives in a private attribute of Numba's; where a future version moves it, the cache is left off with a warning
(slower starts, never stale code). Machine code for parts that are defined elsewhere, in somebody's own module, is not
kept on disk at all: their sources are not in the digest, and a process that cannot import them could not read the
cache.

**Which Numba.** Versions 0.61 to 0.69 (``pyproject.toml`` says so too). Some options used here are not documented: a
Numba that lacks one gets the others, with a warning, and gives the same numbers more slowly.
"""

import hashlib
import inspect
import pickle
import warnings
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba import types
from numba.core import event as _event
from numba.core.cpu import CPUTargetOptions
from numba.extending import overload
from numba.np.numpy_support import as_dtype

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
from frugalsvm.compiling.notice import CompileNotice
from frugalsvm.compiling.one_writer import one_writer
from frugalsvm.compiling.pipeline import EntryCompiler, InnerCompiler

__all__ = [
    "INTERPRETED",
    "add_to",
    "call_library",
    "code_folder",
    "compile_notice",
    "compiled",
    "entry",
    "generic",
    "inlined",
    "larger",
    "library_routine",
    "machine_code_for",
    "matrix_product",
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


# Nothing that is compiled is here, or uses what is here: changes need no new machine code.
NOT_COMPILED = (
    "_deprecation.py",
    "_homes.py",
    "_scikit_learn.py",
    "_stored.py",
    "arrays",
    "auto",
    "budgeted/device_blocks.py",
    "calibration",
    "cells/batches.py",
    "cells/budget.py",
    "cells/changes",
    "cells/choosing.py",
    "cells/device_scores.py",
    "cells/device_tree.py",
    "cells/left_out.py",
    "cells/on_device.py",
    "cells/places.py",
    "cells/spill.py",
    "cells/training.py",
    "cells/trunk.py",
    "checks.py",
    "cli",
    "compiling/memory.py",
    "compiling/notice.py",
    "compiling/one_writer.py",
    "compiling/threads.py",
    "compat",
    "conformal",
    "cost.py",
    "budgeted/learner.py",
    "budgeted/one_class.py",
    "budgeted/post_pass.py",
    "core/capabilities.py",
    "core/metric.py",
    "core/moments.py",
    "core/origin.py",
    "dask",
    "datasets",
    "demo.py",
    "durations.py",
    "estimators",
    "exceptions.py",
    "explain",
    "export",
    "lowrank",
    "metric_learning",
    "metrics",
    "persist",
    "pipelines",
    "plots",
    "selection",
    "stream_search",
    "streams",
    "warming",
    "words.py",
)
# The files and folders in those folders that are compiled after all.
COMPILED_THERE = (
    "datasets/deformed.py",
    "lowrank/fourier.py",
    "lowrank/losses",
    "lowrank/maps.py",
    "lowrank/nystroem.py",
    "lowrank/row_products.py",
    "lowrank/subgradient.py",
    "lowrank/visits.py",
    "streams/number_parsing.py",
    "streams/parsing.py",
)


def sources_digest(root: Path | None = None) -> str:
    """Digest of the Python sources of the package that compiled code may come from: file names and contents."""
    root = Path(__file__).parents[1] if root is None else root
    digest = hashlib.blake2b(digest_size=16)
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root).as_posix()
        if _is_in(name, NOT_COMPILED) and not _is_in(name, COMPILED_THERE):
            continue
        digest.update(name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _is_in(name: str, listed: tuple[str, ...]) -> bool:
    """Whether a file, or a folder that it is in, is listed."""
    return any(name == each or name.startswith(f"{each}/") for each in listed)


# Machine code that was made with other options is another one, and so is that of the suite, which is optimized less.
_DIGEST = (sources_digest(), f"O{int(numba.config.OPT)}", *sorted((*_FAST, *_INNER, *_INLINED)))


def _stamp_cache(dispatcher: Any) -> None:
    """Make the on-disk cache of a dispatcher depend on all sources of the package."""
    try:
        dispatcher.enable_caching()
    except RuntimeError:
        _warn_of_no_folder()
        return
    try:
        cache_file = dispatcher._cache._cache_file
        cache_file._source_stamp = (cache_file._source_stamp, _DIGEST)
        _forgive_old_index(cache_file)
        _save_one_at_a_time(cache_file)
        _leave_out_foreign_parts(dispatcher._cache)
    except AttributeError:
        warnings.warn(
            f"Numba {numba.__version__} keeps its cache elsewhere: frugalsvm compiles again in every process, since "
            "old machine code might be stale. It supports Numba 0.61 to 0.69.",
            RuntimeWarning,
            stacklevel=3,
        )
        dispatcher._cache = numba.core.caching.NullCache()


@cache
def _warn_of_no_folder() -> None:
    """Say once that Numba found no folder for its cache that it can write."""
    warnings.warn(
        "frugalsvm compiles again in every process: neither its own folder nor the user's cache folder can be written; "
        "set NUMBA_CACHE_DIR to a folder that can.",
        RuntimeWarning,
        stacklevel=5,
    )


def _save_one_at_a_time(cache_file: Any) -> None:
    """Keep processes that compile other signatures of the same function from writing its index at the same time.

    Each would add its signature to the index that it has read, with the next free number for the file of its code: one
    signature would be lost, and the other might get its code.
    """
    save = cache_file.save

    def save_alone(key: Any, code: Any) -> None:
        with one_writer(cache_file._index_path):
            save(key, code)

    cache_file.save = save_alone


def _forgive_old_index(cache_file: Any) -> None:
    """Take an index that cannot be read for an empty one.

    Numba reads the types in it before it compares stamps; those of an older version may not be where they were.
    """
    load = cache_file._load_index

    def load_or_begin() -> dict:
        try:
            return load()
        except (AttributeError, ImportError, EOFError, pickle.UnpicklingError):
            return {}

    cache_file._load_index = load_or_begin


def _leave_out_foreign_parts(cache: Any) -> None:
    """Make a cache neither keep nor look for machine code for parts from outside of this package."""
    load, save = cache.load_overload, cache.save_overload
    cache.load_overload = lambda types_, context: None if _is_foreign(types_) else load(types_, context)
    cache.save_overload = lambda types_, code: None if _is_foreign(types_) else save(types_, code)


def _is_foreign(numba_type: Any) -> bool:
    """Whether a type, or one within it, is a part that is defined outside of this package."""
    part = getattr(numba_type, "instance_class", None)
    if part is not None and part.__module__.partition(".")[0] != __name__.partition(".")[0]:
        return True
    within = numba_type if isinstance(numba_type, tuple) else getattr(numba_type, "types", ())
    return any(map(_is_foreign, within))


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
        _stamp_cache(dispatcher)
    return dispatcher


def code_folder(function: Callable) -> str | None:
    """Where the machine code of an `entry` is on disk; None if it is not kept."""
    return getattr(getattr(function, "_cache", None), "cache_path", None)


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


class _CompileListener(_event.Listener):
    """Hands Numba's events to a notice: one for every function of ours that is not found on disk."""

    def __init__(self, notice: CompileNotice):
        self._notice = notice

    def on_start(self, event: Any) -> None:
        if name := self._own_name(event):
            self._notice.begin(name)

    def on_end(self, event: Any) -> None:
        if name := self._own_name(event):
            self._notice.end(name)

    @staticmethod
    def _own_name(event: Any) -> str | None:
        function = event.data["dispatcher"].py_func
        package = __name__.partition(".")[0] + "."
        module = function.__module__ or ""
        return f"{module.removeprefix(package)}.{function.__name__}" if module.startswith(package) else None


compile_notice = CompileNotice()
_event.register("numba:compile", _CompileListener(compile_notice))


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
