"""Rounds on a cluster: a function for each partition, where it lives, and a tree that puts the results together.

Who runs what makes no difference: a task is a pure function of its partition, of the partition's number and of what is
broadcast, and trees follow the numbers of the partitions. So what a lost worker had is computed again by Dask, to the
same bits.
"""

import math
import os
import pickle
import uuid
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from functools import cached_property
from importlib import import_module
from typing import Any

from dask import config as dask_config
from dask import delayed
from distributed import Client, Future, get_client, wait
from distributed.client import FutureCancelledError
from distributed.comm import CommClosedError
from distributed.scheduler import KilledWorker
from distributed.utils import get_ip

from frugalsvm.compiling.threads import Threads, thread_count
from frugalsvm.dask._freed_memory import keep_freed_memory

_FAN_IN = 8  # results that one task puts together
_ANSWER_SECONDS = "5s"
_SMALL = 2**16  # bytes that travel inside tasks
_WARNED_ABOVE = "distributed.admin.large-graph-warning-threshold"


class SchedulerLostError(ConnectionError):
    """The scheduler does not answer any more.

    Attributes
    ----------
    model : estimator or None
        The ordinary estimator after the last round that was finished; None if there was none.
    """

    def __init__(self, message: str, model: Any = None):
        super().__init__(message)
        self.model = model


def client_for(client: Client | None) -> Client:
    """The client that was given, or that of the context."""
    if client is None:
        try:
            client = get_client()
        except ValueError as error:
            raise ValueError(
                "There is no Dask client. Make one before, `client = distributed.Client(...)`, or pass it as `client`."
            ) from error
    if client.asynchronous:
        raise ValueError("The client is asynchronous, and this estimator waits for results: use Client(...) as it is.")
    return client


class Parcel:
    """A value that Dask does not look into: it would search tuples for futures."""

    def __init__(self, value: Any):
        self.value = value


def opened(value: Any) -> Any:
    """What is in a parcel, or what is none."""
    return value.value if isinstance(value, Parcel) else value


class _Opening:
    """A function whose arguments may be parcels."""

    def __init__(self, function: Callable):
        self._function = function
        self.__name__ = function.__name__

    def __call__(self, *arguments: Any) -> Any:
        keep_freed_memory()
        return self._function(*map(opened, arguments))


def _missing(modules: list[str], process: int) -> list[str]:
    """Which modules this process cannot import; what users type in is in the process of the client only."""
    missing = []
    for module in modules:
        try:
            if module == "__main__" and os.getpid() != process:
                missing.append(module)
            else:
                import_module(module)
        except ImportError:
            missing.append(module)
    return missing


def shared_out(near: Sequence[Sequence[str]], threads: dict[str, int]) -> list[str | None]:
    """A worker for each of some tasks: one that is near, or the one with the most room; shares are by threads."""
    if not threads:
        return [None] * len(near)
    room = {worker: math.ceil(len(near) * n / sum(threads.values())) for worker, n in threads.items()}
    homes: list[str | None] = [None] * len(near)
    for at_hand in (True, False):
        for i, wanted in enumerate(near):
            chosen = [worker for worker in (wanted if at_hand else threads) if room.get(worker, 0) > 0]
            if homes[i] is None and chosen:
                home = homes[i] = max(chosen, key=room.__getitem__)
                room[home] -= 1
    return homes


