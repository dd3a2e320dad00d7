"""The command line of the comparison."""

import argparse
import time
from pathlib import Path

import benchmarks.comparison

__all__ = ["main"]

OUTPUT = Path("output/comparison.jsonl")


def main(arguments=None):
    options = _parser().parse_args(arguments)
    from benchmarks.comparison.additions import load_additions

    load_additions(options.add)
    return options.command(options)


def _parser():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.comparison", description=benchmarks.comparison.__doc__)
    commands = parser.add_subparsers(required=True)
    for name, (command, words, groups) in COMMANDS.items():
        part = commands.add_parser(name, help=words, description=words)
        part.set_defaults(command=command)
        part.add_argument("--add", nargs="+", type=Path, default=[], help="files with further tables or peers")
        for add_options in groups:
            add_options(part)
    return parser


def _add_file(part):
    part.add_argument("--to", type=Path, default=OUTPUT, help=f"file of results (default: {OUTPUT})")


def _add_pieces(part):
    part.add_argument("--minutes", type=float, default=float("inf"), help="when to end")
    part.add_argument("--again", action="store_true", help="also cells of which the repository has results")
    part.add_argument("--note", default="", help="what to know of the machine, such as that it was busy")


def _add_effort(part):
    part.add_argument("--effort", default="default", choices=("default", "1min", "10min"), help="of tuning")


def _add_choice(part):
    part.add_argument("--tables", nargs="+", help="(default: all)")
    part.add_argument("--peers", nargs="+", help="(default: all that are installed)")


def _add_two_files(part):
    part.add_argument("files", nargs=2, type=Path, help="results of both")


def _add_learners(part):
    part.add_argument("--learners", nargs="+", help="(default: all); several processes can share them")


def _add_folder(part):
    part.add_argument("folder", type=Path)


def _add_causes(part):
    part.add_argument("tables", nargs="*", metavar="TABLE", help="(default: all that have causes)")
    part.add_argument("--parts", type=int, default=10, help="repetitions: a fifth of the rows judges in each")
    part.add_argument("--threads", type=int, default=1, help="of each learner")


def _add_run_options(part):
    part.add_argument("--splits", nargs="+", type=int, default=list(range(5)), help="(default: all five)")
    part.add_argument("--most-rows", type=int, help="only tables with at most this number of rows")
    part.add_argument("--validate", action="store_true", help="judge by training rows; test rows are not looked at")
    part.add_argument("--lanes", type=int, default=1, help="cells side by side")
    part.add_argument("--threads", type=int, default=4, help="of each lane")
    part.add_argument("--device", default="cpu", help='of peers that can use one, such as "cuda"')
    part.add_argument("--limit", type=float, default=300, help="seconds after which a cell is stopped, beyond tuning")
    part.add_argument("--shard", type=_shard, default=(1, 1), help="such as 2/4: the second of four parts")
    part.add_argument("--shuffle", type=int, help="a seed: cells in a random order, such as to repeat some")


def _shard(text):
    place, _, n_shards = text.partition("/")
    place, n_shards = int(place), int(n_shards)
    if not 1 <= place <= n_shards:
        raise argparse.ArgumentTypeError(f"a place from 1 to {n_shards}, found {place}")
    return place, n_shards


def _run(options):
    from benchmarks.comparison.run import run

    run(options, time.monotonic() + 60 * options.minutes)


def _report(options):
    from benchmarks.comparison.report import report

    report(options)


def _streams(options):
    from benchmarks.comparison.streams import run

    run(options, time.monotonic() + 60 * options.minutes)


def _repeat(options):
    from benchmarks.comparison.repeat import show_agreement

    show_agreement(options)


def _tables(options):
    from benchmarks.comparison.run import show_tables

    show_tables()


def _copy(options):
    from benchmarks.comparison.sources import export

    export(options.folder)


def _causes(options):
    from benchmarks.comparison.causes import show_causes

    show_causes(options)


COMMANDS = {
    "run": (
        _run,
        "measure cells that have no result yet",
        (_add_file, _add_pieces, _add_effort, _add_choice, _add_run_options),
    ),
    "report": (_report, "who is ahead, of all results", (_add_file, _add_effort, _add_choice)),
    "repeat": (_repeat, "how far two runs of the same cells are apart", (_add_two_files, _add_effort)),
    "causes": (_causes, "ways to learn tables on which ours is behind, by training rows", (_add_causes,)),
    "streams": (_streams, "measure learners of streams", (_add_file, _add_pieces, _add_learners)),
    "tables": (_tables, "which tables and peers there are, and which can be had here", ()),
    "copy": (_copy, "copy tables of packages into a folder, for a machine without them", (_add_folder,)),
}
