"""Which flags of `frugalsvm train` apply: one table of flag, driver and algorithm.

A driver is a way to train: "auto" (models are compared, the usual one for files), "stream" (batch after batch),
"device" (``--device``: all rows at once) or "dask" (``--dask``: on a cluster). A flag that somebody gave, on the
command line or in a file of flags, and that would have no effect is refused: a model that was made without it would be
a surprise.
"""

from collections.abc import Collection
from typing import Any

from frugalsvm.cli.catalogue import AUTO, CATALOGUE, CLASSES, NUMBERS

DRIVERS = ("stream", "device", "dask", "auto")


def _streaming(**fields: Any) -> tuple[str, ...]:
    """Algorithms that learn batch by batch, and of which fields are these."""
    wanted = {"streams": True, **fields}.items()
    return tuple(name for name, each in CATALOGUE.items() if all(getattr(each, key) == value for key, value in wanted))


_ALL, _BUDGETED, _WITH_METRIC = _streaming(), _streaming(budgeted=True), _streaming(has_metric=True)
_WITH_ALPHA, _WITH_C = _streaming(strength="alpha"), _streaming(strength="C")
_OF_CLASSES, _OF_NUMBERS = _streaming(task=CLASSES), _streaming(task=NUMBERS)
_LOW_RANK = ("asset", "asset-regressor")
# The algorithms that these drivers have
_DEVICE = (*_LOW_RANK, *(name for name in CATALOGUE if name not in _ALL))
_DASK, _AUTO = ("asset", "bsgd", "one-class"), (AUTO,)
_SUPERVISED = ("asset", "bsgd")  # of those on a cluster

_EVERYWHERE = {"stream": _ALL, "device": _DEVICE, "dask": _DASK, "auto": _AUTO}
_OF_MODELS = {"stream": _ALL, "device": _DEVICE, "dask": _DASK}  # what `auto` chooses
_FROM_FILES = {"stream": _ALL, "device": _DEVICE, "auto": _AUTO}  # not on a cluster
_OF_STREAMS = {"stream": _ALL}
_OF_COMPARISONS: dict[str, tuple[str, ...]] = {"auto": _AUTO}
_OF_CLUSTERS: dict[str, tuple[str, ...]] = {"dask": _DASK}

# Name of the parameter: for each driver, the algorithms with which it has an effect.
TABLE: dict[str, dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(("data", "output", "algorithm", "label", "delimiter", "seed"), _EVERYWHERE),
    **dict.fromkeys(("kernel", "config", "as_json", "quiet"), _EVERYWHERE),
    "budget": {"stream": _BUDGETED, "device": _LOW_RANK, "dask": _DASK},
    "alpha": {"stream": _WITH_ALPHA, "device": _LOW_RANK, "dask": _SUPERVISED},
    "c": {"stream": _WITH_C, "device": _DEVICE, "dask": ("asset",)},
    "metric": {"stream": _WITH_METRIC, "device": _DEVICE, "dask": _SUPERVISED},
    **dict.fromkeys(("gamma", "scale"), _OF_MODELS),
    "calibrate": {"stream": _OF_CLASSES, "device": ("asset", "local"), "dask": _SUPERVISED, "auto": _AUTO},
    **{flag: {"stream": (name,)} for name, algorithm in CATALOGUE.items() for flag in algorithm.own},
    **{flag: {"stream": _OF_NUMBERS, "dask": ("asset",)} for flag in ("loss", "quantile")},
    "nu": {"stream": ("one-class",), "dask": ("one-class",)},
    "time_budget": _OF_COMPARISONS,
    "task": {**_OF_COMPARISONS, "dask": ("asset",)},
    **dict.fromkeys(("format", "header", "decimal", "thousands", "categorical", "ignore", "missing"), _EVERYWHERE),
    **dict.fromkeys(("on_bad_line", "features", "hash_features"), _FROM_FILES),
    **dict.fromkeys(("passes", "shuffle", "shuffle_buffer", "prequential"), _OF_STREAMS),
    "classes": {"stream": _OF_CLASSES},
    **dict.fromkeys(("checkpoint_every", "resume", "changed_data"), _OF_STREAMS),
    "device": {"device": _DEVICE, "auto": _AUTO},
    **dict.fromkeys(("dask", "dask_tls_ca", "dask_tls_cert", "dask_tls_key"), _OF_CLUSTERS),
}
_FLAGS = {"c": "--C", "as_json": "--json", "data": "the data"}
_WHY = {
    "device": "with --device all rows are learned at once",
    "dask": "with --dask the workers read the files and learn them in rounds",
}
_INSTEAD_ON_DASK = {
    "passes": "rounds end by themselves, so leave it out",
    **dict.fromkeys(("shuffle", "shuffle_buffer"), "rows are in random order there anyway, so leave it out"),
    "classes": "the labels of all files are known before the first round, so leave it out",
    "prequential": "for predictions on the way, train as a stream, without --dask",
    "alarm_rate": "--nu is the share of rows that one-class calls anomalies there, so give that instead",
    "half_life": "to follow a stream that changes, train without --dask",
    "checkpoint_every": "lost workers are replaced while it runs, so leave it out",
    **dict.fromkeys(("resume", "changed_data"), "there is no row to resume from: train from the start, without it"),
    "on_bad_line": "mend such lines first, or train without --dask",
    "features": "it is for LIBSVM text: convert the rows to Parquet or CSV and leave it out",
    "hash_features": "it is for LIBSVM text: convert the rows to Parquet or CSV and leave it out",
    "time_budget": "models are compared on one machine: leave it out, or compare on a sample without --dask",
    "device": "devices are for one machine: leave one of them out",
}
_NOT_WITH_AUTO = {
    "half_life": "auto compares models that forget nothing",
    "prequential": "auto learns all rows at once",
}