class Cluster:
    """Runs rounds of one training."""

    def __init__(self, client: Client):
        self.client = client
        self._run = uuid.uuid4().hex[:12]
        self._n_rounds = 0

    def check_parts(self, parts: Iterable[Any]) -> None:
        """Refuse parts of somebody's own that workers cannot import: they could not read a task, and never answer."""
        package = __name__.partition(".")[0]
        modules = sorted(
            {type(part).__module__ for part in parts if type(part).__module__.partition(".")[0] != package}
        )
        if not modules:
            return
        with self._answering():
            answers = self.client.run(_missing, modules, os.getpid())
        for worker, missing in answers.items():
            if missing:
                raise ValueError(
                    f"Worker {worker} cannot import the module {missing[0]!r}, where a part of the model is defined. "
                    "Put the part into a file of its own, and call client.upload_file with it before fit."
                )

    def broadcast(self, value: Any) -> Any:
        """A value for all workers. What is small travels inside tasks; of the rest each worker gets a copy, once.

        That copy comes from the client or from another worker: it is the result of a task. What `Client.scatter` sends
        can be lost, and sending it to a worker that is about to die waits for that worker.
        """
        self._n_rounds += 1
        parcel = Parcel(value)
        if len(pickle.dumps(value, protocol=5)) <= _SMALL:
            return parcel
        key = f"frugalsvm-broadcast-{self._run}-{self._n_rounds}"
        with self._answering(), dask_config.set({_WARNED_ABOVE: "1 TiB"}):  # it is large, and sent once
            return self.client.submit(opened, parcel, key=key, pure=False)

    def each(self, function: Callable, sources: Sequence[tuple], *shared: Any) -> list[Any]:
        """Results for all partitions, in their order: ``function(*source, *shared)``."""
        return self.results(self.kept(function, sources, *shared))

    def begun(self, function: Callable, sources: Sequence[tuple], *shared: Any) -> Callable[[], list[Any]]:
        """As `each`, at once: what is returned waits for the results, once. Workers do not keep them any longer."""
        futures = self.kept(function, sources, *shared)

        def results():
            gathered = self.results(futures)
            futures.clear()
            return gathered

        return results

    def settled(self, futures: list[Any]) -> list[Any]:
        """What is kept, when all of it is computed: it is known then where."""
        with self._answering(), self.client.as_current():
            wait(futures)
        return futures

    def results(self, futures: Sequence[Any]) -> list[Any]:
        """Wait for what is kept."""
        with self._answering():
            return self.client.gather(futures)

    def reduced(self, function: Callable, join: Callable, sources: Sequence[tuple], *shared: Any) -> Any:
        """The results as one: ``join`` makes one of several, in the order of the partitions."""
        tree = self._tree(self.lazy(function, sources, *shared), join)
        with self._answering():
            return self.client.gather(self.client.compute(tree))

    def lazy(self, function: Callable, sources: Sequence[tuple], *shared: Any) -> list[Any]:
        """Results that are computed again whenever they are needed."""
        self._n_rounds += 1
        name, task = self._name(function), delayed(_Opening(function), pure=False)
        return [task(*source, *shared, dask_key_name=f"{name}-{i}") for i, source in enumerate(sources)]

    def kept(self, function: Callable, sources: Sequence[tuple], *shared: Any) -> list[Any]:
        """Futures of results that stay where they were computed."""
        with self._answering():
            return self.client.compute(self.lazy(function, sources, *shared))

    def kept_beside(self, function: Callable, sources: Sequence[tuple], *shared: Any) -> list[Any]:
        """As `kept`, and each where the first of its source is, as far as all workers get an equal share.

        Left to itself, Dask brings rows to the worker that has got a large value for all of them first: that one works,
        and others wait. Rows that are not kept are nowhere yet, and so it is left to Dask.
        """
        firsts = [first for first, *_ in sources]
        if not all(isinstance(first, Future) for first in firsts):
            return self.kept(function, sources, *shared)
        self._n_rounds += 1
        name, task = self._name(function), _Opening(function)
        with self._answering():
            holders = self.client.who_has(firsts)
            near = [list(holders.get(first.key, ())) for first in firsts]
            homes = shared_out(near, {address: worker["nthreads"] for address, worker in self._workers.items()})
            return [
                self.client.submit(
                    task, *source, *shared, key=f"{name}-{i}", pure=False, workers=home, allow_other_workers=True
                )
                for i, (source, home) in enumerate(zip(sources, homes, strict=True))
            ]

    def _name(self, function: Callable) -> str:
        return f"frugalsvm-{function.__name__.strip('_')}-{self._run}-{self._n_rounds}"

    def _tree(self, nodes: list[Any], join: Callable) -> Any:
        name, level = self._name(join), 0
        task = delayed(join, pure=False)
        while len(nodes) > 1 or not level:
            groups = [nodes[i : i + _FAN_IN] for i in range(0, len(nodes), _FAN_IN)]
            nodes = [task(group, dask_key_name=f"{name}-{level}-{i}") for i, group in enumerate(groups)]
            level += 1
        return nodes[0]

    @contextmanager
    def _answering(self):
        """Tells a lost scheduler, and workers that die again and again, from all other errors."""
        try:
            yield
        except KilledWorker as error:
            raise RuntimeError(
                f"Dask gave up: workers died again and again while they computed {error.task}. If they had too little "
                "memory, make partitions smaller; if machines come and go, raise the scheduler's setting "
                "distributed.scheduler.allowed-failures. The model of the last finished round is in `last_model_`."
            ) from error
        except (CancelledError, FutureCancelledError, CommClosedError, OSError, RuntimeError) as error:
            if isinstance(error, SchedulerLostError) or self._answers():
                raise
            address = getattr(self.client.scheduler, "address", "of this client")
            raise SchedulerLostError(
                f"The Dask scheduler {address} does not answer any more; the model of the last round that was "
                "finished is in `last_model_`, and in the attribute `model` of this error."
            ) from error

    def _answers(self) -> bool:
        """Whether the scheduler is there."""
        try:
            if self.client.status != "running":
                return False
            scheduler: Any = self.client.scheduler
            self.client.sync(scheduler.identity, callback_timeout=_ANSWER_SECONDS)
        except Exception:
            return False
        return self.client.status == "running"

    def n_workers(self) -> int:
        return max(len(self._workers), 1)

    def n_threads(self) -> int:
        return max(sum(worker["nthreads"] for worker in self._workers.values()), 1)

    def free_threads(self) -> Threads:
        """The cores of the client's machine that no worker has: while all wait for the client, it uses them."""
        here = {"127.0.0.1", "::1", get_ip()}
        taken = sum(worker["nthreads"] for worker in self._workers.values() if worker["host"] in here)
        return Threads(max(thread_count(-1) - taken, 1))

    def memory(self) -> int:
        """Bytes that all workers together may use; a lot where there is no limit."""
        limits = [worker["memory_limit"] or 2**40 for worker in self._workers.values()]
        return sum(limits)

    @cached_property
    def _workers(self) -> dict[str, Any]:
        """Those that were there when they were asked for first: what depends on them decides about time alone."""
        with self._answering():
            return self.client.scheduler_info(n_workers=-1)["workers"]
