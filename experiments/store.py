"""Results on disk: one small JSON file each, written whole or not at all, so that a run can be stopped and resumed."""

import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any

from experiments.tasks import Task, versions

__all__ = ["Store"]


class Store:
    """Results by the keys of their tasks.

    Parameters
    ----------
    folder : path, default="output/experiments"
        Made when the first result comes.
    """

    def __init__(self, folder="output/experiments"):
        self.folder = Path(folder)

    def path(self, task: Task) -> Path:
        """Where the result of a task is, or will be."""
        key = task.key
        return self.folder / "results" / key[:2] / f"{key}.json"

    def get(self, task: Task) -> dict[str, Any] | None:
        """The result of a task, with those of the tasks it needs; None if it is not there."""
        if task.needs is not None:
            chosen = self.get(task.needs)
            return None if chosen is None else self.get(task.resolved(chosen))
        try:
            return json.loads(self.path(task).read_text())["result"]
        except FileNotFoundError:
            return None

    def put(self, task: Task, result: dict[str, Any], seconds: float) -> None:
        """Keep a result, with all that is needed to get it again."""
        record = {
            "work": task.work,
            "settings": task.settings,
            "seed": task.seed,
            "versions": versions(),
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
        """Everything that was kept of a task without needs."""
        try:
            return json.loads(self.path(task).read_text())
        except FileNotFoundError:
            return None
