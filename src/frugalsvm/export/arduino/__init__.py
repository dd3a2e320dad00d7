"""The layout of folders that Arduino and PlatformIO expect of a library."""

from pathlib import Path

from frugalsvm._version import __version__
from frugalsvm.export._c_files import c_file, filled, named
from frugalsvm.export._files import write_file

__all__ = ["write_library"]

_FILES = ("library.properties", "library.json")
_WORDS = {  # what a sketch does, whose own lines are in a file of the same name
    "class": "Predicts from sensors, and learns the class that is sent over the serial line: a digit is its index.",
    "number": "Predicts a number from sensors, and learns the one that is sent over the serial line.",
    "nothing": "Learns what sensors usually say, and tells of what is unusual.",
    "predictor": "Predicts from sensors.",
}


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
    write_file(example / f"{name}.ino", named(_sketch(sketch, real), name) + "\n")
    return write_file(library / "src" / f"{name}.h", header), write_file(library / "src" / f"{name}.c", source)


def _sketch(kind: str, real: str) -> str:
    """The example: it reads sensors, predicts, and learns if the model does."""
    learns = kind != "predictor"
    return filled(
        c_file("arduino", "sketch.ino"),
        words=_WORDS[kind],
        learner="static name_context learner;\n" if learns else "",
        begin="    name_init(&learner);" if learns else "",
        real=real,
        body=c_file("arduino", f"{kind}.ino"),
    )


def _plain_version() -> str:
    """Three numbers, which is all that these formats know."""
    numbers = [part for part in __version__.split(".") if part.isdigit()][:3]
    return ".".join([*numbers, "0", "0"][:3])
