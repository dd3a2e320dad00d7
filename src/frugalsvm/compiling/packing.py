"""Packs machine code from Numba's cache on disk into the two files of a level that `code_cache.py` reads."""

import hashlib
import json
import pickle
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numba
from llvmlite import ir
from llvmlite.binding import parse_assembly
from numba.core.serialize import dumps

from frugalsvm.compiling.baselines import Baseline
from frugalsvm.compiling.code_cache import MANIFEST, Place, digest_of, made_with, piece_name

_NO_CLOSURE = hashlib.sha256(b"").hexdigest()


class _Kept(NamedTuple):
    """A compiled function as Numba keeps it."""

    module: str
    function: str
    types: tuple
    code: str  # digest of what Python has compiled
    result: tuple


def kept_types(cache_folder: Path, stamp: Sequence[str], level: Baseline) -> Iterator[tuple[str, str, bytes]]:
    """The functions that Numba keeps in a folder: module, name, and types for which there is machine code, pickled."""
    for kept in _kept(cache_folder, stamp, level):
        yield kept.module, kept.function, dumps(kept.types)


def pack_level(cache_folder: Path, stamp: Sequence[str], level: Baseline, folder: Path) -> int:
    """Write the machine code that Numba keeps in a folder, for a level; returns how many functions there are.

    Code with another stamp, or for other processors, is left where it is.
    """
    index: dict[str, Place] = {}
    with (folder / f"{level.name}.bin").open("wb") as file:
        for kept in _kept(cache_folder, stamp, level):
            name = piece_name(f"{kept.module}.{kept.function}", kept.types, kept.code)
            piece = zlib.compress(_smaller(kept.result), 9)
            if name in index:
                raise ValueError(f"There is other machine code for {name}: empty {cache_folder}.")
            index[name] = Place(file.tell(), len(piece), digest_of(piece))
            file.write(piece)
    (folder / f"{level.name}.json").write_text(json.dumps(index))
    return len(index)


def write_manifest(stamp: Sequence[str], levels: Sequence[str], folder: Path) -> None:
    """Say what the machine code in a folder was made with."""
    (folder / MANIFEST).write_text(json.dumps({**made_with(stamp), "levels": list(levels)}, indent=1))


def _kept(cache_folder: Path, stamp: Sequence[str], level: Baseline) -> Iterator[_Kept]:
    for index_file in sorted(cache_folder.rglob("*.nbi")):
        with index_file.open("rb") as file:
            if pickle.load(file) != numba.__version__:
                continue
            (_, own_stamp), overloads = pickle.load(file)
        if own_stamp == tuple(stamp):
            for (types, (_, *processor), (code, closure)), file_name in overloads.items():
                if closure == _NO_CLOSURE and processor == [level.cpu, level.features]:
                    result = pickle.loads(index_file.with_name(file_name).read_bytes())
                    yield _Kept(result[1].modname, result[1].qualname, types, code, result)


def _smaller(result: tuple) -> bytes:
    """What Numba keeps of a compiled function, without what is needed to compile it into others, and its types."""
    (name, kind, (machine_code, _)), *others = result
    others[5] = ""  # the annotations of types, for people
    return dumps(((name, kind, (machine_code, _nothing())), *others))


def _nothing() -> bytes:
    """A module of LLVM's language with nothing in it."""
    return parse_assembly(str(ir.Module("nothing"))).as_bitcode()
