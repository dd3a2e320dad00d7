"""A new model of a stream: what was not given is chosen on the first rows."""

from typing import Any

import numpy as np

from frugalsvm.cli.catalogue import CATALOGUE, CLASSES, WITHOUT_GAMMA, new_estimator
from frugalsvm.cli.console import Status
from frugalsvm.cli.first_rows import Prepared, prepared
from frugalsvm.cli.options import TrainOptions
from frugalsvm.cli.parameter_search import (
    can_choose,
    choose,
    chosen_strength,
    first_metric,
    grid_for,
    usual_gamma,
    usual_of,
)
from frugalsvm.pipelines import StreamPipeline

__all__ = ["classes_for", "new_model", "with_own_choices"]

_METRIC_ROWS = 10_000  # that a metric is learned from at most


def new_model(
    batches: list, options: TrainOptions, impute: str | None, *, is_stream: bool, quiet: bool
) -> tuple[StreamPipeline, dict[str, Any]]:
    """An empty model with parameters chosen on the first batches, unless they were given.

    Rows of a stream may change on the way: if nothing was said of that, they are learned as a `StreamPipeline` of
    Python learns them.
    """
    follows = options.forgets or (is_stream and _may_follow(options))
    dense_scale = "following" if options.forgets else "yes" if follows else None
    first = prepared(batches, options.scale, impute, dense_scale=dense_scale)
    best = _given_settings(options) if follows else _chosen_settings(first, options, quiet=quiet)
    classifies = CATALOGUE[options.algorithm].task == CLASSES
    labels = np.unique(first.y).tolist() if classifies else None
    chosen = {"algorithm": options.algorithm, **best, "scale": first.scale, "labels": labels}
    more: dict[str, Any] = {}
    if options.metric is not None:
        chosen["metric"], more = options.metric, {"warmup_rows": _METRIC_ROWS}
    estimator = new_estimator(options.algorithm, seed=options.seed, metric=options.metric, **best)
    model = StreamPipeline(
        estimator, scale=first.scale, encoder=first.encoder, calibrate=options.calibrate, impute=impute, **more
    )
    return model, chosen


def _may_follow(options: TrainOptions) -> bool:
    """Whether a pipeline would follow the stream, as nothing was chosen that speaks against it."""
    estimator = new_estimator(options.algorithm, metric=options.metric, **_given_settings(options))
    return getattr(estimator, "may_follow", False)


def _given_settings(options: TrainOptions) -> dict[str, Any]:
    """What was given; the rest is left to an estimator that forgets, which chooses it on rows in their order."""
    given = {"gamma": options.gamma, "strength": options.strength, "budget": options.budget}
    return {"kernel": options.kernel, **_own_settings(options), **given}


def with_own_choices(chosen: dict[str, Any], model: StreamPipeline) -> dict[str, Any]:
    """What was chosen, with what an estimator that forgets has chosen by itself, once it has."""
    estimator: Any = getattr(model, "estimator_", None)
    half_life = getattr(estimator, "half_life", None)
    if half_life is None:
        return chosen
    own = {"gamma": estimator.gamma_, "strength": getattr(estimator, "alpha_", None), "half_life": half_life}
    return {**chosen, **{name: value for name, value in own.items() if chosen.get(name) is None}}


def _chosen_settings(first: Prepared, options: TrainOptions, *, quiet: bool) -> dict[str, Any]:
    """What does best on some of the first rows, of candidates that have learned others."""
    metric, gamma = None, usual_gamma(first.X, options.kernel)
    if options.metric is not None and can_choose(first.y):
        with Status(f"Learning a metric from the first {len(first.y):,} rows ...", quiet=quiet):
            found = first_metric(options.algorithm, options.kernel, options.metric, first.X, first.y, options.seed)
        metric, gamma = found.metric, found.gamma or gamma
    grid = grid_for(
        options.algorithm,
        gamma,
        kernel=options.kernel,
        gamma=options.gamma,
        strength=options.strength,
        budgets=(options.budget,),
        own=_own_settings(options),
    )
    if len(grid) == 1 or not can_choose(first.y):
        return usual_of(grid)
    with Status(_choosing_words(options, len(grid), len(first.y)), quiet=quiet):
        return choose(options.algorithm, first.X, first.y, grid, options.seed, metric)[0].settings


def _own_settings(options: TrainOptions) -> dict[str, Any]:
    """What was said about one algorithm only."""
    settings = {name: getattr(options, name) for name in CATALOGUE[options.algorithm].own}
    return {name: value for name, value in settings.items() if value is not None}


def _choosing_words(options: TrainOptions, n_candidates: int, n_rows: int) -> str:
    strength = chosen_strength(options.algorithm)
    names = ["gamma"] if options.gamma is None and options.kernel not in WITHOUT_GAMMA else []
    names += [strength] if strength and options.strength is None else []
    return f"Choosing {' and '.join(names)}: {n_candidates} candidates on the first {n_rows:,} rows ..."


def classes_for(model: StreamPipeline, options: TrainOptions, chosen: dict[str, Any]) -> Any:
    """Classes that the estimator is told of; one that meets new ones by itself is told nothing."""
    if options.classes is not None:
        return np.array(options.classes)
    if chosen["labels"] is None:
        return None
    return None if getattr(model.estimator, "new_classes", None) == "grow" else np.array(chosen["labels"])
