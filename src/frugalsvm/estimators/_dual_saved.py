"""Classifiers that learn in the dual in model files."""

from frugalsvm.core.outputs import n_outputs_for
from frugalsvm.estimators._saved import (
    CLASSIFIER,
    OPTIONAL,
    as_predictor,
    check_loaded_parameters,
    expansion_is_sound,
    is_path_of_C,
    predictor_saved,
)
from frugalsvm.persist.savable import Saved
from frugalsvm.persist.values import array, is_positive, or_none, part

__all__ = ["with_learner"]


def _is_sound(model):
    (state, cache), learner = model._solver, model._learner
    n_outputs, rows = n_outputs_for(len(model.classes_)), state.working_set.rows
    right = state.working_set.n_outputs == n_outputs and cache.place.size == rows.shape[0]
    right = right and cache.values.dtype == rows.dtype and learner.kernel == model._kernel
    if hasattr(learner, "lag"):
        right = right and learner.lag.shape[0] == n_outputs
        right = right and int(learner.moved.max(initial=-1)) < rows.shape[0]
    return bool(right) and expansion_is_sound(model)


def with_learner(*names):
    """How model files hold a classifier whose algorithm is one of these parts."""
    return Saved(
        {
            **CLASSIFIER, "_solver": part("dual-machine"), "_slot_of_row": or_none(array("i", 1)),
            "_learner": part(*names),
        },
        {**OPTIONAL, "C_": is_positive, "path_": is_path_of_C}, _is_sound, check_loaded_parameters, as_predictor,
        predictor_saved(), renamed={"_machine": "_solver"},
    )  # fmt: skip
