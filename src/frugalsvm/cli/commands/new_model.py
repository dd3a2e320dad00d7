"""A new model of a stream: what was not given is chosen by the estimator itself, from the first rows."""

import warnings
from typing import Any

import numpy as np

from frugalsvm.cli.catalogue import CATALOGUE, CLASSES, NOVELTIES, WITHOUT_GAMMA, new_estimator
from frugalsvm.cli.console import Status
from frugalsvm.cli.options import TrainOptions
from frugalsvm.pipelines import StreamPipeline
from frugalsvm.pipelines.first_rows import Prepared, prepared
from frugalsvm.pipelines.reading import FIRST_ROWS

_METRIC_ROWS = 10_000  # that a metric is learned from at most
_CHOOSING_ROWS = 3072  # an estimator looks at no more to choose what it learns a stream with


def new_model(
    batches: list, options: TrainOptions, impute: str | None, *, is_stream: bool, quiet: bool
) -> tuple[StreamPipeline, dict[str, Any]]:
    """An empty model with parameters chosen on the first batches, unless they were given.

    Rows of a stream may change on the way: if nothing was said of that, they are learned as a `StreamPipeline` of
    Python learns them.
    """
    follows = options.forgets or (is_stream and getattr(_estimator(options), "may_follow", False))
    dense_scale = "following" if options.forgets else "yes" if follows else None
    first = prepared(batches, options.scale, impute, dense_scale=dense_scale)
    settings, estimator = _settings(options), _estimator(options)
    more: dict[str, Any] = {}
    if options.metric is not None:  # it is learned from more rows, and what goes with it is chosen then
        more = {"warmup_rows": _METRIC_ROWS}
    elif not follows and (fitted := chosen_by_itself(first, options, quiet=quiet)) is not None:
        settings |= _choices(options.algorithm, fitted, settings)
        estimator = new_estimator(options.algorithm, seed=options.seed, **settings)
    labels = np.unique(first.y).tolist() if CATALOGUE[options.algorithm].task == CLASSES else None
    chosen = {"algorithm": options.algorithm, **settings, "scale": first.scale, "labels": labels}
    if options.metric is not None:
        chosen["metric"] = options.metric
    model = StreamPipeline(
        estimator, scale=first.scale, encoder=first.encoder, calibrate=options.calibrate, impute=impute, **more
    )
    return model, chosen


def _estimator(options: TrainOptions) -> Any:
    """An estimator that chooses by itself what was not given; gamma as well where it would take a usual one."""
    settings = _settings(options)
    if options.gamma is None and options.kernel not in WITHOUT_GAMMA and CATALOGUE[options.algorithm].task != NOVELTIES:
        settings["gamma"] = "auto"
    return new_estimator(options.algorithm, metric=options.metric, seed=options.seed, **settings)


def _settings(options: TrainOptions) -> dict[str, Any]:
    """What was said about a model; of flags that only one algorithm has, those that were given."""
    own = {name: getattr(options, name) for name in CATALOGUE[options.algorithm].own}
    shared = {name: getattr(options, name) for name in ("gamma", "strength", "budget")}
    return {"kernel": options.kernel, **{name: value for name, value in own.items() if value is not None}, **shared}


def chosen_by_itself(first: Prepared, options: TrainOptions, *, quiet: bool) -> Any:
    """An estimator that has learned some of the first rows, and what to learn with; None if all of it was given.

    Where these are all rows, it chooses as `fit` does, otherwise as `partial_fit`, for rows that are still to come.
    """
    estimator, algorithm = _estimator(options), CATALOGUE[options.algorithm]
    known = estimator.get_params(deep=False)
    free = [name for name in ("gamma", "alpha", "C") if isinstance(known.get(name), str) and known[name] == "auto"]
    given = ["C"] if options.strength is not None else []  # where there are both, alpha counts
    given += ["gamma"] if options.kernel in WITHOUT_GAMMA else []
    free = [name for name in free if name not in given]
    if (not free and options.metric is None) or not len(first.y):
        return None
    n_rows = len(first.y) if options.metric is not None else _CHOOSING_ROWS
    what = f"Choosing {' and '.join(free)} on" if options.metric is None else "Learning a metric from"
    with Status(f"{what} the first {len(first.y):,} rows ...", quiet=quiet), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they would be about a model that is thrown away
        if len(first.y) < FIRST_ROWS and len(np.unique(first.y)) > 1:
            return estimator.fit(first.X, first.y)
        classes = np.unique(first.y) if options.classes is None else np.array(options.classes)
        known = {"classes": classes} if algorithm.task == CLASSES else {}
        return estimator.partial_fit(first.X[:n_rows], first.y[:n_rows], **known)


def with_own_choices(chosen: dict[str, Any], model: StreamPipeline) -> dict[str, Any]:
    """What was chosen, with what the estimator has chosen by itself while it learned, once it has."""
    estimator: Any = getattr(model, "estimator_", None)
    return chosen if estimator is None else {**chosen, **_choices(chosen["algorithm"], estimator, chosen)}


def _choices(name: str, estimator: Any, settings: dict[str, Any]) -> dict[str, Any]:
    """What an estimator has chosen of settings that are open."""
    strength = CATALOGUE[name].strength
    found = {"gamma": estimator.gamma_, "half_life": getattr(estimator, "half_life", None)}
    if strength:
        found["strength"] = _number(estimator, strength)
        if found["strength"] is None:  # a machine with both, of which neither was given
            found["C"] = _number(estimator, "C")
    return {key: value for key, value in found.items() if value is not None and settings.get(key) is None}


def _number(estimator: Any, name: str) -> Any:
    value = getattr(estimator, name)
    return getattr(estimator, f"{name}_") if isinstance(value, str) else value


def classes_for(model: StreamPipeline, options: TrainOptions, chosen: dict[str, Any]) -> Any:
    """Classes that the estimator needs to know; none for one that meets new ones by itself."""
    if options.classes is not None:
        return np.array(options.classes)
    if chosen["labels"] is None:
        return None
    return None if getattr(model.estimator, "new_classes", None) == "grow" else np.array(chosen["labels"])
