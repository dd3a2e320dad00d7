"""Results on disk: one small JSON file each, written whole or not at all, so that a run can be stopped and resumed."""

import json
import os
import platform
import tempfile
import time
from pathlib import Path
from typing import Any

from experiments.kept import KeptResult, KeptResults
from experiments.tasks import Task, digest_of, versions

__all__ = ["Store"]


class Store:
    """Results by the keys of their tasks.

    Parameters
    ----------
    folder : path, default="output/experiments"
        Made when the first result comes.
    kept : KeptResults, default=None
        Results that are taken where the folder has none.
    """

    def __init__(self, folder="output/experiments", kept: KeptResults | None = None):
        self.folder = Path(folder)
        self.kept = kept or KeptResults()

    def path(self, task: Task) -> Path:
        """Where the result of a task is, or will be."""
        key = task.key
        return self.folder / "results" / key[:2] / f"{key}.json"

    def get(self, task: Task) -> dict[str, Any] | None:
        """The result of a task, with those of the tasks it needs; None if it is not there."""
        if task.needs is not None:
            chosen = self.get(task.needs)
            return None if chosen is None else self.get(task.resolved(chosen))
        record = self.record(task)
        return None if record is None else record["result"]

    def put(self, task: Task, result: dict[str, Any], seconds: float) -> None:
        """Keep a result, with all that is needed to get it again."""
        record = {
            "work": task.work,
            "settings": task.settings,
            "seed": task.seed,
            "versions": versions(),
            "machine": platform.machine(),
            "seconds": seconds,
            "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "result": result,
        }
        path = self.path(task)
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=path.parent, suffix=".tmp", delete=False) as file:
            json.dump(record, file, indent=1)
        os.replace(file.name, path)

    def record(self, task: Task) -> dict[str, Any] | None:
        """All that is known of a task without needs: ``result``, ``seconds``, and more of what the folder has."""
        try:
            return json.loads(self.path(task).read_text())
        except FileNotFoundError:
            kept = self.kept.get(task)
            if kept is None:
                return None
            versions = {name: version for name, version in kept.environment.items() if name != "machine"}
            machine = kept.environment.get("machine", "an unknown machine")
            return {"result": kept.result, "seconds": kept.seconds, "machine": machine, "versions": versions}

    def everything(self) -> dict[tuple[str, int], KeptResult]:
        """Results by digest and seed of their tasks, whatever the versions; of several in the folder the latest."""
        found = dict(self.kept.by_task)
        records = (json.loads(path.read_text()) for path in self.folder.glob("results/*/*.json"))
        for record in sorted(records, key=lambda record: record["finished"]):
            environment = {key: record[key] for key in ("machine",) if key in record} | record["versions"]
            key = digest_of(record["work"], record["settings"]), record["seed"]
            found[key] = KeptResult(record["result"], record["seconds"], environment)
        return found
