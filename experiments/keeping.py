"""What is put into the repository: results of the profiles that answer the papers, for all that is planned today."""

from pathlib import Path

from experiments import protocol
from experiments.kept import KeptResults, write_kept
from experiments.store import Store
from experiments.tasks import Task

__all__ = ["KEPT_PROFILES", "keep", "kept_results"]

KEPT_PROFILES = ("full", "confirm")


def _path_of(paper: str, profile: str) -> Path:
    return protocol.folder_of(paper) / "results" / f"{profile}.jsonl"


def kept_results() -> KeptResults:
    """All that the repository has."""
    return KeptResults(_path_of(paper, profile) for paper in protocol.PAPERS for profile in KEPT_PROFILES)


def keep(store: Store) -> list[str]:
    """Write what the store has into the repository, with what was kept before; a line for each file.

    Results that no plan asks for any more, because the protocol has changed, are left out.
    """
    found, lines = store.everything(), []
    plans: dict[tuple[str, str], list[Task]] = {}
    for paper, experiment in protocol.all_experiments().values():
        for profile in KEPT_PROFILES:
            tasks = protocol.planned(paper, experiment, profile, protocol.choices_of(paper))
            plans.setdefault((paper, profile), []).extend(task for task in tasks if task.needs is None)
    for (paper, profile), tasks in plans.items():
        path = _path_of(paper, profile)
        if count := write_kept(path, tasks, found):
            n_tasks = len({(task.digest, task.seed) for task in tasks})
            lines.append(f"{paper}, {profile}: {count} of {n_tasks} results, {path.stat().st_size / 1000:.0f} kB")
    return lines or ["Nothing to keep: the store has no results of the profiles full and confirm."]
