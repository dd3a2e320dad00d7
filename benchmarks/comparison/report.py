"""Who is ahead, on the screen."""

from rich.console import Console

from benchmarks.comparison.results import Results
from benchmarks.comparison.sheets import OURS, behind, failures, label_of, sheet_of
from benchmarks.comparison.statistics import (
    critical_difference,
    duel,
    friedman,
    mean_ranks,
)
from benchmarks.printing import table

__all__ = ["report"]

SCORES = ("error", "log_loss", "calibration", "pinball", "fit_cpu", "predict_cpu", "bytes")


def report(options):
    console = Console(width=160)
    results = Results.kept()
    results.read(options.to)
    cells = {key: row for key, row in results.cells.items() if not options.tables or row["table"] in options.tables}
    console.print(f"{len(cells):,} cells")
    sheet = sheet_of(cells, effort=options.effort, peers=options.peers)
    if len(sheet.tables) == 0 or len(sheet.peers) < 2:
        console.print("Not enough of it is measured to compare.")
        return
    console.print(_ranks(cells, options))
    console.print(_duels(sheet))
    for name, peers in behind(cells, options.effort).items():
        console.print(f"{name}: clearly behind {', '.join(label_of(peer) for peer in peers)}")
    for (name, peer, effort), reason in sorted(failures(cells).items()):
        if effort == options.effort:
            console.print(f"{name}, {label_of(peer)}: {reason}", markup=False)
    if sheet.incomplete:
        console.print(f"Not yet measured with all peers: {', '.join(sheet.incomplete)}")


def _ranks(cells, options):
    """A column for each score; less is better in all of them."""
    sheets = {score: sheet_of(cells, score, options.effort, peers=options.peers) for score in SCORES}
    sheets = {score: sheet for score, sheet in sheets.items() if len(sheet.tables) and len(sheet.peers) > 1}
    title = f"Mean ranks, {options.effort}; of the error on {len(sheets['error'].tables)} tables"
    shown = table(title, "data", *sheets)
    ranks = {score: dict(zip(sheet.peers, mean_ranks(sheet.means), strict=True)) for score, sheet in sheets.items()}
    for peer in sorted(ranks["error"], key=ranks["error"].get):
        shown.add_row(
            label_of(peer), *(f"{ranks[score][peer]:.2f}" if peer in ranks[score] else "" for score in sheets)
        )
    numbers = {score: sheet.means.shape for score, sheet in sheets.items()}
    shown.add_row("tables", *(str(numbers[score][0]) for score in sheets))
    shown.add_row("critical difference", *(f"{critical_difference(*numbers[score]):.2f}" for score in sheets))
    shown.add_row("all equal: p", *(f"{friedman(sheets[score].means):.1g}" for score in sheets))
    return shown


def _duels(sheet):
    shown = table(f"{label_of(OURS)} against", "data", "wins", "ties", "losses", "P better", "P same", "P worse")
    if OURS in sheet.peers:
        for peer in (each for each in sheet.peers if each != OURS):
            result = duel(sheet.column(OURS), sheet.column(peer))
            shown.add_row(label_of(peer), *map(str, result[:3]), *(f"{each:.3f}" for each in result[3:]))
    return shown
