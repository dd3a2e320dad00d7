"""Hyper-parameters by cross-validation on training rows only.

All candidates of a grid are tried on a few random splits of the training rows; the best of them on more, because single
runs of an online learner scatter. What was chosen is recorded in ``chosen.json`` beside the protocol, and used from
there unless ``--tune`` asks for it again.
"""

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import ShuffleSplit

from experiments.data import scaled, split
from experiments.tasks import Task
from experiments.work import new_estimator

__all__ = ["Choices", "candidates_of", "choose"]


def choose(settings: dict[str, Any], seed: int) -> dict[str, Any]:
    """The candidate with the best mean accuracy on held-out training rows.

    Settings
    --------
    data, rows : see `experiments.data.split`; so many training rows are used
    scalings : list of scalings to try
    estimator, fixed : as in `experiments.work.accuracy`
    grid : lists of values by parameter; those of gamma are factors of 1 / (features x variance)
    rounds : pairs of a number of splits and of how many candidates stay
    last : optional, a last round with other ``rows`` and ``splits``: the best parameters depend on the number of rows
    """
    X, y, _, _ = split(settings["data"], seed, settings.get("rows"))
    candidates, accuracy = _narrowed(settings, candidates_of(settings, X), X, y, settings["rounds"])
    if last := settings.get("last"):
        X, y, _, _ = split(settings["data"], seed, last["rows"])
        candidates, accuracy = _narrowed(settings, candidates, X, y, [(last["splits"], 1)])
    return {"chosen": candidates[0], "held_out_accuracy": 100 * accuracy}


def _narrowed(settings, candidates, X, y, rounds) -> tuple[list[dict[str, Any]], float]:
    """The candidates that stay after some rounds, best first, and the accuracy of the best."""
    n_splits = max(count for count, _ in rounds)
    splits = list(ShuffleSplit(n_splits, test_size=0.2, random_state=1).split(X))
    for count, kept in rounds:
        scores = np.array([_held_out(settings, candidate, X, y, splits[:count]) for candidate in candidates])
        best = np.argsort(-scores, kind="stable")[:kept]
        candidates = [candidates[i] for i in best]
    return candidates, float(scores[best[0]])


def candidates_of(settings, X) -> list[dict[str, Any]]:
    """All scalings and values of the grid; gammas of it are factors of 1 / (features x variance)."""
    grid = settings["grid"]
    candidates = []
    for scaling in settings["scalings"]:
        rows = scaled(scaling, X)[0]
        unit = 1 / (rows.shape[1] * float(rows.var()))
        for values in itertools.product(*grid.values()):
            tuned = dict(zip(grid, values, strict=True))
            if "gamma" in tuned:
                tuned["gamma"] = float(f"{tuned['gamma'] * unit:.3g}")
            candidates.append({"scaling": scaling, "tuned": tuned})
    return candidates


def _held_out(settings, candidate, X, y, splits) -> float:
    scores = []
    for number, (train, held) in enumerate(splits):
        known, unknown = scaled(candidate["scaling"], X[train], X[held])
        parameters = {**settings.get("fixed", {}), **candidate["tuned"]}
        model = new_estimator(settings["estimator"], parameters, number)
        scores.append(model.fit(known, y[train]).score(unknown, y[held]))
    return float(np.mean(scores))


class Choices:
    """What was chosen before, by name; and the tasks that choose what was not.

    Parameters
    ----------
    path : path
        The ``chosen.json`` of a paper.
    again : bool, default=False
        Choose everything again.
    """

    def __init__(self, path: Path, again: bool = False):
        self.path = path
        self.recorded = _read_choices(path)
        self.tasks: dict[str, Task] = {}
        self._again = again

    def task(self, task: Task, name: str, choosing: Task) -> Task:
        """A task with recorded parameters, or one that needs them to be chosen."""
        if name in self.recorded and not self._again:
            return task.resolved({"chosen": self.recorded[name]})
        self.tasks[name] = choosing
        return Task(task.work, task.settings, task.seed, task.names, choosing, task.seconds)

    def record(self, store) -> int:
        """Write what the store has of the choosing tasks; how many there were."""
        found = {name: result["chosen"] for name, task in self.tasks.items() if (result := store.get(task))}
        if found:
            # Read again: another run may have recorded choices of its own meanwhile.
            known = {**_read_choices(self.path), **found}
            lines = [f" {json.dumps(name)}: {json.dumps(chosen)}" for name, chosen in sorted(known.items())]
            temporary = self.path.with_suffix(".tmp")
            temporary.write_text("{\n" + ",\n".join(lines) + "\n}\n")
            temporary.replace(self.path)
        return len(found)


def _read_choices(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text()) if path.exists() else {}
