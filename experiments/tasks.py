"""A piece of work with everything that decides its result, so that the result can be kept and found again."""

import hashlib
import json
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from typing import Any

__all__ = ["Task", "digest_of", "versions"]


@cache
def versions() -> dict[str, str]:
    """Versions of all that a number may depend on."""
    names = ("frugalsvm", "numba", "numpy", "scipy", "sklearn")
    return {name: import_module(name).__version__ for name in names}


def digest_of(work: str, settings: dict[str, Any]) -> str:
    """A name for a configuration: equal if and only if work and settings are."""
    return hashlib.sha256(json.dumps([work, settings], sort_keys=True).encode()).hexdigest()[:12]


@dataclass(frozen=True)
class Task:
    """Call a function with settings and a seed; its result is a dictionary that JSON can hold.

    ``needs`` is a task whose result has parameters under ``"chosen"`` (see `experiments.tuning`): they become part of
    the settings before this task is run. ``names`` say what the task stands for in tables and figures, and
    ``seconds`` about how long it takes; neither of them changes its result.
    """

    work: str  # "experiments.work:accuracy"
    settings: dict[str, Any]
    seed: int = 0
    names: dict[str, Any] = field(default_factory=dict)
    needs: "Task | None" = None
    seconds: float = 1.0

    @property
    def key(self) -> str:
        """A name for the result: equal if and only if configuration, versions and seed are."""
        if self.needs is not None:
            raise ValueError("A task that needs another one has no key before that one is done.")
        text = json.dumps([self.work, self.settings, self.seed, versions()], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:24]

    @property
    def digest(self) -> str:
        """A name for the configuration alone, whatever the versions and the seed."""
        if self.needs is not None:
            raise ValueError("A task that needs another one has no digest before that one is done.")
        return digest_of(self.work, self.settings)

    def resolved(self, result: dict[str, Any]) -> "Task":
        """The task with the parameters that the one it needs has chosen."""
        return replace(self, settings={**self.settings, **result["chosen"]}, needs=None)

    def run(self) -> dict[str, Any]:
        """Do the work."""
        module, name = self.work.split(":")
        return getattr(import_module(module), name)(self.settings, self.seed)
