"""``python -m experiments list | run | report``"""

import argparse
import sys
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table as ScreenTable

from experiments.protocol import PROFILES, all_experiments, choices_of, profile_of
from experiments.running import run_tasks
from experiments.store import Store

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    console = Console(width=None if sys.stdout.isatty() else 120)
    try:
        code = options.command(options, console)
    except KeyboardInterrupt:
        console.print("Stopped. What is done is kept: the same command goes on from here.")
        code = 130
    sys.exit(code)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m experiments", description="The papers, table by table.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    listing = commands.add_parser("list", help="what there is, and how much of it is done")
    running = commands.add_parser("run", help="compute what is missing")
    running.add_argument("names", nargs="*", help="experiments, papers, or nothing for all")
    running.add_argument("--jobs", type=_positive, default=1, help="processes (default: 1)")
    running.add_argument("--tune", action="store_true", help="choose hyper-parameters again, and record them")
    running.add_argument(
        "--only", nargs="+", default=[], metavar="NAME", help="only these data sets, methods or budgets"
    )
    running.add_argument("--short-first", action="store_true", help="begin with the short tasks, for a run cut short")
    reporting = commands.add_parser("report", help="write one page with everything")
    reporting.add_argument("--output", type=Path, default=Path("output/report.html"))
    for command in (listing, running, reporting):
        command.add_argument("--profile", choices=PROFILES, default="quick", help="default: quick")
        command.add_argument("--store", type=Path, default=Path("output/experiments"), help="folder of the results")
    listing.set_defaults(command=_list)
    running.set_defaults(command=_run)
    reporting.set_defaults(command=_report)
    return parser


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of processes; give 1 or more")
    return int(text)


def _list(options, console) -> int:
    table = ScreenTable("experiment", "what", "done")
    store = Store(options.store)
    for name, (paper, experiment) in all_experiments().items():
        tasks = experiment.plan(profile_of(paper, name, options.profile), choices_of(paper))
        done = sum(store.get(task) is not None for task in tasks)
        table.add_row(name, experiment.title, f"{done} of {len(tasks)}")
    console.print(table)
    return 0


def _run(options, console) -> int:
    experiments = all_experiments()
    names = _matching(options.names, experiments)
    store, tasks = Store(options.store), []
    choices = {paper: choices_of(paper, options.tune) for paper, _ in experiments.values()}
    for name in names:
        paper, experiment = experiments[name]
        tasks += experiment.plan(profile_of(paper, name, options.profile), choices[paper])
    failures = run_tasks(
        _only(tasks, options.only),
        store,
        jobs=options.jobs,
        console=console,
        short_first=options.short_first,
        on_chosen=lambda: [chosen.record(store) for chosen in choices.values()],
    )
    for paper in choices:
        if n_recorded := choices[paper].record(store):
            console.print(f"{paper}: {n_recorded} choices of hyper-parameters recorded in {choices[paper].path}")
    for failure in failures:
        words = f"{failure.task.names or failure.task.work}\n{failure.error}"
        console.print(f"[red]failed:[/red] {escape(words)}")
    return 1 if failures else 0


def _only(tasks: list, words: list[str]) -> list:
    """Tasks with these names; of several words for the same thing (two data sets, say) any one will do."""
    wanted = set(words)
    asked = {key for task in tasks for key, name in task.names.items() if str(name) in wanted}
    if words and not asked:
        sys.exit(f"Nothing is called {' or '.join(words)}: give data sets, methods or budgets.")
    return [task for task in tasks if all(str(task.names.get(key)) in wanted for key in asked)]


def _matching(wanted: list[str], experiments: dict) -> list[str]:
    """Names of experiments; a paper stands for all of its own."""
    names = []
    for word in wanted or experiments:
        found = [name for name, (paper, _) in experiments.items() if word in (name, paper)]
        if not found:
            sys.exit(f"There is no experiment {word!r}; there are {', '.join(experiments)}.")
        names += [name for name in found if name not in names]
    return names


def _report(options, console) -> int:
    from experiments.report import write_report

    problems = write_report(Store(options.store), options.profile, options.output)
    for problem in problems:
        console.print(f"[red]not shown:[/red] {escape(problem)}")
    console.print(f"The report is in {options.output}")
    return 1 if problems else 0
