"""Warnings of this library; for a solver that stopped at its limit, see `sklearn.exceptions.ConvergenceWarning`."""

__all__ = ["PoorFitWarning"]


class PoorFitWarning(UserWarning):
    """A classifier is no better on the rows that it has just learned than one that always says the largest class."""
