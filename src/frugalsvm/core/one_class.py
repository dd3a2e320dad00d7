"""The loss of the one-class SVM: rows should score above a threshold, which others set.

The problem of Schoelkopf et al. (2001), times nu and with a free scale of the model,

    min_{w, rho}  1/2 ||w||^2 - nu rho + mean(max(0, rho - f(x)))

has the gradient steps of Pegasos with lambda = 1: ``w <- (1 - 1/t) w + (1/t) Phi(x) [f(x) < rho]``. In rho, it is at
its minimum where the share nu of the rows is below: rho is that quantile of the scores.

B. Schoelkopf, J. C. Platt, J. Shawe-Taylor, A. J. Smola, R. C. Williamson, "Estimating the support of a
high-dimensional distribution", Neural Computation 13 (2001).
"""

from typing import NamedTuple

from frugalsvm._stored import stored

EVERY_ROW = 1e300  # a threshold that every score is below


@stored("one-class", kind="loss")
class OneClass(NamedTuple):
    """``max(0, threshold - f(x))``; the score of each row, before it is learned, is left where its label would be."""

    threshold: float
