"""Many cores: ``python -m benchmarks.cores [--only PART ...] [--threads N ...] [--names WORD ...]``.

======== =====================================================================================================
asset    fits of low-rank machines on 1, 2, 4, ... threads; PyTorch on all of them, where it is installed
bsgd     fits of budgeted SGD
predict  predictions for 100 000 rows by all estimators
cold     first fits of new processes, with and without machine code on disk
peers    boosted trees (and ``--svc``) beside ASSET, BSGD and LASVM-NC
======== =====================================================================================================

"limit" is the time of the kernel values alone, computed in blocks on as many threads; that of BSGD, which learns one
example after the other, is for one thread, and its "limit ratio" the time over it. Results go to ``output/cores.json``;
parts that are measured later are added to it, so that a long measurement can be made in pieces (``--names`` has those
of the problems or estimators in whose name one of the words is).

``--only asset --made-up --threads 1 2 4 8 16 32`` takes two minutes on 16 cores and needs no data: rows are made up, in
the shape of MNIST and Covertype. "bits" are those of the model: the same on any number of threads.
"""

import argparse
import datetime
import json
from pathlib import Path

from rich.console import Console

from benchmarks.__main__ import machine
from benchmarks.cores_cold import cold_rows
from benchmarks.cores_fits import asset_rows, bsgd_rows
from benchmarks.cores_peers import peer_rows
from benchmarks.cores_predict import predict_rows
from benchmarks.printing import table
from benchmarks.threads_limit import thread_counts
from frugalsvm.compiling.threads import thread_count

PARTS = {"asset": asset_rows, "bsgd": bsgd_rows, "predict": predict_rows, "cold": cold_rows, "peers": peer_rows}
BY_THREADS = ("asset", "bsgd", "predict")
KEYS = ("problem", "model", "threads")  # a row that was measured again replaces the one with the same


class Options(argparse.Namespace):
    threads: list[int]
    names: list[str]
    svc: bool
    made_up: bool
    torch: bool

    def wanted(self, name):
        """Whether a problem or an estimator is to be measured."""
        return not self.names or any(word.lower() in name.lower() for word in self.names)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), help="parts (default: all)")
    parser.add_argument("--threads", nargs="+", type=int, default=thread_counts(thread_count(-1)))
    parser.add_argument("--names", nargs="+", default=[], help="problems or estimators with one of these words")
    parser.add_argument("--svc", action="store_true", help="SVC too, which takes minutes")
    parser.add_argument("--made-up", action="store_true", help="ASSET on made-up rows in the shape of real ones")
    parser.add_argument("--no-torch", dest="torch", action="store_false", help="without PyTorch beside ASSET")
    parser.add_argument("--json", type=Path, default=Path("output/cores.json"), help="where results go")
    options = parser.parse_args(namespace=Options())
    console = Console(width=140)
    for part in options.only:
        rows = []
        for row in PARTS[part](options):
            rows.append(row)
            console.print(_as_line(row))
        if rows:
            console.print(_table_of(part, save(options.json, part, rows)))
    console.print(f"Results are in {options.json}")


def save(path, part, rows):
    """Add rows to the results that are there; returns all rows of the part."""
    results = json.loads(path.read_text()) if path.exists() else {"parts": {}}
    measured = {_key(row): row for row in (*results["parts"].get(part, []), *rows)}
    results["parts"][part] = _with_speedup(list(measured.values())) if part in BY_THREADS else list(measured.values())
    results.update(date=datetime.date.today().isoformat(), machine={**machine(), "cores": thread_count(-1)})
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results, indent=1))
    return results["parts"][part]


def _with_speedup(rows):
    """Rows that say how many times faster than one thread they are, where that was measured."""
    alone = {row["problem"]: row["seconds"] for row in rows if row["threads"] == 1}
    known = [row for row in rows if row["problem"] in alone]
    for row in known:
        row["speedup"] = alone[row["problem"]] / row["seconds"]
    return rows


def _key(row):
    return tuple(row.get(name) for name in KEYS)


def _table_of(part, rows):
    names = list(dict.fromkeys(name for row in rows for name in row))
    made = table(part, *("data" if name == "problem" else name.replace("_", " ") for name in names))
    for row in rows:
        made.add_row(*(_shown(row.get(name, "")) for name in names))
    return made


def _as_line(row):
    numbers = (f"{name.replace('_', ' ')} {_shown(value)}" for name, value in row.items() if name != "problem")
    return f"{row['problem']}: {', '.join(numbers)}"


def _shown(value):
    return f"{value:.3g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)


if __name__ == "__main__":
    main()
