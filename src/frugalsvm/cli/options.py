"""What `frugalsvm train` was asked for, and what came of it."""

from typing import Any, NamedTuple

from frugalsvm.cli.running import Progress

__all__ = ["Outcome", "TrainOptions"]


class TrainOptions(NamedTuple):
    """What to train; part of the model file."""

    algorithm: str = "bsgd"
    budget: int | None = 500
    gamma: float | None = None
    strength: float | None = None
    scale: str = "auto"
    passes: int = 1
    classes: tuple | None = None
    calibrate: bool = False
    seed: int = 0


class Outcome(NamedTuple):
    model: Any
    progress: Progress
    n_bad: int
    interrupted_by: int | None
    chosen: dict[str, Any]
    was_finished: bool = False  # there was nothing to resume
    bad_lines: tuple[str, ...] = ()  # the first ones
    counts: dict[str, int] | None = None  # of rows that were left out, and of missing values
