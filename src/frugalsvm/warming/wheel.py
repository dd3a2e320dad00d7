"""Platform wheels: the pure wheel and machine code, so that no first fit has to wait.

``python -m frugalsvm.warming.wheel dist/frugalsvm-*-none-any.whl`` compiles the sources in that wheel for the named
levels of processors of this architecture (`frugalsvm.compiling.baselines`), and writes a wheel for this Python and this
system beside it. It may be used wherever the wheel of Numba may that is installed here. Processors of other makers need
a run on a machine of theirs.

The recipes of `frugalsvm.warm_up` are run on a level that this processor reaches. For the others, the same functions
are compiled for the same types, and not run.
"""

import argparse
import base64
import csv
import hashlib
import io
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Sequence
from importlib.metadata import distribution
from pathlib import Path

from frugalsvm.compiling.baselines import Baseline, baselines_here

_FOLDER = "frugalsvm/_machine_code"
_MOST_MEGABYTES = 40.0


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m frugalsvm.warming.wheel", description=__doc__.partition("\n")[0])
    parser.add_argument("wheel", type=Path, help="the pure wheel")
    parser.add_argument("--work", type=Path, default=Path("output/machine_code"), help="folder for compiled code; kept")
    parser.add_argument("--jobs", type=int, default=-1, help="number of processes; -1 is one for each core")
    given = parser.parse_args(arguments)
    wheel = platform_wheel(given.wheel, given.work.resolve(), given.jobs)
    print(wheel, f"{wheel.stat().st_size / 1e6:.1f} MB")


def platform_wheel(pure: Path, work: Path, n_jobs: int = -1) -> Path:
    """Write a wheel with machine code beside a pure one; returns its path."""
    if not pure.name.endswith("-none-any.whl"):
        raise ValueError(f"{pure} is not a pure wheel: its name should end with -none-any.whl")
    sources, packed = work / "sources", work / "packed"
    for folder in (sources, packed):
        shutil.rmtree(folder, ignore_errors=True)
    packed.mkdir(parents=True)
    with zipfile.ZipFile(pure) as archive:
        archive.extractall(sources)
    levels = _runnable_first(baselines_here())
    if not levels:
        raise RuntimeError(
            "This processor reaches no named level, on which the recipes could be run: use the pure wheel."
        )
    first, *others = levels
    _run(f"warm({n_jobs})", first, sources, work)
    for level in others:
        _run(f"compile_as({first.name!r}, {str(work / first.name)!r}, {n_jobs})", level, sources, work)
    _run(f"pack({str(work)!r}, {[level.name for level in levels]}, {str(packed)!r})", None, sources, work)
    wheel = pure.with_name(pure.name.replace("py3-none-any", _own_tag()))
    _write_wheel(wheel, pure, sorted(packed.iterdir()))
    return wheel


def _runnable_first(levels: Iterable[Baseline]) -> list[Baseline]:
    """Levels, the first of which this processor reaches; none if it reaches none."""
    from frugalsvm.compiling.code_cache import features_here

    features = features_here()
    ordered = sorted(levels, key=lambda level: len(level.lacking(features)) > 0)
    return ordered if ordered and not ordered[0].lacking(features) else []


def _run(call: str, level: Baseline | None, sources: Path, work: Path) -> None:
    """Call a function of `compiling_for` in a process that has the sources of the wheel, and compiles for a level."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    environment |= {"PYTHONPATH": str(sources), "FRUGALSVM_QUIET": "1"}
    if level is not None:
        environment |= {"NUMBA_CACHE_DIR": str(work / level.name), **level.environment}
    code = f"from frugalsvm.warming.shipping import *\nif __name__ == '__main__':\n    {call}"
    subprocess.run([sys.executable, "-c", code], env=environment, cwd=work, check=True)


def _own_tag() -> str:
    """The tag of Numba's wheel: what is compiled by it needs what it needs."""
    lines = (distribution("numba").read_text("WHEEL") or "").splitlines()
    tags = [line.removeprefix("Tag: ").split("-") for line in lines if line.startswith("Tag: ")]
    if not tags:
        raise RuntimeError("Numba was not installed from a wheel: install it by pip.")
    python, abi, _ = tags[0]
    return f"{python}-{abi}-{'.'.join(platform for *_, platform in tags)}"


def _write_wheel(wheel: Path, pure: Path, files: Sequence[Path]) -> None:
    """The pure wheel with more files, another tag, and digests of all."""
    rows: list[tuple[str, str, int | str]] = []
    with zipfile.ZipFile(pure) as old, zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as new:
        infos = {info.filename: info for info in old.infolist()}
        (record,) = (name for name in infos if name.endswith(".dist-info/RECORD"))
        date = infos.pop(record).date_time

        def add(info: zipfile.ZipInfo, content: bytes) -> None:
            info.compress_type = zipfile.ZIP_DEFLATED
            new.writestr(info, content)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            rows.append((info.filename, f"sha256={digest}", len(content)))

        for name, info in infos.items():
            content = old.read(name)
            add(info, _with_tag(content, wheel) if name.endswith(".dist-info/WHEEL") else content)
        for file in files:
            info = zipfile.ZipInfo(f"{_FOLDER}/{file.name}", date)
            info.external_attr = 0o644 << 16
            add(info, file.read_bytes())
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([*rows, (record, "", "")])
        new.writestr(zipfile.ZipInfo(record, date), text.getvalue())
    if wheel.stat().st_size > 1e6 * _MOST_MEGABYTES:
        raise RuntimeError(f"{wheel} is larger than {_MOST_MEGABYTES:.0f} MB: ship fewer recipes.")


def _with_tag(content: bytes, wheel: Path) -> bytes:
    """The file WHEEL for a wheel of another name."""
    python, abi, platforms = wheel.stem.split("-")[-3:]
    kept = [
        line for line in content.decode().splitlines() if line and not line.startswith(("Tag:", "Root-Is-Purelib:"))
    ]
    tags = [f"Tag: {python}-{abi}-{each}" for each in platforms.split(".")]
    return "\n".join([*kept, "Root-Is-Purelib: false", *tags, ""]).encode()


if __name__ == "__main__":
    main()
