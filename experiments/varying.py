"""One cell with other settings: an experiment that says why it is worse, where a guess would not do."""

import json
from copy import deepcopy
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from experiments.tasks import Task
from frugalsvm.estimators.labels import is_numeral

__all__ = ["SEEDS", "measured", "parsed_changes", "variations"]

# Added to every seed: neither first results nor confirmations nor searches have seen these.
SEEDS = 20_000

Changes = dict[str, list[Any]]


def parsed_changes(texts: list[str]) -> Changes:
    """``["tuned.gamma=x0.5,x2", "scaling=range"]`` as values by the places of settings; ``x2`` means twice as much."""
    changes: Changes = {}
    for text in texts:
        place, equals, values = text.partition("=")
        if not equals or not place or not values:
            raise ValueError(f"{text!r} is no change; write PLACE=VALUE,VALUE as in tuned.gamma=x0.5,x2.")
        changes[place] = [_value(value) for value in values.split(",")]
    return changes


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def variations(task: Task, changes: Changes, n_seeds: int) -> dict[str, list[Task]]:
    """Repetitions of a task for each combination of changes, by words that say what is changed."""
    found = {}
    for values in product(*changes.values()):
        words, settings = [], deepcopy(task.settings)
        for place, value in zip(changes, values, strict=True):
            words.append(f"{place}={_put(settings, place, value)}")
        name = " ".join(words) or "as it is"
        found[name] = [
            replace(task, settings=settings, seed=SEEDS + seed, names={**task.names, "changed": name, "seed": seed})
            for seed in range(n_seeds)
        ]
    return found


def _put(settings: dict[str, Any], place: str, value: Any) -> Any:
    """Change one setting; what it is now."""
    *above, name = place.split(".")
    for part in above:
        settings = settings.setdefault(part, {})
    if isinstance(value, str) and value[:1] == "x" and is_numeral(value[1:]):
        if name not in settings:
            raise ValueError(f"{place} has no value that {value} could multiply.")
        value = float(f"{settings[name] * float(value[1:]):.6g}")
    settings[name] = value
    return value


def measured(results: list[dict[str, Any] | None]) -> str:
    """Mean and deviation of what repetitions measure, and how long one takes."""
    there = [result for result in results if result is not None]
    if not there:
        return "nothing"
    part = "accuracy" if "accuracy" in there[0] else "error"
    values = [result[part] for result in there]
    seconds = np.mean([result["seconds"] for result in there])
    return f"{part} {np.mean(values):.2f} ± {np.std(values):.2f} of {len(values)} ({seconds:.1f} s each)"
