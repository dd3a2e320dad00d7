"""The names of parts in files of version 1, which were those of modules and classes then."""

import re

__all__ = ["name_today"]

_OTHERS = {
    "asset.fourier.DenseFourier": "fourier",
    "budgeted.bpa.ProjectOnNeighbour": "project-on-neighbor",
    "budgeted.neighbours.Neighbours": "neighbors",  # codespell:ignore
    "core.losses.MultiClassHinge": "multiclass-hinge",
    "dual.biased.Biased": "lasvm",
    "dual.learn.Machine": "dual-machine",
    "dual.online.Online": "lasvm-without-bias",
    "estimators._asset_steps.Steps": "subgradient-steps",
    "estimators._machines.Machine": "budgeted-machine",
    "exact.machine.Machine": "exact-machine",
}


def name_today(name: str) -> str:
    """What a part is called now: ``strong-step`` if it was ``asset.subgradient.StrongStep``."""
    if name in _OTHERS or "." not in name:
        return _OTHERS.get(name, name)
    return re.sub("(?<=[a-z])(?=[A-Z])", "-", name.rpartition(".")[2]).lower()
