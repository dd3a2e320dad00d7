"""The names of parts in files of version 1, which were those of modules and classes then."""

import re

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

# Modules that had parts of the same names as today
_MODULES = """
asset.fourier asset.losses asset.nystroem asset.subgradient budgeted.ball budgeted.bpa budgeted.maintenance
budgeted.perceptrons budgeted.policy budgeted.projection budgeted.projectron budgeted.self_scored budgeted.sgd
core.cache core.expansion core.kernels core.losses core.origin core.schedules dual.state dual.tracking
estimators._pairs estimators._predictor exact.state exact.twins pipelines.calibration pipelines.rows
pipelines.sampling pipelines.watching
"""


def name_today(name: str) -> str:
    """What a part is called now: ``strong-step`` if it was ``asset.subgradient.StrongStep``."""
    module, _, part = name.rpartition(".")
    if name in _OTHERS or module not in _MODULES.split():
        return _OTHERS.get(name, name)
    return re.sub("(?<=[a-z])(?=[A-Z])", "-", part).lower()
