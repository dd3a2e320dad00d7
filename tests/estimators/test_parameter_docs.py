"""Docstrings of estimators: each parameter is described, once, with the default of the constructor."""

import inspect
import re

import pytest

import frugalsvm
from frugalsvm._homes import ESTIMATORS
from frugalsvm.estimators.parameters import documented, keep_parameters


def described(cls, section):
    """The heads of the entries of a section."""
    body = re.search(rf"{section}\n-+\n(.*?)\n\n\w[\w ]*\n-+\n", inspect.getdoc(cls), re.DOTALL)[1]
    return re.findall(r"^(\S.*?)(?: : (.*))?$", body, re.MULTILINE)


@pytest.mark.parametrize("name", sorted(ESTIMATORS))
def test_all_parameters_are_described_in_their_order(name):
    cls = getattr(frugalsvm, name)
    entries = described(cls, "Parameters")
    assert [each for each, _ in entries] == list(inspect.signature(cls).parameters)
    for parameter, (_, kind) in zip(inspect.signature(cls).parameters.values(), entries, strict=True):
        assert eval(kind.rsplit("default=")[1]) == parameter.default


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
            keep_parameters(self, locals())

    parameters, attributes = inspect.getdoc(Own).split("\n\n")[1:]
    assert parameters.split("\n")[2:] == [
        "size : int, default=1e-4", "    How large it is.", 'color : str, default="red"', "    Its own.",
    ]  # fmt: skip
    assert attributes.split("\n")[2:] == ["depth_, width_ : float", "    How much there is.", "age_ : int"]
    assert vars(Own(2, color="blue")) == {"size": 2, "color": "blue"}


def test_what_nobody_describes_is_an_error():
    class Own(Base):
        """One of them.

        Parameters
        ----------
        """

        def __init__(self, size=1, shape=2):
            keep_parameters(self, locals())

    with pytest.raises(TypeError, match="describes shape"):
        documented(Own)


def test_docstrings_may_be_left_out():
    class Own(Base):
        def __init__(self, shape=2):
            keep_parameters(self, locals())

    Own.__doc__ = None  # as with python -OO
    assert documented(Own) is Own
