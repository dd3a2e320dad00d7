"""What is done for a platform wheel, each in a process of its own: compiling for a level of processors, and packing."""

import pickle
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path

from frugalsvm.compiling.baselines import Baseline, baselines_here
from frugalsvm.compiling.threads import thread_count


def warm(n_jobs: int) -> None:
    """Run all recipes, for the level that the environment asks for."""
    from frugalsvm.warming import warm_up

    result = warm_up(sparse=True, n_jobs=n_jobs)
    print(f"{result.n_compiled} functions compiled in {result.folder}")


def compile_as(level: str, folder: str, n_jobs: int) -> None:
    """Compile what a folder has for a level, for the level that the environment asks for; nothing is run."""
    from frugalsvm.compiling.packing import kept_types

    functions = list(kept_types(Path(folder), _stamp(), _level(level)))
    with ProcessPoolExecutor(thread_count(n_jobs), get_context("spawn")) as processes:
        for _ in processes.map(_compile, functions):  # raises what a process has raised
            pass
    print(f"{len(functions)} functions compiled, and not run")


def _compile(what: tuple[str, str, bytes]) -> None:
    module, function, types = what
    getattr(import_module(module), function).compile(pickle.loads(types))


def pack(work: str, levels: Sequence[str], folder: str) -> None:
    """Write the files of the wheel."""
    from frugalsvm.compiling.packing import pack_level, write_manifest

    stamp = _stamp()
    for level in levels:
        n_functions = pack_level(Path(work) / level, stamp, _level(level), Path(folder))
        print(f"{level}: {n_functions} functions")
    write_manifest(stamp, levels, Path(folder))


def _level(name: str) -> Baseline:
    return next(level for level in baselines_here() if level.name == name)


def _stamp() -> tuple[str, ...]:
    """What all machine code of this package depends on: that of any function tells."""
    from frugalsvm.compiling.code_cache import code_stamp
    from frugalsvm.core.dense_scores import score_some

    return code_stamp(score_some)
