"""What prediction needs of a model, and nothing else: support vectors, coefficients and intercepts."""

from typing import Any

import numpy as np

from frugalsvm.budgeted.policy import Unlimited
from frugalsvm.core.expansion import Expansion, coefficients, new_expansion
from frugalsvm.estimators._asset import LowRankMachine
from frugalsvm.estimators._predictor import Predictor
from frugalsvm.estimators._writable import FOR_PREDICTION
from frugalsvm.estimators.bsgd import BSGDClassifier
from frugalsvm.estimators.learner import OneVsRestLearners

__all__ = ["prediction_state"]

# Attributes besides parameters that say something about a model without its learning state
_KEPT = ("classes_", "n_features_in_", "feature_names_in_", "_kernel", "n_iter_", "budget_", "C_")


def prediction_state(model: Any) -> dict[str, Any]:
    """The attributes of an estimator that has learned, without what is for learning on."""
    if isinstance(model, LowRankMachine):
        return _of_low_rank(model)
    own = {name: value for name, value in vars(model).items() if name in (*_KEPT, *model._get_param_names())}
    own[FOR_PREDICTION] = True
    if isinstance(model, BSGDClassifier):
        own["_expansion"], own["_policy"] = _trimmed(model._expansion, model._coefficients()), Unlimited()
    elif isinstance(model, OneVsRestLearners):
        own["_machines"] = [_trimmed_machine(machine) for machine in model._machines]
    else:
        expansion = model._expansion
        n = int(expansion.counts[0]["n_slots"])
        coef = np.ascontiguousarray(model._coefficients().T)
        rows, norms = expansion.rows[:n].copy(), expansion.norms[:n].copy()
        own["_predictor"] = Predictor(rows, norms, coef, model.intercept_, expansion.counts.copy())
    return own


def _trimmed(expansion: Expansion, coef: np.ndarray) -> Expansion:
    """The slots in use alone, with the coefficients (n, n_outputs) that predict."""
    n = int(expansion.counts[0]["n_slots"])
    trimmed = new_expansion(n, expansion.rows.shape[1], expansion.n_outputs, expansion.rows.dtype)
    trimmed.rows[:n], trimmed.norms[:n], trimmed.coef[:, :n] = expansion.rows[:n], expansion.norms[:n], coef.T
    trimmed.weights[:, :n] = coef.T
    trimmed.counts[:] = expansion.counts
    return trimmed


def _trimmed_machine(machine: Any) -> Any:
    expansion = machine.expansion
    coef = coefficients(expansion)
    return machine._replace(parts=machine.parts._replace(policy=Unlimited()), expansion=_trimmed(expansion, coef))


def _of_low_rank(model: Any) -> dict[str, Any]:
    """Coefficients of kernel values (or Fourier features): the whitening is for learning."""
    own = {**vars(model), FOR_PREDICTION: True, "_steps": None, "_first": None}
    if model._map is not None:
        own["_weights"] = np.column_stack([model._raw_coefficients().T, model._weights[:, -1]])
        own["_n_fitted"] = max(model.t_, 1)
        if hasattr(model._map, "whitening"):
            own["_map"] = model._map._replace(whitening=None, eigenvalues=None)
    return own
