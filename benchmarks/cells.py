"""Kernel machines in cells, beside boosted trees and others: ``python -m benchmarks.cells [--only NAME ...]``.

`LocalSVC` and `LocalSVR` on one thread, on all cores and on a GPU if there is one, with gamma and C chosen by
themselves; with one and three trees; on standardized columns, and with rows, metric and kernel that `AutoSVC` finds on
30 000 training rows ("metric s" are its seconds, on the GPU or else on all cores). Beside them HistGradientBoosting
with its defaults ("hgb"), with up to 1 000 rounds of 255 leaves and early stopping ("hgb-large"), and, where they are
installed, LightGBM, xRFM and liquidSVM.

All have the same rows: the split of the source or, where there is none, 80 % for training by a random split of
``--seed``. Errors are in percent of test rows; of regression, the root mean squared error of the standardized target.
"left out" is the leave-one-out error, which knows no test rows. Seconds are those of `fit`, with every choice and with
what probabilities and intervals need, and of the prediction of all test rows, when machine code is there. Bytes are
``model_bytes_``, of peers the pickled model.

Every result is a line of JSON in ``output/cells.jsonl``, after those of earlier runs. Test rows are for the last look.
Related: ``benchmarks.cluster_speed --learners cells`` (workers), ``benchmarks.large_rows`` (up to 10^7 rows),
``benchmarks.cells_bytes`` (byte budgets), ``benchmarks.cells_left_out`` (leave-one-out, intervals, probabilities).
"""

import argparse
import json
import pickle
import time
import warnings
from functools import cache
from pathlib import Path

import numpy as np
from rich.console import Console
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from benchmarks.__main__ import machine
from benchmarks.cells_models import PEERS, WAYS, Place, learned_metric, new_local, warm_up
from benchmarks.comparison.columns import Columns
from benchmarks.comparison.scores import error_of
from benchmarks.comparison.tuning import FAILURES
from benchmarks.printing import table
from benchmarks.source_splits import TABLES, split_of
from frugalsvm.arrays.namespace import find_gpu
from frugalsvm.compiling.threads import thread_count

__all__ = ["measured", "places_of", "standardized"]

NAMES = ("covtype", "covtype-1", "elec2", "letter", "protein", "kin40k", "mnist")
HEADINGS = ("data", "model", "where", "rows", "error", "left out", "fit s", "predict s", "metric s", "MB")


def main():
    options = _options()
    console = Console(width=150)
    for peer in options.peers:
        if PEERS[peer].missing:
            console.print(f"{peer}: not measured, because {PEERS[peer].missing} is not installed")
    shown = table("Machines in cells: error in percent; of regression, RMSE of the standardized target", *HEADINGS)
    for name in options.only:
        split = split_of(name, options.seed, rows=options.rows)
        for result in measured(name, split, TABLES[name].is_regression, options, console):
            _append(options.json, {**result, "seed": options.seed, "cores": thread_count(-1), **machine()})
            shown.add_row(*_cells(result))
            console.print(", ".join(_cells(result)), markup=False)
    console.print(shown)
    console.print(f"Results are in {options.json}")


def _options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=NAMES, default=NAMES, help="tables (default: all)")
    parser.add_argument("--ways", nargs="*", choices=WAYS, default=list(WAYS), help="settings (default: all)")
    parser.add_argument("--peers", nargs="*", choices=PEERS, default=list(PEERS), help="others (default: all)")
    parser.add_argument("--jobs", nargs="+", type=int, default=[1, -1], help="threads (default: one, and all cores)")
    parser.add_argument("--no-gpu", action="store_true", help="leave a GPU out")
    parser.add_argument("--rows", type=int, help="training rows, and test rows, at most: to try things out")
    parser.add_argument("--seed", type=int, default=0, help="of the split and of the models")
    parser.add_argument("--json", type=Path, default=Path("output/cells.jsonl"), help="where results go")
    return parser.parse_args()


def places_of(jobs, with_gpu) -> list[Place]:
    """Numbers of threads, each once, and the GPU."""
    counts = sorted({thread_count(n) for n in jobs})
    places = [Place(f"{count} thread{'s' if count > 1 else ''}", "cpu", count) for count in counts]
    return [*places, Place("GPU", "cuda", counts[-1])] if with_gpu else places


