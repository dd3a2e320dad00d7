"""The report: one page of HTML that needs no server, no script and no other file."""

import datetime
import os
from pathlib import Path

import jinja2
from markupsafe import Markup, escape

from experiments.report.confirmation import confirmations, pairs_of
from experiments.report.counting import Counts, Findings, counted_cells, worse_cells
from experiments.report.drawing import svg
from experiments.report.gathering import gather
from experiments.report.tables import FINDINGS, WORDS, laid_out
from experiments.results import Figure
from experiments.store import Store

__all__ = ["write_report"]

_FOLDER = Path(__file__).parent


def write_report(store: Store, profile: str, output: str | Path) -> list[str]:
    """Write a page with every table and figure beside the printed numbers.

    Parameters
    ----------
    store : Store
        Where the results are; what is not there is shown as missing.
    profile : {"quick", "full", "confirm"}
        Which results the tables and figures show. The page opens with those of the full profile in any case.
    output : path
        The file, written whole or not at all; folders above it are made.

    Returns
    -------
    list of str
        One sentence for each experiment that could not be shown. The page has the others.
    """
    papers = gather(store, profile)
    first = papers if profile == "full" else gather(store, "full")
    again = papers if profile == "confirm" else gather(store, "confirm")
    problems: list[str] = []
    for paper in papers:
        for experiment in paper.experiments:
            _lay_out(experiment)
            problems += experiment.problems
    page = _template().render(
        papers=papers,
        first=first,
        profile=profile,
        counts=Counts.total([paper.counts for paper in first]),
        verdicts=_verdicts({"first results": first, "confirmation": again}),
        confirmed=confirmations(pairs_of(first, again), first),
        worse=worse_cells(papers),
        date=datetime.datetime.now(datetime.UTC).strftime("%d %B %Y"),
        machines=sorted(
            {words.split(" (")[0] for paper in papers for e in paper.experiments for words in e.computed_by}
        ),
    )
    _write_whole(Path(output), page)
    return problems


def _verdicts(papers_by_name) -> list[tuple[str, Counts, Findings, Findings]]:
    """The strict rule and the test with error bars, of what there is."""
    lines = []
    for name, papers in papers_by_name.items():
        counts = Counts.total([paper.counts for paper in papers])
        if counts.compared:
            cells = counted_cells(papers)
            lines.append((name, counts, Findings.of(cells), Findings.without_their_scatter(cells)))
    return lines


def _lay_out(experiment) -> None:
    """Turn tables and figures into what the template places; a drawing that fails leaves a sentence."""
    for number, item in enumerate(experiment.items, start=1):
        anchor = f"{experiment.name}-{number}"
        if not isinstance(item, Figure):
            experiment.views.append(laid_out(item, anchor))
            continue
        view = {"kind": "figure", "anchor": anchor, "title": item.title, "note": item.note, "svg": None, "words": []}
        try:
            if experiment.n_done:  # axes without a line tell nobody anything
                view["svg"], view["words"] = svg(item, anchor)
            experiment.views.append(view)
        except Exception as error:
            experiment.problems.append(f"{experiment.name}: {item.title!r} could not be drawn: {error!r}")


def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["with_code"] = _with_code
    environment.globals["signs"] = WORDS
    environment.globals["findings"] = FINDINGS
    environment.globals["style"] = Markup((_FOLDER / "style.css").read_text())
    return environment.get_template("page.html.j2")


def _with_code(text: str) -> Markup:
    """Text in which what stands between backticks is code."""
    parts = str(text).split("`")
    if len(parts) % 2 == 0:  # one of them has no other end
        return escape(text)
    made = [Markup("<code>{}</code>").format(part) if k % 2 else escape(part) for k, part in enumerate(parts)]
    return Markup("").join(made)


def _write_whole(path: Path, page: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    unfinished.write_text(page, encoding="utf-8")
    unfinished.replace(path)
