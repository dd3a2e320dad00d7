"""What is run: passes over the six data sets, which the tables and figures of the paper share."""

from typing import Any

from experiments.protocol import profile_of, protocol_of
from experiments.tasks import Task

__all__ = ["plan"]

WATCHED_PASS, BATCH_SOLVER = "experiments.lasvm.work:watched_pass", "experiments.lasvm.work:batch_solver"
SLOWER = {"full": 3.0, "lasvm": 2.0, "libsvm": 5.0}  # than the others


def plan(profile: dict[str, Any], choices=None) -> list[Task]:
    """The passes that an experiment shows.

    Its section of the protocol may name ``data`` and ``variants`` (all otherwise), ``libsvm`` for the batch solver, and
    ``ramps`` with ``ramp_variants`` and ``ramp_data`` for other ends of the ramp. ``choices`` is not used: the paper
    prints its parameters.
    """
    runs = profile_of("lasvm", "runs", profile["profile"]) | {"problems": protocol_of("lasvm")["data"]}
    names = profile.get("data", list(runs["data"]))
    tasks = [
        _pass(runs, data, variant, seed)
        for data in names
        for variant in profile.get("variants", runs["variants"])
        for seed in range(runs["repetitions"][data])
    ]
    if profile.get("libsvm"):
        tasks += [_libsvm(runs, data, seed) for data in names for seed in range(runs["libsvm_repetitions"][data])]
    for s in profile.get("ramps", ()):
        # Nothing is shown of them but their end.
        ramp = {**runs, "fixed": {**runs["fixed"], "s": s}, "looks": 0, "tests": 0}
        tasks += [_pass(ramp, data, how, 0) for data in profile["ramp_data"] for how in profile["ramp_variants"]]
    return tasks


def _pass(runs, data, variant, seed):
    settings = {**_settings(runs, data), "variant": variant, **runs["fixed"]}
    settings |= {"looks": runs["looks"], "tests": runs["tests"]}
    names = {"data": data, "variant": variant, "s": runs["fixed"]["s"], "seed": seed}
    return Task(WATCHED_PASS, settings, seed, names, seconds=_seconds(runs, data, variant))


def _libsvm(runs, data, seed):
    settings = {**_settings(runs, data), "cache_size": runs["fixed"]["cache_size"]}
    names = {"data": data, "variant": "libsvm", "seed": seed}
    return Task(BATCH_SOLVER, settings, seed, names, seconds=_seconds(runs, data, "libsvm"))


def _settings(runs, data):
    problem = runs["problems"][data]
    rows = {"rows": runs["data"][data]} if runs["data"][data] else {}
    tested = {"test_rows": runs["test_rows"]} if "test_rows" in runs else {}
    return {"data": data, **rows, **tested, "C": problem["C"], "gamma": problem["gamma"]}


def _seconds(runs, data, variant):
    return runs["problems"][data]["seconds"] * SLOWER.get(variant, 1.0)