def measured(name, split, is_regression, options, console):
    """Results of all settings in all places, then of all peers; what fails is told, and left out."""
    places = places_of(options.jobs, find_gpu().is_available and not options.no_gpu)
    for model, place, measure in _cases(split, is_regression, places, options):
        try:
            with threadpool_limits(place.n_jobs):
                yield {"data": name, "model": model, "where": place.name, "rows": len(split.y), **measure(place)}
        except FAILURES as failure:
            words = f"{name}, {model}, {place.name}: failed, {type(failure).__name__}: {failure}"
            console.print(words, markup=False)


def _cases(split, is_regression, places, options):
    """Name, place, and a function of the place that measures."""
    plain = standardized(split)

    @cache
    def found():
        return _timed(lambda: learned_metric(split, is_regression, places[-1], options.seed))

    def local(way, place):
        if not way.has_metric:
            return _local_result(way, plain, is_regression, place, options.seed)
        metric, seconds = found()
        own = plain._replace(X=metric.X, X_test=metric.X_test)
        settings = {"metric": metric.metric, **({"kernel": metric.kernel} if way.has_kernel else {})}
        result = _local_result(way, own, is_regression, place, options.seed, **settings)
        return {**result, "metric_seconds": seconds}

    for name in options.ways:
        for place in places:
            yield name, place, lambda place, way=WAYS[name]: local(way, place)
    for name in options.peers:
        peer = PEERS[name]
        place = places[-1] if peer.may_use_gpu else [each for each in places if each.device == "cpu"][-1]
        if not peer.missing:
            rows = plain if peer.columns == "scaled" else split
            yield (
                name,
                place,
                lambda place, peer=peer, rows=rows: _peer_result(peer, rows, is_regression, place, options),
            )


def standardized(split):
    """A split with columns of mean 0 and variance 1; those of one unit stay in proportion."""
    if split.has_one_unit:
        columns = Columns("scaled", has_one_unit=True)
        X, X_test = columns.fit_transform(split.X, split.y), columns.transform(split.X_test)
    else:
        scaler = StandardScaler().fit(split.X)
        X, X_test = scaler.transform(split.X), scaler.transform(split.X_test)
    return split._replace(X=np.ascontiguousarray(X, np.float32), X_test=np.ascontiguousarray(X_test, np.float32))


def _local_result(way, split, is_regression, place, seed, **settings):
    model = new_local(way, is_regression, place, seed, **settings)
    warm_up(model, split.X, split.y)
    model, result = _result(new_local(way, is_regression, place, seed, **settings), split, is_regression)
    left_out = model.loo_error_ * (1 if is_regression else 100)
    chosen = {"kernel": model.kernel, "gamma": model.gamma_, "C": model.C_, "cells": model.n_cells_}
    return {**result, "left_out": left_out, "bytes": int(model.model_bytes_), **chosen}


def _peer_result(peer, split, is_regression, place, options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of small data
        peer.new(is_regression, place, options.seed).fit(split.X[:1000], split.y[:1000])
    model, result = _result(peer.new(is_regression, place, options.seed), split, is_regression)
    return {**result, "bytes": _pickled_bytes(model)}


def _result(model, split, is_regression):
    fitted, fit_seconds = _timed(lambda: model.fit(split.X, split.y))
    error, predict_seconds = _timed(lambda: error_of(fitted.predict(split.X_test), split.y_test, is_regression))
    times = {"fit_seconds": fit_seconds, "predict_seconds": predict_seconds}
    return fitted, {"error": error, "is_regression": is_regression, **times}


def _timed(work):
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start


def _pickled_bytes(model):
    try:
        return len(pickle.dumps(model))
    except (TypeError, ValueError, pickle.PicklingError):  # models in C++ that cannot be copied
        return None


def _append(path, result):
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as lines:
        lines.write(json.dumps(result) + "\n")


def _cells(result):
    digits = 4 if result["is_regression"] else 2
    numbers = (
        _shown(result["error"], digits),
        _shown(result.get("left_out"), digits),
        *(_shown(result.get(name), 2) for name in ("fit_seconds", "predict_seconds", "metric_seconds")),
        _shown(result["bytes"] and result["bytes"] / 2**20, 1),
    )
    return (result["data"], result["model"], result["where"], f"{result['rows']:,}", *numbers)


def _shown(value, digits):
    return "" if value is None else f"{value:.{digits}f}"


if __name__ == "__main__":
    main()
