"""scikit-learn without two large libraries that it imports and hardly ever uses.

``import sklearn`` imports all of ``scipy.stats`` for one function, and pandas where it is installed: together more than
half of the time that a small program takes from its start to its first prediction. This module imports scikit-learn
while something stands for them. Afterwards they are imported as always by whoever uses them, also by scikit-learn.

Packages whose modules import scikit-learn import this one first.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

__all__ = ["LARGE", "deferred"]

LARGE = ("pandas", "scipy.stats")


class _StandIn(ModuleType):
    """What a module has, this one has, too: it imports the module when it is asked for something."""

    def __getattr__(self, name: str) -> Any:
        _remove(self)
        return getattr(import_module(self.__name__), name)


@contextmanager
def deferred(names: tuple[str, ...]) -> Iterator[None]:
    """Context in which these modules are imported when something of theirs is used; those that are there stay."""
    stand_ins = [_StandIn(name) for name in names if name not in sys.modules and find_spec(name) is not None]
    sys.modules.update({module.__name__: module for module in stand_ins})
    try:
        yield
    finally:
        for module in stand_ins:
            _remove(module)


def _remove(stand_in: ModuleType) -> None:
    """Let the next import of the module find the module."""
    if sys.modules.get(stand_in.__name__) is stand_in:
        del sys.modules[stand_in.__name__]


if "sklearn" not in sys.modules:
    with deferred(LARGE):
        import_module("sklearn")
