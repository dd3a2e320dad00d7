"""Where the machine code of an entry comes from: the wheel, the disk, or the compiler, whose code is kept on disk.

**Why the cache on disk is stamped.** Numba decides whether a cached function is fresh by looking at the file that the
function is in, not at the files of the functions that it calls: after an edit of a callee, old machine code would run
silently. Each cache entry is therefore stamped with a digest of all sources of this package, and so is the machine code
in a wheel (`shipped.py`). The stamp lives in a private attribute of Numba's; where a future version moves it, the cache
is left off with a warning (slower starts, never stale code). Machine code for parts that are defined elsewhere, in
somebody's own module, is not kept on disk at all: their sources are not in the digest, and a process that cannot import
them could not read the cache.
"""

import os
import pickle
import warnings
from collections.abc import Callable, Iterable
from functools import cache, cached_property
from typing import Any

import numba
from numba.core import caching

import frugalsvm.compiling.events  # noqa: F401  # has compilations shown
from frugalsvm.compiling.digest import sources_digest
from frugalsvm.compiling.notice import QUIET
from frugalsvm.compiling.one_writer import one_writer
from frugalsvm.compiling.shipped import ShippedCode, shipped_code

__all__ = ["code_folder", "code_in_wheel", "code_stamp", "keep_code"]

# Taken when the package is imported: what is compiled later comes from the sources as they were then.
_SOURCES = sources_digest()


def keep_code(dispatcher: Any, options: Iterable[str]) -> None:
    """Have Numba's dispatcher of an entry look for machine code where there may be some, and keep what it compiles."""
    if hasattr(dispatcher, "_cache"):
        # Code that was made with other options is another one, and so is that of the suite, which is optimized less.
        level = f"O{int(numba.config.OPT)}" + ("" if numba.config.LOOP_VECTORIZE else "s")
        stamp = (_SOURCES, level, *sorted(options))
        dispatcher._cache = _CodeCache(dispatcher.py_func, stamp)
    else:
        _warn_of_other_cache()


class _CodeCache:
    """Stands for the cache of a dispatcher, with the methods that Numba calls."""

    def __init__(self, function: Callable, stamp: tuple[str, ...]):
        self._function, self.stamp = function, stamp

    @property
    def in_wheel(self) -> ShippedCode:
        return shipped_code(self.stamp)

    @cached_property
    def _on_disk(self) -> Any:
        """The cache of Numba's, made when something was not found in a wheel: it writes into its folder."""
        return _stamped_cache(self._function, self.stamp)

    @property
    def cache_path(self) -> str | None:
        return self._on_disk.cache_path

    def load_overload(self, types_: Any, context: Any) -> Any:
        if _is_foreign(types_):
            return None
        code = self.in_wheel.load(self._function, types_, context) or self._on_disk.load_overload(types_, context)
        if code is None and self.in_wheel.why_not is not None:
            _say_why(self.in_wheel.why_not)
        return code

    def save_overload(self, types_: Any, code: Any) -> None:
        if not _is_foreign(types_):
            self._on_disk.save_overload(types_, code)

    def flush(self) -> None:
        self._on_disk.flush()


def _stamped_cache(function: Callable, stamp: tuple[str, ...]) -> Any:
    """The on-disk cache of a function, that depends on all sources of the package."""
    try:
        kept = caching.FunctionCache(function)
    except RuntimeError:
        return _Nowhere(_warn_of_no_folder)
    try:
        cache_file = kept._cache_file
        cache_file._source_stamp = (cache_file._source_stamp, stamp)
        _forgive_old_index(cache_file)
        _save_one_at_a_time(cache_file)
    except AttributeError:
        return _Nowhere(_warn_of_other_cache)
    return kept


class _Nowhere(caching.NullCache):
    """Keeps nothing, and says so when something is looked for."""

    def __init__(self, warn: Callable[[], None]):
        self._warn = warn

    def load_overload(self, types_: Any, context: Any) -> None:
        self._warn()


def _is_foreign(numba_type: Any) -> bool:
    """Whether a type, or one within it, is a part that is defined outside of this package."""
    part = getattr(numba_type, "instance_class", None)
    if part is not None and part.__module__.partition(".")[0] != __name__.partition(".")[0]:
        return True
    within = numba_type if isinstance(numba_type, tuple) else getattr(numba_type, "types", ())
    return any(map(_is_foreign, within))


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


@cache
def _say_why(why_not: str) -> None:
    """Say once why functions are compiled although a wheel has their machine code."""
    if not os.environ.get(QUIET):
        warnings.warn(
            f"frugalsvm compiles functions, as the machine code in its wheel cannot be used: {why_not}.",
            RuntimeWarning,
            stacklevel=2,
        )


@cache
def _warn_of_other_cache() -> None:
    """Say once that this Numba keeps machine code in another way."""
    warnings.warn(
        f"Numba {numba.__version__} keeps its cache elsewhere: frugalsvm compiles again in every process, since old "
        "machine code might be stale. It supports Numba 0.61 to 0.69.",
        RuntimeWarning,
        stacklevel=2,
    )


@cache
def _warn_of_no_folder() -> None:
    """Say once that Numba found no folder for its cache that it can write."""
    warnings.warn(
        "frugalsvm compiles again in every process: neither its own folder nor the user's cache folder can be written; "
        "set NUMBA_CACHE_DIR to a folder that can.",
        RuntimeWarning,
        stacklevel=2,
    )


def code_folder(function: Callable) -> str | None:
    """Where the machine code of an `entry` is on disk; None if it is not kept."""
    return getattr(getattr(function, "_cache", None), "cache_path", None)


def code_stamp(function: Callable) -> tuple[str, ...]:
    """What the machine code of an `entry` depends on, besides its types and the processor."""
    return function._cache.stamp  # type: ignore[attr-defined]


def code_in_wheel(function: Callable) -> ShippedCode | None:
    """The machine code in the wheel, or why it is not used; None where an `entry` is interpreted."""
    return getattr(getattr(function, "_cache", None), "in_wheel", None)
