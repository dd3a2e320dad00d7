"""All that the page says of each paper and experiment, read from protocols and the store."""

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup

from experiments import protocol
from experiments.report.counting import Counts, counted_cells
from experiments.report.words import rendered, title_and_body
from experiments.results import Experiment, Figure, Table
from experiments.significance import judge
from experiments.store import Store
from experiments.tasks import Task
from experiments.tuning import Choices

__all__ = ["ShownExperiment", "ShownPaper", "gather"]


@dataclass
class ShownExperiment:
    """An experiment with its results and with what they were computed by."""

    name: str
    title: str
    n_tasks: int
    n_done: int
    seconds: float  # that computing took, in all
    settings: list[tuple[str, str]]
    chosen: list[tuple[str, str]]
    items: list[Table | Figure] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    profile: str = "full"  # whose results these are
    computed_by: list[str] = field(default_factory=list)  # machines and versions
    views: list[dict[str, Any]] = field(default_factory=list)  # the items as the template places them

    @property
    def counts(self) -> Counts:
        return Counts.of([item for item in self.items if isinstance(item, Table)])


@dataclass
class ShownPaper:
    """A paper with its experiments, in their order."""

    name: str
    title: str
    readme: Markup
    experiments: list[ShownExperiment] = field(default_factory=list)

    @property
    def counts(self) -> Counts:
        return Counts.total([experiment.counts for experiment in self.experiments])

    @property
    def n_done(self) -> int:
        return sum(experiment.n_done for experiment in self.experiments)

    @property
    def n_tasks(self) -> int:
        return sum(experiment.n_tasks for experiment in self.experiments)


class _WatchedChoices(Choices):
    """Choices that remember which of them an experiment asked for."""

    def __init__(self, path):
        super().__init__(path)
        self.asked: dict[str, Task] = {}

    def task(self, task: Task, name: str, choosing: Task) -> Task:
        self.asked[name] = choosing
        return super().task(task, name, choosing)

    def lines(self, store: Store) -> list[tuple[str, str]]:
        """Names and parameters of all that was asked for, recorded or just computed."""
        lines = []
        for name, choosing in self.asked.items():
            result = store.get(choosing) if name not in self.recorded else {"chosen": self.recorded[name]}
            lines.append((name, "not chosen yet" if result is None else _one_line(result["chosen"])))
        return lines


def gather(store: Store, profile: str) -> list[ShownPaper]:
    """Papers with all of their experiments."""
    papers: dict[str, ShownPaper] = {}
    for paper, experiment in protocol.all_experiments().values():
        shown = _experiment(paper, experiment, store, profile)
        if (
            profile == "quick" and shown.n_tasks and not shown.n_done
        ):  # no data, say: what is kept is better than nothing
            shown = _experiment(paper, experiment, store, "full")
        if shown.n_tasks or profile != "confirm":  # figures are not confirmed
            papers.setdefault(paper, _paper(paper)).experiments.append(shown)
    judge(counted_cells(papers.values()))
    return list(papers.values())


def _paper(name: str) -> ShownPaper:
    path = protocol.folder_of(name) / "README.md"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    title, body = title_and_body(text)
    return ShownPaper(name, title or name, rendered(body))


def _experiment(paper: str, experiment: Experiment, store: Store, profile: str) -> ShownExperiment:
    settings = protocol.profile_of(paper, experiment.name, profile)
    choices = _WatchedChoices(protocol.folder_of(paper) / "chosen.json")
    tasks = protocol.planned(paper, experiment, profile, choices)
    outcome = [(task, store.get(task)) for task in tasks]
    shown = ShownExperiment(
        name=experiment.name,
        title=experiment.title,
        n_tasks=len(tasks),
        n_done=sum(result is not None for _, result in outcome),
        seconds=sum(_record(task, store)["seconds"] for task, result in outcome if result is not None),
        profile=profile,
        computed_by=_computed_by([_record(task, store) for task, result in outcome if result is not None]),
        settings=_flat(settings),
        chosen=choices.lines(store),
    )
    try:
        shown.items = list(experiment.show(outcome))
    except Exception as error:  # one broken experiment must not take the report of all others
        shown.problems.append(f"{experiment.name} could not be shown: {error!r}")
    if profile == "quick":
        _mark_as_parts(shown.items)
    return shown


def _mark_as_parts(items: list[Table | Figure]) -> None:
    """Cells of a profile that learns few rows, once: they are not compared, so nothing is to be explained."""
    for item in items:
        if isinstance(item, Table):
            for cell in item.cells.values():
                cell.part = True
                if cell.values and cell.printed is not None:
                    cell.note = ""


def _record(task: Task, store: Store) -> dict[str, Any]:
    done = task if task.needs is None else task.resolved(store.get(task.needs))
    return store.record(done)


def _computed_by(records: list[dict[str, Any]]) -> list[str]:
    """Machines and versions that results were computed with, the most frequent first; nothing that names a machine."""
    found = Counter(
        f"{record['machine']} ({', '.join(f'{name} {version}' for name, version in record['versions'].items())})"
        for record in records
    )
    return [words for words, _ in found.most_common()]


def _flat(settings: dict[str, Any], above: str = "") -> list[tuple[str, str]]:
    """Nested settings as lines with dotted names."""
    lines = []
    for key, value in settings.items():
        name = f"{above}{key}"
        lines += _flat(value, f"{name}.") if isinstance(value, dict) and value else [(name, _one_line(value))]
    return lines


def _one_line(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
