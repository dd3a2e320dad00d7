"""A model card: what a model was trained on and how, how good it is, what matters, and what it refuses.

One page of HTML with its pictures inside, which loads nothing from elsewhere.
"""

from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from frugalsvm.explain.model_contents import model_contents
from frugalsvm.explain.model_facts import data_facts, file_facts, kind_of, model_facts
from frugalsvm.explain.page import bars_table, page
from frugalsvm.explain.shapley import vector_importances
from frugalsvm.persist import load
from frugalsvm.words import listed, percent

_SHOWN = 15  # columns
Facts = list[tuple[str, str]]


def model_card(path: str | Path) -> str:
    """A page of HTML about a model file: what it was trained on and how, how good it is, what matters.

    Parameters
    ----------
    path : str or Path
        A file that `frugalsvm.save` has written; those of `frugalsvm train` tell most.

    Returns
    -------
    str
        A whole page that loads nothing from elsewhere.
    """
    return card_of(model_contents(Path(path)), Path(path))


def card_of(contents: dict[str, Any], model_file: Path) -> str:
    """The card of a model file of which the contents are known."""
    model, written = load(model_file), datetime.fromtimestamp(model_file.stat().st_mtime, UTC)
    about, measures = _apart(data_facts(contents))
    sentences = contents["training"].get("told") or ()  # how `auto` came to its choice
    parts = [
        f"<p>{escape(kind_of(contents))} ({escape(contents['estimator'])}).</p>",
        _section("What it was trained on", _facts(about) + _ranges(model, contents)),
        _section("How", _facts(model_facts(contents)) + "".join(f"<p>{escape(str(each))}</p>" for each in sentences)),
        _section("How good it is", _quality(measures)),
        _section("What matters", _importances(model, contents)),
        _section("What it refuses", _refusals(model, contents)),
        # By the clock of the file: training keeps no times, so that a run that is resumed ends with the same file.
        _section("File", _facts([("written", f"{written:%Y-%m-%d %H:%M} UTC"), *file_facts(contents)])),
    ]
    return page(f"Model card: {model_file.name}", parts)


def _section(title: str, body: str) -> str:
    return f"<h2>{escape(title)}</h2>\n{body}"


def _facts(facts: Facts) -> str:
    lines = (f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in facts)
    return f"<dl>{''.join(lines)}</dl>"


def _apart(facts: Facts) -> tuple[Facts, Facts]:
    """Facts about the data, and those that tell how good the model was, with the lines that belong to them."""
    about: Facts = []
    measures: Facts = []
    is_measure = False
    for name, value in facts:
        is_measure = is_measure if name == "" else name in ("accuracy", "error", "alarms", "coverage", "R^2")
        (measures if is_measure else about).append((name, value))
    return about, measures


def _ranges(model: Any, contents: dict[str, Any]) -> str:
    """Usual values of the columns of numbers, as the scaler has found them; it does not keep the extremes."""
    scaler = getattr(model, "scaler_", None)
    if scaler is None:
        return ""
    names, center = contents["features"], scaler.center_ if scaler.centres_ else 0.0 * scaler.scale_
    rows = "".join(
        f'<tr><td class="name">{escape(names[k])}</td>'
        f'<td class="number">{middle:.4g}</td><td class="number">{spread:.4g}</td></tr>'
        for k, (middle, spread) in enumerate(zip(center, scaler.scale_, strict=True))
        if k < _SHOWN
    )
    more = len(scaler.scale_) - _SHOWN
    rest = f'<p class="quiet">{more:,} more columns are not shown.</p>' if more > 0 else ""
    heads = '<tr><th>column</th><th class="number">middle</th><th class="number">spread</th></tr>'
    return f"<h3>Usual values</h3><table>{heads}{rows}</table>{rest}"


def _quality(measures: Facts) -> str:
    if not measures:
        return "<p>The file has no measure of it. <code>frugalsvm evaluate</code> measures it on rows with labels.</p>"
    return _facts(measures)


def _importances(model: Any, contents: dict[str, Any]) -> str:
    """Bars of the shares of columns, or why there are none."""
    parts = []
    try:
        shares = vector_importances(model)
    except (ValueError, TypeError) as error:
        parts.append(f"<p>{escape(str(error))}</p>")
    else:
        names = _named(list(shares), contents["features"])
        parts.append(
            "<p>Mean absolute Shapley values at rows that the model keeps, relative to each other. "
            "<code>frugalsvm explain</code> has those of rows.</p>"
            + bars_table(np.array(list(shares.values())), names, _SHOWN, percent)
        )
    if "metric" in contents:
        of_metric = contents["metric"]["most important"]
        sizes = np.array(list(of_metric.values()))
        parts.append("<h3>Shares in the learned metric</h3>" + bars_table(sizes, list(of_metric), _SHOWN, percent))
    return "".join(parts)


def _named(names: list[str], known: list[str]) -> list[str]:
    """Names of columns, where the model has numbers and the file knows better."""
    return [known[k] if name == f"Feature {k + 1}" and k < len(known) else name for k, name in enumerate(names)]


def _refusals(model: Any, contents: dict[str, Any]) -> str:
    refused = [f"Rows with another number of columns than {contents.get('n_features_in', 0)} of numbers."]
    if getattr(model, "impute", None) is None:
        refused.append("Rows with missing numbers, and numbers that are not finite.")
    else:
        refused.append("Numbers that are not finite; missing ones are filled.")
    if contents.get("text columns"):
        names = listed(contents["text columns"])
        refused.append(f"Rows without the columns of text {names}. A category that it does not know counts as none.")
    if "classes" in contents:
        refused.append("It knows the classes above only: every row gets one of them, however unusual it is.")
    return f"<ul>{''.join(f'<li>{escape(sentence)}</li>' for sentence in refused)}</ul>"
