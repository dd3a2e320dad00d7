"""Constructors and docstrings of estimators: each parameter is declared and described once."""

import inspect
import re
from typing import Any

import pytest
from sklearn.base import BaseEstimator, clone

import frugalsvm
from frugalsvm._homes import ESTIMATORS
from frugalsvm.estimators.constraints import check_constraints, constraints, one_of, positive
from frugalsvm.estimators.parameters import (
    documented,
    estimator,
    fixed,
    learned,
    parameter,
    parameters,
)
from frugalsvm.exceptions import ParameterError


def described(cls, section):
    """The heads of the entries of a section."""
    body = re.search(rf"{section}\n-+\n(.*?)\n\n\w[\w ]*\n-+\n", inspect.getdoc(cls), re.DOTALL)[1]
    return re.findall(r"^(\S.*?)(?: : (.*))?$", body, re.MULTILINE)


@pytest.mark.parametrize("name", sorted(ESTIMATORS))
def test_all_parameters_are_described_in_their_order(name):
    cls = getattr(frugalsvm, name)
    entries = described(cls, "Parameters")
    assert [each for each, _ in entries] == list(inspect.signature(cls).parameters)
    for each, (_, kind) in zip(inspect.signature(cls).parameters.values(), entries, strict=True):
        assert eval(kind.rsplit("default=")[1]) == each.default


@pytest.mark.parametrize("name", sorted(ESTIMATORS))
def test_all_attributes_have_a_type(name):
    entries = described(getattr(frugalsvm, name), "Attributes")
    assert entries
    assert all(kind for _, kind in entries)


class Base:
    """Of some kind.

    Parameters
    ----------
    size : int
        How large it is.
    color : str
        Like that of the sea.

    Attributes
    ----------
    depth_, width_ : float
        How much there is.
    """


def test_an_estimator_takes_from_its_bases_what_it_does_not_say():
    @documented
    class Own(Base):
        """One of them.

        Parameters
        ----------
        color : str, default="red"
            Its own.

        Attributes
        ----------
        depth_
        age_ : int
        """

        def __init__(self, size=1e-4, *, color="red"):
            """Not called."""

    parameters, attributes = inspect.getdoc(Own).split("\n\n")[1:]
    assert parameters.split("\n")[2:] == [
        "size : int, default=1e-4", "    How large it is.", 'color : str, default="red"', "    Its own.",
    ]  # fmt: skip
    assert attributes.split("\n")[2:] == ["depth_, width_ : float", "    How much there is.", "age_ : int"]


def test_what_nobody_describes_is_an_error():
    class Own(Base):
        """One of them.

        Parameters
        ----------
        """

        def __init__(self, size=1, shape=2):
            """Not called."""

    with pytest.raises(TypeError, match="describes shape"):
        documented(Own)


def test_docstrings_may_be_left_out():
    class Own(Base):
        def __init__(self, shape=2):
            """Not called."""

    Own.__doc__ = None  # as with python -OO
    assert documented(Own) is Own


@parameters
class Shared:
    """Of some kind.

    Parameters
    ----------
    C : float
        How hard.
    gamma : float or "scale"
        How narrow.
    shuffle : bool
        Whether it is.
    """

    _constraints = constraints(shuffle=one_of((True, False)))
    C: Any = parameter(default=1.0, check=positive)
    gamma: float | str = "scale"
    shuffle: Any = True
    verbose: Any = 0
    _state: Any = None


@estimator
class Declared(Shared, BaseEstimator):
    """One of them.

    Parameters
    ----------
    budget : int

    Attributes
    ----------
    depth_ : float
    """

    budget: int = parameter(default=100, kw_only=False)
    C: Any = 5.0
    verbose: Any = fixed(1)


def test_a_constructor_of_what_is_declared():
    signature = inspect.signature(Declared)
    assert str(signature) == "(budget: int = 100, *, C=5.0, gamma: float | str = 'scale', shuffle=True)"
    assert described(Declared, "Parameters") == [
        ("budget", "int, default=100"), ("C", "float, default=5.0"),
        ("gamma", 'float or "scale", default="scale"'), ("shuffle", "bool, default=True"),
    ]  # fmt: skip
    model = clone(Declared(20, gamma=0.5))
    assert model.get_params() == {"budget": 20, "C": 5.0, "gamma": 0.5, "shuffle": True} == vars(model)
    assert model.verbose == 1


@pytest.mark.parametrize("wrong", [{"verbose": 1}, {"_state": 1}, {"depth": 1}])
def test_a_constructor_refuses_what_is_not_declared(wrong):
    with pytest.raises(TypeError, match=f"Declared.__init__.*unexpected keyword argument '{next(iter(wrong))}'"):
        Declared(**wrong)


def test_constraints_of_parameters_are_inherited():
    check_constraints(Declared())
    for wrong in ({"C": -1.0}, {"shuffle": "yes"}):
        with pytest.raises(ParameterError, match=next(iter(wrong))):
            check_constraints(Declared(**wrong))


def test_attributes_without_a_text_have_that_of_their_property():
    @documented
    class Own(Base):
        """One of them.

        Attributes
        ----------
        depth_
        age_ : int
        size_ : int
        """

        age_ = learned(lambda self: 3, doc="Years.")

        @property
        def size_(self):
            """Meters."""

    entries = inspect.getdoc(Own).split("\n\n")[1].split("\n")[2:]
    assert entries[2:] == ["age_ : int", "    Years.", "size_ : int", "    Meters."]
