"""What a model file holds, in words: names and facts, for pages and cards."""

from collections.abc import Iterator
from typing import Any

from frugalsvm.core.kernels import KERNELS
from frugalsvm.words import (
    NOVELTIES,
    NUMBERS,
    counted,
    coverage_words,
    facts_lines,
    listed,
    percent,
    short,
    size_of,
    table_lines,
)

# What is worth a line, under the names that `--json` has; sentences explain what a name does not.
_FIGURES = {
    "support vectors": ("vectors", "{:,}"),
    "gradient error": ("gradient error", "{:.3g}   lost on average by keeping the budget; 0 is a machine without one"),
    "member gap": ("gap", "{:.3g}   how far the objective is from its optimum on the examples kept, at most"),
    "offset": ("offset", "{:.4g}   rows with scores below are unusual"),
    "t": ("steps", "{:,}"),
    "n updates": ("updates", "{:,}   steps that changed the model"),
    "n kernel evals": ("kernel values", "{:,}   computed in training"),
    "n cells": ("cells", "{:,}   with a machine each"),
    "model bytes": ("memory", "{:,} bytes"),
}
_STRENGTHS = ("C", "alpha")
_NO_PROBABILITIES = "none: train with --calibrate, or with nothing but the file, to have them"
_BEFORE_LEARNING = {
    "accuracy_before_learning": ("accuracy", percent, "of the rows were predicted right before they were learned"),
    "rmse_before_learning": ("error", "{:.4g}".format, "in the root mean square, before rows were learned"),
    "alarms_before_learning": ("alarms", percent, "of the rows were unusual before they were learned"),
}


def kind_of(contents: dict[str, Any]) -> str:
    """What a model does, in a sentence without its end."""
    features = counted(contents.get("n_features_in", 0), "column of numbers", "columns of numbers")
    if contents.get("text columns"):
        features += f" and {len(contents['text columns'])} of text"
    if contents["predicts"] == NOVELTIES:
        return f"A model that tells unusual rows by {features}"
    if contents["predicts"] == NUMBERS:
        return f"A model that predicts a number from {features}"
    return f"A model that tells {counted(len(contents['classes']), 'class', 'classes')} apart by {features}"


