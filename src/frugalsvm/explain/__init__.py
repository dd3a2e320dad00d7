"""Why a model says what it says: Shapley values, importances, curves and prototypes.

`shapley_values` shares a decision value out among the columns of a row: exactly and about as fast as predictions where
kernels are products or sums over features, by sampling for all other models.
`Explanation` is what it returns: for tables, for text in terminals, for HTML, and for shap.
"""

from frugalsvm.explain.curves import Dependence, partial_dependence
from frugalsvm.explain.explanation import Explanation
from frugalsvm.explain.importances import permutation_importance, side_by_side
from frugalsvm.explain.model_card import model_card
from frugalsvm.explain.prototypes import Prototype, prototypes
from frugalsvm.explain.shapley import has_exact_shares, shapley_values, vector_importances

__all__ = [
    "Dependence",
    "Explanation",
    "Prototype",
    "has_exact_shares",
    "model_card",
    "partial_dependence",
    "permutation_importance",
    "prototypes",
    "shapley_values",
    "side_by_side",
    "vector_importances",
]
