"""Protocols: what is run for each experiment, read from ``protocol.toml`` of its paper."""

import tomllib
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from experiments.results import Experiment
from experiments.tuning import Choices

__all__ = ["PAPERS", "PROFILES", "all_experiments", "choices_of", "folder_of", "profile_of", "protocol_of"]

PAPERS = ("bsgd", "tvm", "asset", "lasvm", "tracking")
PROFILES = ("quick", "full")


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
    """Settings of an experiment: those of all profiles, overruled by those of one."""
    section = protocol_of(paper)[name]
    common = {key: value for key, value in section.items() if key not in PROFILES}
    return {**common, **section.get(profile, {}), "profile": profile}


def choices_of(paper: str, again: bool = False) -> Choices:
    return Choices(folder_of(paper) / "chosen.json", again)
