"""Which sources machine code comes from, and a digest of them: where it has changed, code that was kept is stale."""

import hashlib
from pathlib import Path

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
    "cells/on_device.py",
    "cells/places.py",
    "cells/spill.py",
    "cells/trunk.py",
    "checks.py",
    "cli",
    "compiling",
    "compat",
    "conformal",
    "cost.py",
    "budgeted/learner.py",
    "budgeted/one_class.py",
    "budgeted/post_pass.py",
    "core/capabilities.py",
    "core/moments.py",
    "core/seen_rows.py",
    "dask",
    "datasets",
    "demo.py",
    "estimators",
    "exact/forgetting.py",
    "exceptions.py",
    "explain",
    "export",
    "installation.py",
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
    "compiling/crew.py",
    "compiling/crew_instructions.py",
    "compiling/functions.py",
    "compiling/in_place.py",
    "compiling/instructions.py",
    "compiling/pipeline.py",
    "datasets/deformed.py",
    "lowrank/directions.py",
    "lowrank/fourier.py",
    "lowrank/gram.py",
    "lowrank/landmark_blocks.py",
    "lowrank/losses",
    "lowrank/maps.py",
    "lowrank/near_margin.py",
    "lowrank/nystroem.py",
    "lowrank/row_products.py",
    "lowrank/subgradient.py",
    "lowrank/triangles.py",
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
