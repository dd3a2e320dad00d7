"""Parameters that have got another name: the old one is accepted for a while, with a warning.

The old name must not stay as an attribute: scikit-learn takes what has an attribute ``steps`` for a `Pipeline`.
"""

import functools
import warnings
from collections.abc import Callable
from typing import Any

from frugalsvm.persist.savable import with_new_names

__all__ = ["takes_old_names", "warned"]


def warned(estimator: Any, parameters: dict[str, Any]) -> dict[str, Any]:
    """The same under their new names, with a warning for each old one."""
    for old in sorted(parameters.keys() & estimator._renamed_parameters.keys()):
        new = estimator._renamed_parameters[old]
        if new in parameters:
            raise TypeError(f"{old!r} is the former name of {new!r}: set the latter only.")
        warnings.warn(
            f"The parameter {old!r} of {type(estimator).__name__} is now called {new!r}; the old name will be removed.",
            FutureWarning,
            stacklevel=3,
        )
    return with_new_names(type(estimator), parameters)


def takes_old_names(init: Callable) -> Callable:
    """A constructor that takes the old names of ``_renamed_parameters``, too; its signature has the new ones only."""

    @functools.wraps(init)
    def with_old_names(self, *args, **kwargs):
        init(self, *args, **warned(self, kwargs))

    return with_old_names
