"""What a run was asked for. Model files hold it, so that a run can be resumed as it was begun."""

from collections.abc import Collection
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["YES_OR_NO", "DataOptions", "Request", "TrainOptions", "scale_flag"]

YES_OR_NO = ("auto", "yes", "no")  # values of flags


class DataOptions(NamedTuple):
    """How rows are read."""

    source: str | list[str]
    format: str | None = None
    label: str | None = None
    on_bad_line: str = "fail"
    header: str = "auto"
    delimiter: str | None = None
    n_features: int | None = None
    shuffle_buffer: int = 0
    seed: int = 0
    decimal: str | None = None
    thousands: str | None = None
    missing: str = "median"
    shuffle: str = "auto"
    categorical: str | None = None
    ignore: str | None = None
    hash_features: int | None = None
    columns: list | None = None  # those that were learned from: name, kind and role of each

    @property
    def name(self) -> str:
        """What to call the source in messages."""
        if isinstance(self.source, str):
            return self.source
        return f"{self.source[0]} and {len(self.source) - 1} more"

    @property
    def is_read_once(self) -> bool:
        """Whether rows come from standard input or a named pipe, which cannot be read a second time."""
        from frugalsvm.streams.pipes import is_read_once

        return is_read_once(self.source)

    @property
    def is_shuffled(self) -> bool:
        """Whether rows are learned in another order than they come in."""
        return self.shuffle == "yes" or self.shuffle_buffer > 0

    @property
    def imputes(self) -> str | None:
        """What missing numbers are filled with, if they are."""
        return self.missing if self.missing in ("mean", "median") else None


class TrainOptions(NamedTuple):
    """What is trained; None leaves a choice to the algorithm, or to the first rows."""

    algorithm: str = "bsgd"
    budget: int | None = 500
    kernel: str = "rbf"
    gamma: float | None = None
    strength: float | None = None
    scale: str = "auto"
    passes: int = 1
    classes: tuple | None = None
    calibrate: bool = False
    seed: int = 0
    metric: str | None = None
    loss: str | None = None
    quantile: tuple[float, ...] | None = None
    nu: float | None = None
    alarm_rate: float | None = None
    half_life: float | str | None = None
    prequential: bool = False

    @property
    def forgets(self) -> bool:
        """Whether somebody has asked for a model that forgets; a half-life without end is none."""
        return self.half_life is not None and self.half_life != inf


class Request(NamedTuple):
    """All that `frugalsvm train` was asked for."""

    data: DataOptions
    options: TrainOptions
    output: Path  # the file to write
    flags: dict[str, Any]  # of which only some ways to train know
    given: Collection[str] = ()  # flags that somebody gave
    decides: bool = False  # nobody has said what is learned: the first labels decide between classes and numbers
    quiet: bool = False


def scale_flag(scale: bool | str) -> str:
    """The value of ``--scale`` for what a pipeline is told."""
    return scale if isinstance(scale, str) else "yes" if scale else "no"
