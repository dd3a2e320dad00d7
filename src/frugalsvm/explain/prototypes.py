"""Which support vectors or landmarks spoke for a prediction, and which against it."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from frugalsvm.estimators.constraints import check_count
from frugalsvm.explain.columns import as_in_table
from frugalsvm.explain.models import explained


class Prototype(NamedTuple):
    """A support vector or landmark, and what it adds to a value."""

    vector: int  # its place among those of the model
    contribution: float  # coefficient times kernel value
    similarity: float  # the kernel value
    values: NDArray  # (n_columns,) the vector as a row of users, as far as that is known, in the order of their columns
    example: int | None  # the row of `examples` that is nearest to it, for the kernel


def prototypes(
    model: Any, X: Any, *, n_prototypes: int = 3, output: int | None = None, examples: Any = None
) -> list[dict[str, list[Prototype]]]:
    """The vectors that added most to the values of rows, and those that took most away.

    The value of a row is the sum of what all vectors add, and the intercept: ``sum_i a_i K(x, v_i) + b``.

    Parameters
    ----------
    model : estimator
        As for `shapley_values`.
    X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
    n_prototypes : int, default=3
        Maximum number of each kind.
    output : int, default=None
        Index of one of several outputs. None is the one with the largest value of each row.
    examples : same as X, default=None
        Rows, of the training data for instance: each prototype names the one that is nearest to it. Vectors of models
        that merge are no rows of the data.

    Returns
    -------
    list of dict
        For each row two lists, "for" and "against", the largest contributions first.

    Examples
    --------
    >>> import numpy as np
    >>> from frugalsvm import LASVMClassifier
    >>> from frugalsvm.explain import prototypes
    >>> X = np.array([[0.0, 0.0], [0.2, 0.1], [3.0, 3.0], [3.1, 2.9]])
    >>> model = LASVMClassifier(gamma=1.0, C=10.0).fit(X, ["low", "low", "high", "high"])
    >>> found = prototypes(model, [[0.1, 0.1]], examples=X)[0]
    >>> [each.example in (0, 1) for each in found["for"]]
    [True, True]
    """
    check_count("n_prototypes", n_prototypes)
    source = explained(model)
    rows = source.rows(X)
    similarities = source.kernel_values(rows)
    values = source.values(rows)
    n_outputs = values.shape[1]
    if output is not None and not 0 <= output < n_outputs:
        raise ValueError(f"There is no output {output}: the model has {n_outputs}, from 0.")
    chosen = values.argmax(axis=1) if output is None else np.full(len(rows), output)
    nearest = None if examples is None else source.kernel_values(source.rows(examples)).argmax(axis=0)
    restored = source.restored()[:, as_in_table(source.columns.names(X), X)]

    def of_row(i):
        contributions = source.coefficients[chosen[i]] * similarities[i]
        order = np.argsort(contributions, kind="stable")
        # Of one output, what is below zero speaks for the other class: that is what the prediction is then.
        is_for_other = n_outputs == 1 and source.has_two_classes and values[i, 0] < 0
        found = {}
        for side, sign in (("for", -1.0 if is_for_other else 1.0), ("against", 1.0 if is_for_other else -1.0)):
            largest = (order[::-1] if sign > 0 else order)[:n_prototypes]
            found[side] = [
                made(k, contributions[k], similarities[i, k]) for k in largest if sign * contributions[k] > 0
            ]
        return found

    def made(k, contribution, similarity):
        example = None if nearest is None else int(nearest[k])
        return Prototype(int(k), float(contribution), float(similarity), restored[k], example)

    return [of_row(i) for i in range(len(rows))]
