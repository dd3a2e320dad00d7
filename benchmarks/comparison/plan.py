"""Which cells are measured, and in which order: whole tables early, small ones first."""

from benchmarks.comparison.cells import Cell
from benchmarks.comparison.peers import PEERS
from benchmarks.comparison.splits import N_SPLITS
from benchmarks.comparison.tables import TABLES
from benchmarks.comparison.tuning import DEFAULT

__all__ = ["left_over", "planned"]


def planned(tables=None, peers=None, splits=range(N_SPLITS), effort=DEFAULT, rows="test", most_rows=None):
    """Split 0 of all tables, then split 1: on each table all peers."""
    chosen = [table for table in tables or TABLES if most_rows is None or TABLES[table].n_rows <= most_rows]
    chosen = sorted(chosen, key=lambda name: TABLES[name].n_rows * TABLES[name].n_columns)
    return [Cell(table, peer, split, effort, rows) for split in splits for table in chosen for peer in peers or PEERS]


def left_over(cells, done, shard=(1, 1)):
    """Those that are not done, of one of several shards: what is in which does not depend on what is done."""
    place, n_shards = shard
    return [cell for index, cell in enumerate(cells) if index % n_shards == place - 1 and tuple(cell) not in done]
