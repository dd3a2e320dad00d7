"""``python -m experiments list | cost | run | vary | keep | report``"""

import argparse
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

from experiments.costs import Cost, Costs, duration_in_words
from experiments.keeping import keep, kept_results
from experiments.protocol import PROFILES, all_experiments, choices_of, planned
from experiments.running import run_tasks
from experiments.screen import ScreenTable, console_of_this_process, escape
from experiments.store import Store
from experiments.varying import measured, parsed_changes, variations

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    console = console_of_this_process()
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
    pricing = commands.add_parser("cost", help="what is missing, and about how long computing it takes")
    running = commands.add_parser("run", help="compute what is missing")
    varying = commands.add_parser("vary", help="compute one cell with other settings, to see what they change")
    keeping = commands.add_parser("keep", help="put results of the profiles full and confirm into the repository")
    reporting = commands.add_parser("report", help="write one page with everything")
    for command in (pricing, running):
        command.add_argument("names", nargs="*", help="experiments, papers, or nothing for all")
        command.add_argument("--jobs", type=_positive, default=1, help="processes (default: 1)")
        command.add_argument("--confirm", action="store_true", help="the confirmation too, beside the profile")
        command.add_argument(
            "--only", nargs="+", default=[], metavar="NAME", help="only these data sets, methods or budgets"
        )
        command.add_argument("--again", action="store_true", help="also what is kept in the repository")
    varying.add_argument("name", help="an experiment")
    varying.add_argument("words", nargs="+", help="names of one cell: method, data set, budget")
    varying.add_argument(
        "--set", nargs="+", default=[], metavar="PLACE=VALUES", help="as in tuned.gamma=x0.5,x1,x2 scaling=range"
    )
    varying.add_argument("--seeds", type=_positive, default=5, help="repetitions (default: 5)")
    varying.add_argument("--jobs", type=_positive, default=1, help="processes (default: 1)")
    running.add_argument("--tune", action="store_true", help="choose hyper-parameters again, and record them")
    running.add_argument("--short-first", action="store_true", help="begin with the short tasks, for a run cut short")
    running.add_argument("--minutes", type=float, help="stop after so many: the same command goes on from there")
    reporting.add_argument("--output", type=Path, default=Path("output/report.html"))
    for command in (listing, pricing, running, varying, keeping, reporting):
        command.add_argument("--store", type=Path, default=Path("output/experiments"), help="folder of the results")
        if command not in (varying, keeping):
            default = "full" if command is reporting else "quick"
            command.add_argument("--profile", choices=PROFILES, default=default, help=f"default: {default}")
    listing.set_defaults(command=_list)
    pricing.set_defaults(command=_cost)
    running.set_defaults(command=_run, tune=False)
    varying.set_defaults(command=_vary)
    keeping.set_defaults(command=_keep)
    reporting.set_defaults(command=_report)
    return parser


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of processes; give 1 or more")
    return int(text)


def _list(options, console) -> int:
    table = ScreenTable("experiment", "what", "done")
    store = Store(options.store, kept_results())
    for name, (paper, experiment) in all_experiments().items():
        tasks = planned(paper, experiment, options.profile, choices_of(paper))
        done = sum(store.get(task) is not None for task in tasks)
        table.add_row(name, experiment.title, f"{done} of {len(tasks)}")
    console.print(table)
    return 0


def _cost(options, console) -> int:
    table = ScreenTable("experiment", "results", "missing", "on one core")
    tasks = _wanted(options, {paper: choices_of(paper) for paper, _ in all_experiments().values()})
    costs = _costs_of(options, tasks, _store_of(options))
    for name, found in tasks.items():
        cost = costs.missing(found)
        about = duration_in_words(cost.seconds) if cost.n_missing else "nothing"
        table.add_row(name, str(cost.n_tasks), str(cost.n_missing), about)
    console.print(table)
    console.print("Tables and figures that share results have them in each of their lines.")
    console.print(_total(tasks, costs).in_words(options.jobs))
    return 0


def _run(options, console) -> int:
    if options.tune and (options.confirm or options.profile == "confirm"):
        sys.exit("--tune chooses parameters, which a confirmation must not: run it with another profile first.")
    choices = {paper: choices_of(paper, options.tune) for paper, _ in all_experiments().values()}
    wanted = _wanted(options, choices)
    store = _store_of(options)
    costs = _costs_of(options, wanted, store)
    console.print(_total(wanted, costs).in_words(options.jobs))
    failures = run_tasks(
        [replace(task, seconds=costs.of(task)) for found in wanted.values() for task in found],
        store,
        jobs=options.jobs,
        console=console,
        short_first=options.short_first,
        minutes=options.minutes,
        on_chosen=lambda: [chosen.record(store) for chosen in choices.values()],
    )
    for paper in choices:
        if n_recorded := choices[paper].record(store):
            console.print(f"{paper}: {n_recorded} choices of hyper-parameters recorded in {choices[paper].path}")
    for line in _without_data(failures):
        console.print(escape(line))
    failures = [failure for failure in failures if failure.missing is None]
    for failure in failures:
        words = f"{failure.task.names or failure.task.work}\n{failure.error}"
        console.print(f"[red]failed:[/red] {escape(words)}")
    return 1 if failures else 0


