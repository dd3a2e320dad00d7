"""Tasks of the learners that the paper compares: each is named as in its tables, such as ``TVM 100`` or ``IDSVM``."""

from typing import Any

from experiments.tasks import Task
from experiments.tuning import Choices
from experiments.tvm.problems import Problem, tuning

__all__ = ["AVERAGED", "VARIANTS", "task_for"]

AVERAGED = "Averaged Forgetron 100"  # not in the paper, whose Forgetron is the last model of a run

# Table 5: everything else stays as it is in the default TVM.
VARIANTS: dict[str, dict[str, Any]] = {
    "[-1, 1]": {"m2": 1.0},
    "[-2, 2]": {"m1": 2.0},
    "no rejection": {"reject": None},
    "global": {"one_sided": False},
    "feature space": {"merge_space": "feature"},
}
TUNED_VARIANTS = ("global",)  # merging across the boundary wants a C of its own; others take that of the default
LARGEST_TUNED = 200  # larger budgets take the parameters of this one, which are nearly the same
_SECONDS = {"TVM": 1.0, "LIBSVM": 60.0, "IDSVM": 60.0, "Random": 0.1, "Forgetron": 0.5, "Averaged": 5.0}


def task_for(
    learner: str,
    problem: Problem,
    seed: int,
    profile: dict[str, Any],
    choices: Choices,
    *,
    kernel: str = "rbf",
    work: str = "experiments.tvm.work:learned",
    names: dict[str, Any] | None = None,
    **more: Any,
) -> Task:
    """The task of one learner on one problem; ``more`` are settings of the work."""
    kind, _, budget = learner.partition(" ")
    if learner == AVERAGED:  # parameters are those of the last model
        work, budget = "experiments.tvm.work:averaged", learner.rpartition(" ")[2]
    rows = profile.get("rows") or problem.rows
    settings = {"data": problem.data, "rows": rows, **more}
    task = Task(work, settings, seed, names or {}, seconds=_SECONDS.get(kind, 1.0))
    if kind in ("Forgetron", "Averaged"):
        return _forgetron(task, problem, int(budget), choices, kernel)
    if kind in ("LIBSVM", "IDSVM", "Random"):
        return _exact(task, problem, kind, _examples(kind, problem, budget, profile, kernel), choices, kernel)
    return _twin_vectors(task, problem, learner, choices, kernel)


def _smaller(*counts: int | None) -> int | None:
    return min((count for count in counts if count), default=None)


def _examples(kind, problem, budget, profile, kernel) -> int | None:
    """How many examples an SVM learns: those of the sample, or as many as in the paper if our limit allows."""
    if kind == "Random":
        return int(budget)
    in_paper = problem.learned.get(kernel) if kind == "IDSVM" else None
    return _smaller(in_paper, profile.get("examples", {}).get(kind))


def _exact(task, problem, kind, examples, choices, kernel) -> Task:
    """An exact SVM on some or all rows, by a batch solver or incrementally: the parameters are the same."""
    estimator = "SVC" if kind == "LIBSVM" else "IncrementalSVC"
    kernel_parameters = problem.kernel_parameters(kernel)
    task.settings.update(estimator=estimator, fixed={**kernel_parameters, "cache_size": 2_000}, examples=examples)
    of_sample = kind == "Random"
    which = "sample" if of_sample else "svm"
    settings = {
        "data": problem.data,
        "rows": _smaller(tuning()["svm_rows"], problem.rows),
        "scalings": ["standard"],
        "estimator": "SVC",
        # With a polynomial of degree 7 some candidates would take for ever.
        "fixed": {**kernel_parameters, "max_iter": 300_000},
        "grid": _grid(problem, kernel, tuning()[f"{which}_C"], tuning()[f"{which}_gammas"]),
        "rounds": tuning()[f"{which}_rounds"],
    }
    if of_sample:
        settings["examples"] = examples
    work = "experiments.tvm.work:choose_for_samples" if of_sample else "experiments.tuning:choose"
    name = f"{'Random' if of_sample else 'SVM'} {kernel} {problem.name}"
    return choices.task(task, name, Task(work, settings, names={"what": name}))


def _grid(problem, kernel, C, gammas) -> dict[str, Any]:
    """C, and with the RBF kernel gamma: factors of that of the paper, as `choose` wants them."""
    if kernel != "rbf":
        return {"C": tuning()["other_C"]}
    paper = (problem.gamma or 1 / problem.features) * problem.features
    return {"C": C, "gamma": [round(factor * paper, 4) for factor in gammas]}


def _twin_vectors(task, problem, learner, choices, kernel) -> Task:
    variant = VARIANTS.get(learner, {})
    budget = 100 if variant else int(learner.split()[1])
    kernel_parameters = problem.kernel_parameters(kernel)
    fixed = {**kernel_parameters, "budget": budget, **variant}
    tuned_budget = min(budget, LARGEST_TUNED)
    tuned = {**kernel_parameters, "budget": tuned_budget}
    name = f"TVM {tuned_budget} {kernel} {problem.name}"
    if learner in TUNED_VARIANTS:
        tuned, name = fixed, f"TVM {learner} {kernel} {problem.name}"
    choosing = Task(
        "experiments.tuning:choose",
        {
            "data": problem.data,
            "rows": _smaller(problem.tuning_rows or tuning()["rows"], problem.rows),
            "scalings": ["standard"],
            "estimator": "TVMClassifier",
            "fixed": tuned,
            "grid": _grid(problem, kernel, tuning()["C"], tuning()["gammas"]),
            "rounds": tuning()["rounds"],
        },
        names={"what": name},
    )
    task.settings.update(estimator="TVMClassifier", fixed=fixed)
    return choices.task(task, name, choosing)


def _forgetron(task, problem, budget, choices, kernel) -> Task:
    fixed = {"strategy": "forgetron", "budget": budget, "kernel": kernel}
    if kernel == "poly":
        fixed |= {"coef0": 1.0, "degree": problem.degree}
    choosing = Task(
        "experiments.tuning:choose",
        {
            "data": problem.data,
            "rows": _smaller(tuning()["forgetron_rows"], problem.rows),
            "scalings": ["standard", "range"],
            "estimator": "BudgetedPerceptron",
            "fixed": fixed,
            "grid": {} if kernel == "linear" else {"gamma": tuning()["forgetron_gammas"]},
            "rounds": tuning()["forgetron_rounds" if kernel == "rbf" else "forgetron_other_rounds"],
        },
        names={"what": f"Forgetron {budget} {kernel} {problem.name}"},
    )
    task.settings.update(estimator="BudgetedPerceptron", fixed=fixed)
    return choices.task(task, f"Forgetron {budget} {kernel} {problem.name}", choosing)
