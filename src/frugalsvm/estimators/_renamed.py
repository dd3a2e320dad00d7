"""Parameters that have got another name: the old one is accepted for a while, with a warning.

The old name must not stay as an attribute: scikit-learn takes what has an attribute ``steps`` for a `Pipeline`.
"""

import warnings
from typing import Any, ClassVar

__all__ = ["RenamedParameters", "with_new_names"]


def with_new_names(cls: Any, state: dict[str, Any]) -> dict[str, Any]:
    """The attributes of an object of a class, under the names that they have now: for files of older versions."""
    names = getattr(cls, "_renamed_parameters", {})
    return {names.get(name, name): value for name, value in state.items()}


class RenamedParameters:
    """Mixin for estimators, before `BaseEstimator`: ``_renamed_parameters`` is a dict from old to new names.

    The constructor takes them as ``**renamed`` and ends with ``self._take_renamed(renamed)``.
    """

    _renamed_parameters: ClassVar[dict[str, str]] = {}

    def _take_renamed(self, renamed: dict[str, Any]) -> None:
        unknown = [name for name in renamed if name not in self._renamed_parameters]
        if unknown:
            raise TypeError(f"{type(self).__name__} has no parameter {unknown[0]!r}.")
        for name, value in self._warned(renamed).items():
            setattr(self, name, value)

    def _warned(self, parameters: dict[str, Any]) -> dict[str, Any]:
        """The same under their new names, with a warning for each old one."""
        for old in sorted(parameters.keys() & self._renamed_parameters.keys()):
            new = self._renamed_parameters[old]
            if new in parameters:
                raise TypeError(f"{old!r} is the former name of {new!r}: set the latter only.")
            warnings.warn(
                f"The parameter {old!r} of {type(self).__name__} is now called {new!r}; the old name will be removed.",
                FutureWarning,
                stacklevel=4,
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
