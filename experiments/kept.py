"""Results that are kept in the repository: small files from which the report can be made without computing.

A paper has a folder ``results`` with a file for each profile. Its first line says what the results were computed with;
every other line has all repetitions of one task, found again by the digest of its configuration. Whoever changes a
protocol changes digests, so that results of another protocol are never taken for results of this one.
"""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from experiments.packing import packed, rounded, unpacked
from experiments.tasks import Task

__all__ = ["KeptResult", "KeptResults", "write_kept"]

FORMAT = 1


class KeptResult(NamedTuple):
    """A result with what it took and what it was computed with."""

    result: dict[str, Any]
    seconds: float
    environment: dict[str, str]


class KeptResults:
    """Results of some files, by digest and seed of their tasks.

    Parameters
    ----------
    paths : iterable of path
        Files that `write_kept` has written; those that do not exist are empty.
    """

    def __init__(self, paths: Iterable[Path] = ()):
        self.by_task: dict[tuple[str, int], KeptResult] = {}
        for path in paths:
            if path.exists():
                self._read(path)

    def get(self, task: Task) -> KeptResult | None:
        return self.by_task.get((task.digest, task.seed))

    def _read(self, path: Path) -> None:
        heading, *lines = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
        if heading.get("format") != FORMAT:
            raise ValueError(f"{path} has format {heading.get('format')!r}; this version reads format {FORMAT}.")
        for line in lines:
            environment, seeds = heading["environments"][line["on"]], line["seeds"]
            results = unpacked(line["results"], len(seeds))
            for seed, seconds, result in zip(seeds, line["seconds"], results, strict=True):
                self.by_task[line["task"], seed] = KeptResult(result, seconds, environment)


def write_kept(path: Path, tasks: Sequence[Task], found: dict[tuple[str, int], KeptResult]) -> int:
    """Write what was found of some tasks, a line for the repetitions of each; how many results these are."""
    environments: list[dict[str, str]] = []
    groups: dict[tuple[str, int], dict[int, KeptResult]] = {}
    words: dict[str, str] = {}
    for task in tasks:
        one = found.get((task.digest, task.seed))
        if one is not None:
            if one.environment not in environments:
                environments.append(one.environment)
            words.setdefault(task.digest, _words(task))
            groups.setdefault((task.digest, environments.index(one.environment)), {})[task.seed] = one
    if not groups:
        return 0
    in_order = sorted(groups, key=lambda key: (words[key[0]], key))
    lines = [{"format": FORMAT, "environments": environments}]
    lines += [_line(words[digest], digest, place, groups[digest, place]) for digest, place in in_order]
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "\n".join(json.dumps(line, separators=(",", ":"), ensure_ascii=False) for line in lines)
    unfinished = path.with_suffix(".tmp")
    unfinished.write_text(text + "\n", encoding="utf-8")
    unfinished.replace(path)
    return sum(map(len, groups.values()))


def _words(task: Task) -> str:
    """What a line is about, for readers: nothing looks it up."""
    return " ".join(str(value) for name, value in task.names.items() if name != "seed" and value is not None)


def _line(words: str, digest: str, place: int, group: dict[int, KeptResult]) -> dict[str, Any]:
    in_order = sorted(group.items())
    return {
        "what": words,
        "task": digest,
        "on": place,
        "seeds": [seed for seed, _ in in_order],
        "seconds": [float(f"{one.seconds:.3g}") for _, one in in_order],
        "results": packed([rounded(one.result) for _, one in in_order]),
    }
