"""Figure 2: what the TVM has learned along ten million examples, and accuracy and time beside other SVMs."""

import time
from typing import Any

import numpy as np

from experiments.results import Figure, Outcome
from experiments.tasks import Task
from experiments.tvm.learners import task_for
from experiments.tvm.problems import problems
from frugalsvm import TVMClassifier
from frugalsvm.datasets import make_checkerboard, stream

__all__ = ["board", "plan", "show"]

PROBLEM = "N-Checkerboard"
EDGE = np.sqrt(3.0)  # of the board, which has variance 1
NOTE = (
    "In the paper TVM reaches 98.7 % after ten million examples, is as accurate as IDSVM below 10,000 and as LIBSVM at "
    "100,000; its time is linear in the number of examples and that of IDSVM about cubic."
)


def plan(profile: dict[str, Any], choices) -> list[Task]:
    """The stream of the TVM with parameters of the paper, and curves of the other two."""
    problem = problems()[PROBLEM]
    settings = {
        "checkpoints": profile["checkpoints"],
        "pictures": profile["pictures"],
        "fixed": {"budget": 100, "C": problem.C, "gamma": problem.gamma},
    }
    names = {"what": "stream", "learner": "TVM"}
    tasks = [Task("experiments.tvm.figure2:board", settings, 0, names, seconds=60.0)]
    for learner in ("IDSVM", "LIBSVM"):
        points = profile[f"{learner.lower()}_checkpoints"]
        limited = {"rows": max(points), "examples": {learner: points[-1]}}
        names = {"what": "curve", "learner": learner}
        work = "experiments.tvm.work:curve"
        more = {"work": work, "names": names, "checkpoints": points[:-1]}
        tasks.append(task_for(learner, problem, 0, limited, choices, **more))
    return tasks


def board(settings: dict[str, Any], seed: int) -> dict[str, Any]:
    """A TVM along the noisy checkerboard: accuracy on clean rows, CPU seconds, and the model at some points.

    Settings
    --------
    checkpoints : numbers of examples at which accuracy and time are noted, ascending
    pictures : those of them at which the whole model is kept
    fixed : parameters of the TVM
    """
    checkpoints = settings["checkpoints"]
    X_test, y_test = make_checkerboard(20_000, random_state=1_000_000 + seed)
    model = TVMClassifier(**settings["fixed"])
    TVMClassifier(**settings["fixed"]).fit(X_test[:300].astype(np.float64), y_test[:300])  # compiles
    accuracies, times, pictures, seen, seconds = [], [], {}, 0, 0.0
    for stop in checkpoints:
        # a chunk at a time: ten million rows are never in memory
        options = {"chunk_size": 100_000, "random_state": seed, "dtype": np.float64}
        for X, y in stream("noisy_checkerboard", stop - seen, start=seen, **options):
            start = time.process_time()
            model.partial_fit(X, y, classes=[-1, 1])
            seconds += time.process_time() - start
        seen = stop
        accuracies.append(100 * model.score(X_test, y_test))
        times.append(seconds)
        if stop in settings["pictures"]:
            pictures[str(stop)] = _picture(model)
    return {"examples": checkpoints, "accuracies": accuracies, "seconds": times, "pictures": pictures}


def _picture(model) -> dict[str, Any]:
    """All that drawing the model needs."""
    return {
        "twins": np.round(model.twin_vectors_, 6).tolist(),
        "weights": model.twin_weights_.tolist(),
        "coefficients": model.dual_coef_[0].tolist(),
        "intercept": float(model.intercept_[0]),
        "gamma": model.gamma,
    }


# --- drawing ----------------------------------------------------------------------------------------------


def show(outcome: Outcome) -> list[Figure]:
    results = {task.names["learner"]: result for task, result in outcome if result is not None}
    figures = []
    if "TVM" in results:
        pictures = results["TVM"]["pictures"]
        figures.append(
            Figure(
                "Boundary, margins and twin vectors after some examples",
                lambda figure: _draw_boards(figure, pictures),
                (9.0, 9.0),
                "Black: the boundary; blue and orange: the margins. The larger a twin, the more it stands for; its "
                "colour is the share of positive examples among them.",
            )
        )
    if results:
        figures.append(Figure("Accuracy and time", lambda figure: _draw_curves(figure, results), (9.0, 3.8), NOTE))
    return figures


def _decision_values(picture: dict[str, Any], points):
    squared = ((points[:, None, :] - np.array(picture["twins"])[None]) ** 2).sum(axis=-1)
    return np.exp(-picture["gamma"] * squared) @ np.array(picture["coefficients"]) + picture["intercept"]


def _draw_boards(figure, pictures: dict[str, Any], n_ticks: int = 160) -> None:
    ticks = np.linspace(-1.05 * EDGE, 1.05 * EDGE, n_ticks)
    points = np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)
    n_rows = (len(pictures) + 1) // 2
    for place, (count, picture) in enumerate(pictures.items(), start=1):
        axes = figure.add_subplot(n_rows, 2, place, aspect="equal", title=f"{int(count):,} examples")
        values = _decision_values(picture, points).reshape(n_ticks, n_ticks)
        axes.contourf(ticks, ticks, np.sign(values), levels=[-2, 0, 2], colors=["#dce9f5", "#fbe3d6"])
        axes.contour(ticks, ticks, values, levels=[-1, 0, 1], colors=["C0", "black", "C1"], linewidths=[1, 2, 1])
        weights = np.array(picture["weights"])
        sums = weights.sum(axis=1)
        look = {"cmap": "coolwarm", "vmin": 0, "vmax": 1, "edgecolors": "black", "linewidths": 0.6}
        sizes = 12 + 70 * np.sqrt(sums / sums.max())
        axes.scatter(*np.array(picture["twins"]).T, c=weights[:, 1] / sums, s=sizes, **look)
        axes.set(xlim=(ticks[0], ticks[-1]), ylim=(ticks[0], ticks[-1]), xticks=[], yticks=[])


def _draw_curves(figure, results: dict[str, Any]) -> None:
    accuracy, seconds = figure.subplots(1, 2)
    labels = {"TVM": "TVM, 100 twins"}
    for learner, result in sorted(results.items(), reverse=True):
        style = {"label": labels.get(learner, learner), "marker": "o", "markersize": 3}
        accuracy.plot(result["examples"], result["accuracies"], **style)
        seconds.plot(result["examples"], result["seconds"], **style)
    accuracy.set(xscale="log", xlabel="examples", ylabel="accuracy on clean rows, %")
    seconds.set(xscale="log", yscale="log", xlabel="examples", ylabel="training time, s")
    accuracy.legend()
