"""What single parameters may be is declared by parameter; each estimator refuses what none of them can be."""

import pytest

import frugalsvm
from frugalsvm._homes import ESTIMATORS
from frugalsvm.estimators.constraints import check_constraints, constraints, count, is_auto, optional, or_auto, positive
from frugalsvm.estimators.kernel_model import KernelEstimator
from frugalsvm.exceptions import ParameterError

CLASSES = [cls for cls in (getattr(frugalsvm, name) for name in sorted(ESTIMATORS)) if issubclass(cls, KernelEstimator)]


def declared(cls):
    """Parameters with a constraint: the nearest class counts."""
    found = {}
    for base in reversed(cls.__mro__):
        found.update(vars(base).get("_constraints", {}))
    return sorted(name for name, each in found.items() if each is not None and name in cls().get_params())


@pytest.mark.parametrize(
    ("cls", "name"), [pytest.param(cls, name, id=f"{cls.__name__}-{name}") for cls in CLASSES for name in declared(cls)]
)
def test_what_no_parameter_can_be_is_refused_by_name(cls, name):
    with pytest.raises(ParameterError) as error:
        cls().set_params(**{name: object()}).check_parameters()
    assert error.value.parameter == name


@pytest.mark.parametrize("cls", CLASSES)
def test_defaults_are_accepted(cls):
    cls().check_parameters()


class Base:
    _constraints = constraints(size=positive, depth=count(), other=positive)

    def __init__(self, size=1.0, depth=1):
        self.size, self.depth = size, depth

    @classmethod
    def _get_param_names(cls):
        return ["depth", "size"]


class Own(Base):
    _constraints = constraints(size=or_auto(optional(positive)), depth=None)


def test_the_nearest_class_counts():
    check_constraints(Base())  # `other` is no parameter of it
    with pytest.raises(ParameterError, match="size must be a positive number, not None"):
        check_constraints(Base(size=None))
    for size in (None, "auto", 2.0):
        check_constraints(Own(size=size, depth=-1))
    with pytest.raises(ParameterError, match="size must be a positive number, not -1"):
        check_constraints(Own(size=-1))


def test_the_word_auto_is_told_from_arrays_and_other_words():
    assert [is_auto(value) for value in ("auto", "scale", None, 1.0, ["auto"])] == [True, False, False, False, False]
