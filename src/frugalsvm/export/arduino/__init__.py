"""The layout of folders that Arduino and PlatformIO expect of a library."""

from pathlib import Path

from frugalsvm._version import __version__
from frugalsvm.export._c_files import c_file, filled, named
from frugalsvm.export._files import write_file

__all__ = ["write_library"]

_FILES = ("library.properties", "library.json")


def write_library(
    folder: Path, name: str, header: str, source: str, sketch: str, real: str = "float"
) -> tuple[Path, Path]:
    """Write a library of the name into a folder, with an example; ``sketch`` is which, ``real`` the type of rows."""
    library = folder / name
    example = library / "examples" / name
    for each in (folder, library, library / "src", library / "examples", example):
        each.mkdir(exist_ok=True)
    for file in _FILES:
        text = filled(c_file("arduino", file), name=name, version=_plain_version())
        write_file(library / file, text + "\n")
    write_file(example / f"{name}.ino", named(filled(c_file("arduino", f"{sketch}.ino"), real=real), name) + "\n")
    return write_file(library / "src" / f"{name}.h", header), write_file(library / "src" / f"{name}.c", source)


def _plain_version() -> str:
    """Three numbers, which is all that these formats know."""
    numbers = [part for part in __version__.split(".") if part.isdigit()][:3]
    return ".".join([*numbers, "0", "0"][:3])
