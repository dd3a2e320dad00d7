"""`IncrementalSVC` in model files."""

import numpy as np

from frugalsvm._stored import distinct, within
from frugalsvm.estimators._saved import (
    CLASSIFIER,
    OPTIONAL,
    as_predictor,
    check_loaded_parameters,
    expansion_is_sound,
    predictor_saved,
)
from frugalsvm.exact.one_vs_one import pairs_of
from frugalsvm.persist.savable import Saved
from frugalsvm.persist.values import array, integer, is_positive, list_of, of_type, or_none, part, parts


def _is_sound(model):
    n_classes, examples, solvers = len(model.classes_), model._examples, model._solvers
    n, left_out = len(examples.ids), getattr(model, "_left_out", None)
    right = n_classes > 1 and len(solvers) == len(pairs_of(n_classes)) and examples.slots.shape[1] == n_classes - 1
    right = right and bool((examples.ids[:-1] < examples.ids[1:]).all()) and model._n_learned >= n
    right = right and within(examples.labels, n_classes) and within(examples.ids, model._n_learned)
    if not right or not all(_solver_is_sound(m, solver, examples) for m, solver in enumerate(solvers)):
        return False
    if left_out is not None and left_out.shape != (n, 1 if n_classes == 2 else n_classes):
        return False
    return expansion_is_sound(model, len(solvers))


def _solver_is_sound(m, solver, examples):
    """Whether each of its slots is free or has one of its examples."""
    state, cache = solver
    capacity, n_points = state.points.rows.shape[0], int(state.points.counts[0]["n_slots"])
    if cache.place.size != capacity or cache.values.dtype != np.float64:
        return False
    taken = np.concatenate([slots for k, _, slots in examples.by_solver() if k == m])
    free = state.free_slots[: state.counts[0]["n_free"]]
    right = distinct(taken) and within(taken, n_points) and not np.isin(taken, free).any()
    return bool(right) and len(taken) + len(free) == n_points


def _as_predictor(model):
    model.complete_calibration()  # which takes the examples
    return as_predictor(model)


INCREMENTAL = Saved(
    {
        **CLASSIFIER, "_solvers": parts("exact-machine"), "_n_learned": integer(), "_cache_bytes": integer(),
        "_examples": part("examples"), "C_": is_positive,
    },
    {**OPTIONAL, "_left_out": or_none(array("f", 2)), "forgotten_": list_of(of_type(dict))},
    _is_sound, check_loaded_parameters, _as_predictor,
    predictor_saved(lambda n_classes: len(pairs_of(n_classes))), renamed={"_machines": "_solvers"},
)  # fmt: skip
