"""Parameters that have got another name: the old one is accepted for a while, with a warning.

The old name must not stay as an attribute: scikit-learn takes what has an attribute ``steps`` for a `Pipeline`.
"""

import functools
import warnings
from collections.abc import Callable
from typing import Any, ClassVar

from frugalsvm.persist.savable import with_new_names

__all__ = ["RenamedParameters", "takes_old_names"]


def takes_old_names(init: Callable) -> Callable:
    """A constructor of an estimator with `RenamedParameters`; its signature has the new names only."""

    @functools.wraps(init)
    def with_old_names(self, *args, **kwargs):
        init(self, *args, **self._warned(kwargs))

    return with_old_names


class RenamedParameters:
    """Mixin for estimators, before `BaseEstimator`: ``_renamed_parameters`` is a dict from old to new names.

    The constructor takes them if it is decorated with `takes_old_names`.
    """

    _renamed_parameters: ClassVar[dict[str, str]] = {}

    def _warned(self, parameters: dict[str, Any]) -> dict[str, Any]:
        """The same under their new names, with a warning for each old one."""
        for old in sorted(parameters.keys() & self._renamed_parameters.keys()):
            new = self._renamed_parameters[old]
            if new in parameters:
                raise TypeError(f"{old!r} is the former name of {new!r}: set the latter only.")
            warnings.warn(
                f"The parameter {old!r} of {type(self).__name__} is now called {new!r}; the old name will be removed.",
                FutureWarning,
                stacklevel=3,
            )
        return with_new_names(type(self), parameters)

    def set_params(self, **params):
        """Set parameters, as in every estimator of scikit-learn.

        Parameters
        ----------
        **params : dict
            Names and values.

        Returns
        -------
        self
        """
        return super().set_params(**self._warned(params))  # type: ignore[misc]

    def __setstate__(self, state):
        super().__setstate__(with_new_names(type(self), state))  # type: ignore[misc]