def contents_sections(contents: dict[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Headings, the first of them empty, and the lines below: what `model_contents` has found."""
    yield "", [f"{kind_of(contents)} ({contents['estimator']})."]
    yield "Data", facts_lines(data_facts(contents))
    yield "Model", facts_lines(model_facts(contents))
    if "metric" in contents:
        yield "Learned metric", _metric_lines(contents["metric"])
    training = contents["training"]
    if training.get("told"):  # how `auto` came to its choice
        lines = list(training["told"])
        if training.get("tried"):
            lines += table_lines(training["tried"])
            lines.append("  A round has its own rows and sizes: compare figures of the same round.")
        yield "How it was chosen", lines
    yield "File", facts_lines(file_facts(contents))


def _metric_lines(metric: dict[str, Any]) -> list[str]:
    kind = "a factor for each feature" if metric["kind"] == "factors" else counted(metric["directions"], "direction")
    most = [(name, percent(share)) for name, share in metric["most important"].items()]
    return [f"{kind.capitalize()}. What counts most, with its share:", *facts_lines(most)]


def data_facts(contents: dict[str, Any]) -> list[tuple[str, str]]:
    """What it has learned from."""
    facts, training = [], contents["training"]
    if "classes" in contents:
        facts.append(("classes", listed(contents["classes"])))
    facts.append(("features", listed(contents["features"])))
    data, counts = training.get("data", {}), training.get("counts", {})
    if data.get("source"):
        source = data["source"] if isinstance(data["source"], str) else listed(data["source"], 3)
        facts.append(("learned from", "standard input" if source == "-" else source))
    if counts.get("rows"):
        passes = training.get("passes_done", 1)
        often = f", {passes} times" if passes > 1 else ""
        facts.append(("rows", f"{counts['rows']:,}{often}"))
    for figure, (name, show, words) in _BEFORE_LEARNING.items():
        if training.get(figure) is not None:
            facts.append((name, f"{show(training[figure])} {words}"))
        recent = training.get(f"recent_{figure.removesuffix('_before_learning')}")
        if recent is not None and training["recent_rows"] < counts.get("tested", 0):
            facts.append(("", f"{show(recent)} of the last {training['recent_rows']:,} rows"))
    if (score := training.get("chosen", {}).get("score")) is not None:
        is_accuracy = "classes" in contents
        facts.append(
            ("accuracy", f"{percent(score)} of rows left out in training were predicted right")
            if is_accuracy
            else ("R^2", f"{score:.4f} on rows left out in training: share of the variance that is explained")
        )
    if (score := training.get("chosen", {}).get("validation_accuracy")) is not None:
        facts.append(("accuracy", f"{percent(score)} of validation rows were predicted right"))
    if "quantiles" in training:
        facts.append(("coverage", coverage_words(training)))
    if not training.get("finished", True):
        facts.append(("unfinished", "interrupted; `frugalsvm train --resume` continues at the next row"))
    return facts


def _optimality(objective: float | None, bound: float | None) -> list[tuple[str, str]]:
    """A certificate, as a share: objectives are in the squared unit of the target, or more."""
    if objective is None or bound is None:
        return []
    above = f"{100 * bound / objective:.2g} %" if objective > 0 else f"{bound:.3g}"
    return [("optimality", f"{above}   how far the objective is above its optimum, at most")]


def model_facts(contents: dict[str, Any]) -> list[tuple[str, str]]:
    """Its parameters, sizes and certificates."""
    chosen = contents["training"].get("chosen", {})
    parameters = _as_chosen(contents["parameters"], contents["as numbers"], chosen)
    facts = [("kernel", _kernel(parameters.get("kernel", "rbf"), parameters.get("gamma")))]
    facts += [(name, short(parameters[name])) for name in _STRENGTHS if name in parameters]
    facts += [
        (name, words.format(contents[key])) for key, (name, words) in _FIGURES.items() if contents.get(key) is not None
    ]
    facts += _optimality(contents.get("objective"), contents.get("suboptimality bound"))
    if "probabilities" in contents:
        how = "yes, calibrated on rows left out" if contents["probabilities"] else _NO_PROBABILITIES
        facts.append(("probabilities", how))
    if "scale" in chosen:
        facts.append(("scaling", _scaling(chosen["scale"])))
    shown = {"kernel", "gamma", *_STRENGTHS}
    others = [name for name in contents["set"] if name not in shown and isinstance(parameters[name], str | int | float)]
    if others:
        facts.append(("also set", ", ".join(f"{name} {short(parameters[name])}" for name in others)))
    return facts


def _kernel(kernel: Any, gamma: Any) -> str:
    if isinstance(kernel, dict):  # a sum, whose terms have gammas of their own
        return f"sum of {', '.join(term['kernel'] for term in kernel['terms'])}"
    has_gamma = kernel not in KERNELS or hasattr(KERNELS[kernel], "gamma")
    return str(kernel) if gamma is None or not has_gamma else f"{kernel}, gamma {short(gamma)}"


def _as_chosen(parameters: dict[str, Any], as_numbers: dict[str, float], chosen: dict[str, Any]) -> dict[str, Any]:
    """Parameters, with the numbers that "auto" has become in training, as far as they are known."""
    found = {"gamma": chosen.get("gamma"), "alpha": chosen.get("strength")}
    return (
        parameters
        | as_numbers
        | {name: value for name, value in found.items() if value is not None and parameters.get(name) == "auto"}
    )


def _scaling(scale: Any) -> str:
    if scale is False:
        return "none: features are taken as they are"
    named = {
        "soft": "robust, softly clipped",
        "symmetric": "robust, softly clipped, long tails drawn in",
        "standard": "means and standard deviations",
        "following": "means and standard deviations of the latest rows",
    }
    return named.get(scale, "robust: medians, far values clipped")


def file_facts(contents: dict[str, Any]) -> list[tuple[str, str]]:
    """The file itself."""
    versions = ", ".join(f"{name} {version}" for name, version in contents["versions"].items())
    return [("size", size_of(contents["file bytes"])), ("written by", versions), ("sha256", contents["sha256"])]
