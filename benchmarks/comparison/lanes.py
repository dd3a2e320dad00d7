"""Cells side by side: each lane has cores of its own, and a process for each peer, which can be stopped."""

import os
import threading
import time
from collections import deque

from benchmarks.comparison.additions import load_additions
from benchmarks.comparison.cells import measured, warm_up
from benchmarks.comparison.worker import Failed, Stopped, Worker

__all__ = ["THREADS", "Lanes"]

THREADS = (
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "VECLIB_MAXIMUM_THREADS",
)  # fmt: skip
WARM_SECONDS = 600  # more than machine code ever took
LARGE = 20_000_000  # values: what a process leaves in memory goes with it


class Lanes:
    """Measures cells, and gives each result to ``keep`` as it comes."""

    def __init__(self, place, n_lanes, limit, keep, additions=()):
        self.place, self.n_lanes, self.limit, self.keep, self.additions = place, n_lanes, limit, keep, additions
        self._lock, self._stopped = threading.Lock(), {}

    def run(self, cells, end=float("inf")):
        """Whether all were measured before the end."""
        for name in THREADS:
            os.environ[name] = str(self.place.n_threads)
        self._cells, self._end = deque(cells), end
        lanes = [threading.Thread(target=self._lane, args=(number,)) for number in range(self.n_lanes)]
        for lane in lanes:
            lane.start()
        for lane in lanes:
            lane.join()
        return not self._cells

    def remember(self, row):
        """A peer that took too long on a table takes too long on its other splits."""
        if str(row.get("failed", "")).startswith("stopped") and row.get("rows", "test") == "test":
            self._stopped[row["table"], row["peer"], row.get("effort", "default")] = row["split"]

    def _lane(self, number):
        workers, cores = {}, self._cores(number)
        try:
            while (cell := self._next()) is not None:
                row = self._result(cell, workers, cores)
                if row is None:
                    with self._lock:
                        self._cells.append(cell)
                    return
                with self._lock:
                    self.remember({**cell._asdict(), **row})
                    self.keep(cell, row)
        finally:
            for worker in workers.values():
                worker.close()

    def _cores(self, number):
        """Those of a lane, where there are enough for all."""
        n = self.place.n_threads
        known = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
        return known[number * n : (number + 1) * n] if len(known) >= self.n_lanes * n else None

    def _next(self):
        with self._lock:
            return self._cells.popleft() if self._cells and self._left() else None

    def _left(self):
        return max(self._end - time.monotonic(), 0.0)

    def _result(self, cell, workers, cores):
        """None when the time is over."""
        split = self._stopped.get((cell.table, cell.peer, cell.effort))
        if split is not None and cell.rows == "test":
            return {"failed": f"stopped on split {split}, and not tried again"}
        limit = self.limit + cell.seconds(self.place.n_threads)
        try:
            worker = self._worker(cell.peer, workers, cores)
            row = worker.call(measured, cell, self.place, limit=min(limit, self._left()))
        except Stopped:
            if not self._left():
                return None
            row = {"failed": f"stopped after {limit:.0f} s with {self.place.n_threads} threads"}
        except Failed as failure:
            row = {"failed": str(failure)[:200]}
        if cell.size > LARGE and cell.peer in workers:
            workers.pop(cell.peer).close()
        return row

    def _worker(self, peer, workers, cores):
        if peer not in workers or not workers[peer].is_alive:
            workers[peer] = worker = Worker(cores)
            worker.call(load_additions, self.additions)
            worker.call(warm_up, peer, self.place, limit=min(WARM_SECONDS, self._left()))
        return workers[peer]