def _without_data(failures) -> list[str]:
    """A line for each data set that is not there; the report shows what is kept in the repository instead."""
    counts = Counter(failure.missing for failure in failures if failure.missing is not None)
    why = {failure.missing: failure.error for failure in reversed(failures)}
    return [f"No data: {name}, for {count} results: {why[name]}" for name, count in counts.items()]


def _store_of(options) -> Store:
    return Store(options.store, None if options.again else kept_results())


def _costs_of(options, tasks: dict[str, list], store: Store) -> Costs:
    # The store has what is kept, unless that is to be computed again.
    kept = kept_results() if options.again else None
    return Costs([task for found in tasks.values() for task in found], store, kept)


def _total(tasks: dict[str, list], costs: Costs) -> Cost:
    return costs.missing(task for found in tasks.values() for task in found)


def _wanted(options, choices: dict) -> dict[str, list]:
    """The tasks that the options ask for, by experiment."""
    experiments, tasks = all_experiments(), {}
    for name in _matching(options.names, experiments):
        paper, experiment = experiments[name]
        tasks[name] = planned(paper, experiment, options.profile, choices[paper])
        if options.confirm and options.profile != "confirm":
            tasks[name] += planned(paper, experiment, "confirm", choices[paper])
    wanted = {id(task) for task in _only([task for found in tasks.values() for task in found], options.only)}
    return {name: [task for task in found if id(task) in wanted] for name, found in tasks.items()}


def _only(tasks: list, words: list[str]) -> list:
    """Tasks with these names; of several words for the same thing (two data sets, say) any one will do."""
    if not words:
        return tasks
    wanted = set(words)
    asked = {key for task in tasks for key, name in task.names.items() if str(name) in wanted}
    if not asked:
        sys.exit(f"Nothing is called {' or '.join(words)}: give data sets, methods or budgets.")
    return [task for task in tasks if _is_wanted(task.names, asked, wanted)]


def _is_wanted(names: dict, asked: set[str], wanted: set[str]) -> bool:
    """Whether names of a task are asked for; what another table calls its columns does not count."""
    found = [str(names[key]) in wanted for key in asked if key in names]
    return bool(found) and all(found)


def _matching(wanted: list[str], experiments: dict) -> list[str]:
    """Names of experiments; a paper stands for all of its own."""
    names = []
    for word in wanted or experiments:
        found = [name for name, (paper, _) in experiments.items() if word in (name, paper)]
        if not found:
            sys.exit(f"There is no experiment {word!r}; there are {', '.join(experiments)}.")
        names += [name for name in found if name not in names]
    return names


def _vary(options, console) -> int:
    experiments, tasks = all_experiments(), []
    for name in _matching([options.name], experiments):
        paper, experiment = experiments[name]
        tasks += planned(paper, experiment, "full", choices_of(paper))
    tasks = _only(tasks, options.words)
    cells = {task.digest: task for task in tasks if task.needs is None}
    if len(cells) != 1:
        found = ", ".join(" ".join(str(name) for name in task.names.values()) for task in cells.values())
        sys.exit(f"{' '.join(options.words)} is not one cell, but {len(cells)}: {found or 'give other names'}.")
    try:
        variants = variations(*cells.values(), parsed_changes(options.set), options.seeds)
    except ValueError as error:
        sys.exit(str(error))
    store = Store(options.store)
    every = [task for found in variants.values() for task in found]
    failures = run_tasks(every, store, jobs=options.jobs, console=console)
    for name, found in variants.items():
        console.print(escape(f"{name}: {measured([store.get(task) for task in found])}"))
    return 1 if failures else 0


def _keep(options, console) -> int:
    for line in keep(Store(options.store, kept_results())):
        console.print(escape(line))
    return 0


def _report(options, console) -> int:
    from experiments.report import write_report

    problems = write_report(Store(options.store, kept_results()), options.profile, options.output)
    for problem in problems:
        console.print(f"[red]not shown:[/red] {escape(problem)}")
    console.print(f"The report is in {options.output}")
    return 1 if problems else 0
