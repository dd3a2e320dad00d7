"""What is run for the figures: traces of the gap on Adult, curves of the test error on MNIST."""

from typing import Any

from experiments.protocol import profile_of, protocol_of
from experiments.tasks import Task

__all__ = ["plan_curves", "plan_traces"]

GAP_TRACE, ERROR_CURVE = "experiments.tracking.work:gap_trace", "experiments.tracking.work:error_curve"
BATCH_STEPS = 100  # of the rounds that the batch counterpart is looked at after


def plan_traces(profile: dict[str, Any], choices=None) -> list[Task]:
    """Traces of the gap: for each K, algorithm, way of selection and repetition."""
    printed, tasks = protocol_of("tracking")["parameters"]["a9a"], []
    for selection in profile["selections"]:
        rows = profile["rows"] if selection == "random" else profile["selected"]
        for algorithm in profile["algorithms"]:
            for steps in profile["steps"]:
                settings = {"data": "a9a", "rows": rows, "looks": profile["looks"]}
                settings["parameters"] = _parameters(printed, steps, selection, process=algorithm == 2)
                names = {"algorithm": algorithm, "steps": steps, "selection": selection}
                tasks += _repeated(GAP_TRACE, settings, names, profile, 1.0 if selection == "random" else 8.0)
    return tasks


def plan_curves(profile: dict[str, Any], choices=None) -> list[Task]:
    """Curves of the test error: for each K, way of selection and repetition, and those of the batch counterpart."""
    curves = profile_of("tracking", "curves", profile["profile"])
    printed, tasks = protocol_of("tracking")["parameters"]["mnist-8"], []
    for selection in curves["selections"]:
        for steps in curves["steps"]:
            parameters = _parameters(printed, steps, selection, process=False)
            if selection != "random":
                parameters["pool_size"] = curves["pool_size"]
            settings = _curve(curves, selection, "tracking", parameters)
            tasks += _repeated(ERROR_CURVE, settings, {"steps": steps, "selection": selection}, curves, 20.0)
    if profile["batch"]:
        parameters = _parameters(printed, BATCH_STEPS, "random", process=False)
        settings = {**_curve(curves, "batch", "batch", parameters), "rows": curves["batch_rows"]}
        tasks += _repeated(ERROR_CURVE, settings, {"steps": BATCH_STEPS, "selection": "batch"}, curves, 40.0)
    return tasks


def _curve(curves, kind, learner, parameters):
    settings = {"data": "mnist-8", "learner": learner, "parameters": parameters, "tests": curves["tests"]}
    optional = {name: curves[name] for name in ("rows", "test_rows") if name in curves}
    return {**settings, **optional, "first": curves["first"][kind], "last": curves["last"][kind]}


def _parameters(printed, steps, selection, process):
    return {**printed, "n_steps": steps, "process": process, "selection": selection}


def _repeated(work, settings, names, profile, seconds):
    return [
        Task(work, settings, seed, {**names, "seed": seed}, None, seconds) for seed in range(profile["repetitions"])
    ]
