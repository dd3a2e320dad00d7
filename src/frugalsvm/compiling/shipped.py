"""Machine code that came with the package: platform wheels have some, for processors of named levels.

It is in the folder ``_machine_code`` of the package, where ``python -m frugalsvm.warming.wheel`` has put it. It is used
if all that it depends on is as it was when it was made: the sources of this package, the versions of Python, Numba and
llvmlite; and if the processor has all features of the level. Otherwise functions are compiled, and
`ShippedCode.why_not` says why. There is no such folder where the package runs from its sources.

A level has two files: the code of all functions, each compressed, and an index that says where each is. The compressed
code has a digest, so that a damaged file is not run.
"""

import hashlib
import json
import pickle
import platform
import sys
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite
import numba
from llvmlite import binding
from numba.core.compiler import CompileResult

from frugalsvm.compiling.baselines import baselines_here

__all__ = [
    "MANIFEST",
    "Place",
    "ShippedCode",
    "digest_of",
    "features_here",
    "made_with",
    "piece_name",
    "processor_here",
    "shipped_code",
]

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
