"""Protocols: what is run for each experiment, read from ``protocol.toml`` of its paper."""

import tomllib
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from experiments.printed import read_printed
from experiments.results import Experiment
from experiments.tasks import Task
from experiments.tuning import Choices

__all__ = [
    "CONFIRMATION_SEEDS",
    "PAPERS",
    "PROFILES",
    "all_experiments",
    "choices_of",
    "folder_of",
    "planned",
    "profile_of",
    "protocol_of",
]

PAPERS = ("bsgd", "tvm", "asset", "lasvm", "tracking")
PROFILES = ("quick", "full", "confirm")
# What the confirmation adds to every seed. Seeds of first runs and of searches are numbers of repetitions and of
# splits, all below a hundred; test rows of generated data have seeds from a million on, in the same order.
CONFIRMATION_SEEDS = 10_000


def folder_of(paper: str) -> Path:
    return Path(__file__).parent / paper


def protocol_of(paper: str) -> dict[str, Any]:
    return _parsed((folder_of(paper) / "protocol.toml").read_text())


@cache  # by its text: plans ask for it once per task
def _parsed(text: str) -> dict[str, Any]:
    return tomllib.loads(text)


def all_experiments() -> dict[str, tuple[str, Experiment]]:
    """Papers and experiments by the names of the latter, in the order of the papers."""
    found = {}
    for paper in PAPERS:
        for experiment in import_module(f"experiments.{paper}").EXPERIMENTS:
            found[experiment.name] = paper, experiment
    return found


def profile_of(paper: str, name: str, profile: str) -> dict[str, Any]:
    """Settings of an experiment: those of all profiles, overruled by those of one.

    The profile ``confirm`` is ``full``, but for what its own section says.
    """
    section = protocol_of(paper)[name]
    settings = {key: value for key, value in section.items() if key not in PROFILES}
    for layer in ("full", "confirm") if profile == "confirm" else (profile,):
        settings |= section.get(layer, {})
    return {**settings, "profile": profile}


def planned(paper: str, experiment: Experiment, profile: str, choices: Choices) -> list[Task]:
    """The tasks of an experiment in a profile.

    Those of ``confirm`` have seeds that nothing was run with before: neither first results nor searches. Where the
    paper prints no number there is nothing to confirm, and no task.
    """
    if profile == "confirm" and not _is_printed(paper, experiment.name):
        return []
    tasks = experiment.plan(profile_of(paper, experiment.name, profile), choices)
    if profile != "confirm":
        return tasks
    # A search keeps its seed: what it chooses is frozen.
    return [replace(task, seed=task.seed + CONFIRMATION_SEEDS) for task in tasks]


def _is_printed(paper: str, experiment: str) -> bool:
    return any(name == experiment for name, _, _ in read_printed(folder_of(paper) / "printed.csv"))


def choices_of(paper: str, again: bool = False) -> Choices:
    return Choices(folder_of(paper) / "chosen.json", again)
