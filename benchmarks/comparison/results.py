"""Results as lines of JSON: a line for each cell, and one for each machine, which cells name."""

import datetime
import hashlib
import json
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks.comparison.plan import Cell

__all__ = ["KEPT", "Results", "key_of", "machine_here", "today", "written"]

KEPT = Path(__file__).parent / "results"
KEYS = Cell._fields
DEFAULTS = Cell._field_defaults
DIGITS = 5
PACKAGES = (
    "numpy", "numba", "scikit-learn", "lightgbm", "xgboost", "xgboost-cpu", "catboost", "xrfm", "liquidSVM", "pytabkit",
    "torch", "river",
)  # fmt: skip


def key_of(row):
    return tuple(row.get(name, DEFAULTS.get(name)) for name in KEYS)


class Results:
    """Cells of some files; of a cell that several have the last one counts, rather of a machine without a note."""

    def __init__(self, *paths):
        self.machines, self.cells, self.streams = {}, {}, {}
        for path in paths:
            self.read(path)

    def read(self, path):
        for line in path.read_text().splitlines() if path.exists() else ():
            try:
                self._add(json.loads(line))
            except json.JSONDecodeError:  # the last line of a run that was stopped
                continue

    def _add(self, row):
        if "processor" in row:
            self.machines[row["machine"]] = row
        elif "stream" in row:
            self.streams[row["stream"], row["peer"], row.get("seed", 0)] = row
        elif not self.was_busy(row) or self.was_busy(self.cells.get(key_of(row))):
            self.cells[key_of(row)] = row

    def was_busy(self, row):
        return row is None or "note" in self.machines.get(row.get("machine"), {})

    @classmethod
    def kept(cls):
        """Those in the repository."""
        return cls(*sorted(KEPT.glob("*.jsonl")))


def written(path, row):
    """Add a line in one piece, without what is usual and digits that mean nothing."""
    row = {name: _short(value) for name, value in row.items() if value != DEFAULTS.get(name, ...)}
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(json.dumps(row, separators=(",", ":")) + "\n")


def _short(value):
    if isinstance(value, dict):
        return {name: _short(each) for name, each in value.items()}
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def machine_here(n_threads, n_lanes, note=""):
    """What is known of this machine, with a name made of it."""
    import frugalsvm

    found = {
        "processor": _processor(), "cores": n_threads, "lanes": n_lanes, "python": platform.python_version(),
        "frugalsvm": frugalsvm.__version__, **_versions(), **({"note": note} if note else {}),
    }  # fmt: skip
    name = hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()[:6]
    return {"machine": name, **found}


def _processor():
    """Its kind; its model where Linux tells it."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.exists() else ()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{platform.machine()}, {models[0]}" if models else platform.machine()


def _versions():
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def today():
    return datetime.date.today().isoformat()
