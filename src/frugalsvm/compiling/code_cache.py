"""Where the machine code of an entry comes from: the wheel, the disk, or the compiler, whose code is kept on disk.

**Why the cache on disk is stamped.** Numba decides whether a cached function is fresh by looking at the file that the
function is in, not at the files of the functions that it calls: after an edit of a callee, old machine code would run
silently. Each cache entry is therefore stamped with a digest of all sources of this package, and so is the machine code
in a wheel. The stamp lives in a private attribute of Numba's; where a future version moves it, the cache
is left off with a warning (slower starts, never stale code). Machine code for parts that are defined elsewhere, in
somebody's own module, is not kept on disk at all: their sources are not in the digest, and a process that cannot import
them could not read the cache.

**Machine code in a wheel.** Platform wheels have some, for processors of named levels, in the folder ``_machine_code``
of the package, where ``python -m frugalsvm.warming.wheel`` has put it. It is used if all that it depends on is as it
was when it was made: the sources of this package, the versions of Python, Numba and llvmlite; and if the processor has
all features of the level. Otherwise functions are compiled, and `ShippedCode.why_not` says why. There is no such folder
where the package runs from its sources. A level has two files: the code of all functions, each compressed, and an index
that says where each is. The compressed code has a digest, so that a damaged file is not run.
"""

import hashlib
import json
import os
import pickle
import platform
import sys
import warnings
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite
import numba
from llvmlite import binding
from numba.core import caching
from numba.core.compiler import CompileResult

import frugalsvm.compiling.events  # noqa: F401  # has compilations shown
from frugalsvm.compiling.baselines import baselines_here
from frugalsvm.compiling.digest import sources_digest
from frugalsvm.compiling.notice import QUIET

# --- code in a wheel -------------------------------------------------------------------------------------------------

_FOLDER = Path(__file__).parents[1] / "_machine_code"
MANIFEST = "manifest.json"


class Place(NamedTuple):
    """Where the machine code of a function is in its file, and the digest of these bytes."""

    offset: int
    size: int
    digest: str


class ShippedCode:
    """The machine code in a wheel, for one level of processors; or none, and why."""

    def __init__(self, level: str | None = None, folder: Path = _FOLDER, why_not: str | None = None):
        self.level, self.why_not = level, why_not
        self._folder = folder
        self._index: Mapping[str, Sequence[Any]] = {}
        self.n_loaded = 0
        if level is not None:
            self._index = json.loads((folder / f"{level}.json").read_text())

    def load(self, function: Callable, types: Any, context: Any) -> Any:
        """Numba's result of compiling a function of this package for types of arguments; None if it is not here."""
        if not (self._index and isinstance(types, tuple) and function.__module__.startswith(_PACKAGE)):
            return None
        name = piece_name(f"{function.__module__}.{function.__qualname__}", types, _digest_of_code(function))
        place = self._index.get(name)
        piece = None if place is None else self._read(Place(*place))
        if piece is None:
            return None
        code = _loaded(piece, types, context)
        self.n_loaded += code is not None
        return code

    def _read(self, place: Place) -> bytes | None:
        try:
            with (self._folder / f"{self.level}.bin").open("rb") as file:
                file.seek(place.offset)
                piece = file.read(place.size)
        except OSError:
            piece = b""
        if digest_of(piece) == place.digest:
            return piece
        self.why_not = f"{self.level}.bin in {self._folder} is damaged"
        return None


def _loaded(piece: bytes, types: tuple, context: Any) -> Any:
    library, description, environment, signature, *others = pickle.loads(zlib.decompress(piece))
    if signature.args != types:  # another type of the same name
        return None
    context.refresh()
    # Numba looks for the names of functions in LLVM's language, which was left out, before it asks for their addresses.
    context.codegen()._engine._defined_symbols.add(description.llvm_cpython_wrapper_name)
    return CompileResult._rebuild(context, library, description, environment, signature, *others)


_PACKAGE = __name__.partition(".")[0] + "."


def digest_of(content: bytes) -> str:
    """Digest of the bytes of a piece, or of its name."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def _digest_of_code(function: Callable) -> str:
    """Digest of what Python has compiled, as Numba has it."""
    return hashlib.sha256(function.__code__.co_code).hexdigest()


def piece_name(function: str, types: Any, code: str) -> str:
    """The name of machine code in an index: types of Numba's have names that differ wherever they do."""
    return f"{function} {digest_of(repr((str(types), code)).encode())}"


def made_with(stamp: Sequence[str]) -> dict[str, Any]:
    """What machine code of this process depends on, besides its types and the processor."""
    return {
        "format": 1,
        "system": f"{sys.platform} {platform.machine()}",
        "Python": f"{sys.implementation.cache_tag}{getattr(sys, 'abiflags', '')}",
        "Numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
        "sources": list(stamp),
    }


@cache
def shipped_code(stamp: tuple[str, ...], folder: Path = _FOLDER) -> ShippedCode:
    """The best machine code of the wheel for this process."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text())
        why_not = _difference(manifest, made_with(stamp))
        return ShippedCode(why_not=why_not) if why_not else _best_level(manifest["levels"], folder)
    except (FileNotFoundError, NotADirectoryError) as error:
        # A pure wheel, sources, or a package that is imported from an archive; or the index of a level is missing.
        return ShippedCode(why_not=f"{error.filename} is missing" if folder.is_dir() else None)
    except (OSError, ValueError):
        return ShippedCode(why_not=f"files in {folder} cannot be read")


def _difference(manifest: Mapping[str, Any], here: Mapping[str, Any]) -> str | None:
    """What keeps machine code from being used, in words."""
    for name in ("format", "system", "Python", "Numba", "llvmlite"):
        if manifest.get(name) != here[name]:
            return f"it was made for {name} {manifest.get(name)}, and this is {here[name]}"
    if manifest.get("sources") != here["sources"]:
        return "it was made from other sources of frugalsvm, or with other options"
    if numba.config.CPU_NAME is not None or numba.config.CPU_FEATURES is not None:
        return "NUMBA_CPU_NAME or NUMBA_CPU_FEATURES asks for another processor"
    return None


def features_here() -> set[str]:
    """The features of this processor, by LLVM's names; none where LLVM cannot find them out."""
    try:
        return {name for name, is_there in binding.get_host_cpu_features().items() if is_there}
    except RuntimeError:
        return set()


def processor_here() -> str:
    """The processor that code is compiled for, by LLVM's name."""
    return numba.config.CPU_NAME or binding.get_host_cpu_name()


def _best_level(made_for: Collection[str], folder: Path) -> ShippedCode:
    """The first level that there is code for and that this processor reaches."""
    features = features_here()
    lacking: list[str] = []
    for baseline in baselines_here():
        if baseline.name in made_for:
            lacking = baseline.lacking(features)
            if not lacking:
                return ShippedCode(baseline.name, folder)
    missing = ", ".join(lacking[:3]) + (", ..." if len(lacking) > 3 else "")
    return ShippedCode(why_not=f"it is for {' or '.join(made_for)}, and this processor has no {missing}")


# --- code on disk ----------------------------------------------------------------------------------------------------


@contextmanager
def one_writer(path: str | os.PathLike) -> Iterator[None]:
    """Context that one process at a time is in, for a file.

    The system locks a file beside it, ``path + ".lock"``, and unlocks it when the process ends, however that happens;
    the file stays. Where the system has no such locks (Windows, some network file systems), no process waits.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    descriptor = os.open(f"{os.fspath(path)}.lock", os.O_RDWR | os.O_CREAT, 0o666)
    try:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)  # which unlocks it


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
