"""Which cells are measured, and in which order: whole tables early, small ones first."""

from typing import NamedTuple

from benchmarks.comparison.peers import PEERS
from benchmarks.comparison.splits import N_SPLITS
from benchmarks.comparison.tables import COMPARED, TABLES, size_of

__all__ = ["DEFAULT", "EFFORTS", "Cell", "Effort", "left_over", "planned"]

CORES = 4  # a minute of tuning is one of four cores; fewer have more time


class Effort(NamedTuple):
    """What a peer may spend on its settings: no further ones are tried after these seconds of four cores."""

    seconds: float
    n_rows: int = 0  # at most: the training rows on which settings are compared

    def seconds_of(self, n_threads):
        return self.seconds * CORES / n_threads


DEFAULT = "default"
EFFORTS = {DEFAULT: Effort(0), "1min": Effort(60, 10_000), "10min": Effort(600, 50_000)}


class Cell(NamedTuple):
    """What is measured; these five tell its result from others."""

    table: str
    peer: str
    split: int
    effort: str = DEFAULT
    rows: str = "test"  # or "validation": training rows are judged

    @property
    def size(self):
        return size_of(TABLES[self.table])

    def seconds(self, n_threads):
        """Of its tuning."""
        return EFFORTS[self.effort].seconds_of(n_threads)


def planned(tables=None, peers=None, splits=range(N_SPLITS), effort=DEFAULT, rows="test", most_rows=None):
    """Split 0 of all tables, then split 1: on each table all peers."""
    chosen = [name for name in tables or COMPARED if most_rows is None or TABLES[name].n_rows <= most_rows]
    chosen = sorted(chosen, key=lambda name: size_of(TABLES[name]))
    return [Cell(table, peer, split, effort, rows) for split in splits for table in chosen for peer in peers or PEERS]


def left_over(cells, done, shard=(1, 1)):
    """Those that are not done, of one of several shards: what is in which does not depend on what is done."""
    place, n_shards = shard
    return [cell for index, cell in enumerate(cells) if index % n_shards == place - 1 and tuple(cell) not in done]
