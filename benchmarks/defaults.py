"""Defaults that stay good: ``python -m benchmarks.defaults [--only TEXT ...] [--seeds N] [--jobs N] [--keep]``.

Every public estimator, the pipelines, `AutoSVC`, `AutoSVR` and the command line, with nothing chosen, on all data sets
and raw tables that are at hand; streams in the order of time. Scores (accuracy, R^2, area under the ROC curve, nearness
to a promised rate) are compared with those in ``benchmarks/defaults.json``; the command ends with 1 if one is worse by
more than its spread. ``--keep`` writes the new ones there: do so when a default has become better, and where one has
become worse say why in the commit.
"""

import argparse
import datetime
import json
import os
import sys
import time
import warnings
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from rich.console import Console

from benchmarks.__main__ import machine
from benchmarks.defaults_cases import CASES

__all__ = ["KEPT", "allowed_loss", "kept_results", "measured"]

KEPT = Path(__file__).with_name("defaults.json")
SEEDS = 3
SMALLEST_SPREAD = 0.003  # other processors and library versions change the last rows


def measured(name: str, seed: int) -> float:
    """The score of a case; warnings are for users who look at one model."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return CASES[name].score_of(seed)


def kept_results() -> dict:
    """Scores for seeds 0, 1, ... by the name of the case."""
    return json.loads(KEPT.read_text())["scores"] if KEPT.exists() else {}


def allowed_loss(kept: list[float]) -> float:
    """A score may be lower than the kept one of its seed by as much as kept ones of other seeds differ."""
    return max(max(kept) - min(kept), SMALLEST_SPREAD)


def main() -> None:
    options = _options()
    console = Console(width=None if sys.stdout.isatty() else 140)
    names = [name for name in CASES if not options.only or any(text in name for text in options.only)]
    kept, scores, worse = kept_results(), {}, []
    for name, found, seconds in _results(names, options):
        if isinstance(found, str):
            console.print(f"{name}: failed: {found}", markup=False)
            continue
        scores[name] = found
        before = kept.get(name)
        n_both = min(len(before or found), len(found))
        if before and np.mean(before[:n_both]) - np.mean(found[:n_both]) > allowed_loss(before):
            worse.append(name)
        then = f"{np.mean(before):.4f} before, " if before else ""
        spread = f"+- {np.ptp(found):.4f}, {seconds:.1f} s"
        console.print(f"{name}: {then}{np.mean(found):.4f} {spread}{', worse' * (name in worse)}", highlight=False)
    console.print(f"{len(scores)} of {len(names)} cases measured; worse by more than their spread: {worse or 'none'}")
    if options.keep:
        _keep({**kept, **scores})
    elif worse:
        sys.exit(1)


def _results(names, options):
    """Name, scores for all seeds (or what went wrong) and mean seconds of each case, as they are done."""
    parts = {name: {} for name in names}
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
        waiting = {pool.submit(_timed, name, seed): (name, seed) for name in names for seed in range(options.seeds)}
        for done in as_completed(waiting):
            name, seed = waiting[done]
            parts[name][seed] = done.result()
            if len(parts[name]) == options.seeds:
                found, seconds = zip(*(parts[name][seed] for seed in range(options.seeds)), strict=True)
                failures = [each for each in found if isinstance(each, str)]
                yield name, failures[0] if failures else list(found), np.mean(seconds)


def _timed(name: str, seed: int):
    start = time.perf_counter()
    try:
        found = round(measured(name, seed), 5)
    except Exception as failure:  # one case must not end the others
        found = f"{type(failure).__name__}: {failure}"
    return found, time.perf_counter() - start


def _keep(scores: dict) -> None:
    content = {"date": datetime.date.today().isoformat(), "machine": machine(), "scores": scores}
    lines = json.dumps({**content, "scores": {}}, indent=1).removesuffix("{}\n}")
    rows = ",\n".join(f"  {json.dumps(name)}: {json.dumps(scores[name])}" for name in CASES if name in scores)
    KEPT.write_text(f"{lines}{{\n{rows}\n }}\n}}\n")


def _options():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.defaults", description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", help="cases whose names contain one of these texts")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="number of seeds of each case")
    parser.add_argument("--jobs", type=int, default=1, help="processes side by side")
    parser.add_argument("--keep", action="store_true", help=f"write the results to {KEPT.name}")
    return parser.parse_args()


if __name__ == "__main__":
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ.setdefault(variable, "1")
    main()