def flag_named(name: str) -> str:
    """How a parameter is written on the command line."""
    return _FLAGS.get(name, "--" + name.replace("_", "-"))


def driver_of(values: dict[str, Any]) -> str:
    """The way to train that flags ask for."""
    if values["dask"] is not None:
        return "dask"
    if values["algorithm"] == AUTO:
        return "auto"
    learns_at_once = values["algorithm"] in CATALOGUE and not CATALOGUE[values["algorithm"]].streams
    return "device" if values["device"] is not None or learns_at_once else "stream"


def has_driver(driver: str, algorithm: str) -> bool:
    """Whether an algorithm can be trained in a way."""
    return algorithm in _EVERYWHERE[driver]


def applies(name: str, driver: str, algorithm: str) -> bool:
    """Whether a flag has an effect; those that the table does not know do."""
    return name not in TABLE or algorithm in TABLE[name].get(driver, ())


def refusal(given: Collection[str], driver: str, algorithm: str) -> tuple[str, str] | None:
    """The first given flag that would have no effect, and a sentence about it; None if all have one."""
    if driver != "stream" and not has_driver(driver, algorithm):
        return f"--{driver}", _other_algorithm(driver, algorithm)
    for name in given:
        if not applies(name, driver, algorithm):
            return flag_named(name), _reason(name, driver, algorithm)
    if {"alpha", "c"} <= set(given):
        return "--alpha", "give --alpha or --C, not both."
    return None


def _other_algorithm(driver: str, algorithm: str) -> str:
    *others, last = _EVERYWHERE[driver]
    known = f"{', '.join(others)} and {last}"
    reason = f"it is for the algorithms {known}, and this is {algorithm}."
    if driver == "dask" and algorithm in _OF_NUMBERS:
        reason = f"{reason.removesuffix('.')}: `-a asset --task regression` learns numbers there."
    if driver == "device":
        reason = (
            f"it is for `--algorithm asset` and `local`; {algorithm} learns one example after the other, on the CPU "
            "(in Python, BSGDClassifier has device= for very large budgets). "
            "`predict` and `evaluate` take --device for every algorithm."
        )
    return reason


def _reason(name: str, driver: str, algorithm: str) -> str:
    drivers = TABLE[name]
    if driver == "dask" and name in _INSTEAD_ON_DASK:
        return f"{_WHY[driver]}; {_INSTEAD_ON_DASK[name]}."
    if driver == "auto" and name in _NOT_WITH_AUTO:
        return f"{_NOT_WITH_AUTO[name]}: leave it out, or take -a bsgd, for one."
    if driver == "auto":
        return "auto chooses that by itself: leave it out, or name an algorithm (`frugalsvm algorithms`)."
    if name == "task" and algorithm in CATALOGUE:
        return (
            f"{algorithm} learns {CATALOGUE[algorithm].task}: leave it out, or leave --algorithm out. "
            f"{' and '.join(_OF_NUMBERS)} learns numbers."
        )
    if set(drivers) == {"auto"}:
        return f"it is for `--algorithm auto`, which compares models, and this is {algorithm}: leave it out."
    if driver not in drivers:
        drivers = {each: names for each, names in drivers.items() if each != "auto"}
        if not CATALOGUE[algorithm].streams:
            return f"{algorithm} learns all rows at once: leave it out."
        if set(drivers) == {"stream"}:
            return f"{_WHY[driver]}, and {flag_named(name)} is for streams: leave one of them out."
        others = " or ".join("without --device and --dask" if d == "stream" else f"with --{d}" for d in drivers)
        if driver == "stream":
            return f"it is for training {others}: leave it out."
        return f"{_WHY[driver]}, and {flag_named(name)} is for training {others}: leave it out."
    strength = CATALOGUE[algorithm].strength
    if name in ("alpha", "c"):
        own = f"its regularization strength is {flag_named(strength.lower())}"
        return f"{algorithm} does not use it: {own if strength else 'it has no such parameter'}."
    if name == "metric":
        return f"{algorithm} has none: leave it out, or choose one of {', '.join(_WITH_METRIC)}."
    if name == "budget":
        return f"{algorithm} keeps as many vectors as it needs: leave it out, or choose another --algorithm."
    if name in ("calibrate", "classes"):
        return f"it is for classes, and {algorithm} learns {CATALOGUE[algorithm].task}: leave it out."
    return f"{algorithm} does not use it: it is for {' and '.join(drivers['stream'])}."
