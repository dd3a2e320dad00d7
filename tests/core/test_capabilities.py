"""What parts declare decides, also for parts that are defined elsewhere; no names are compared."""

from typing import NamedTuple

import pytest

from frugalsvm import ASSETClassifier, BSGDClassifier, TVMClassifier
from frugalsvm.budgeted.maintenance import POLICIES, Merge, Remove
from frugalsvm.core.capabilities import check_kernel, kernels_that_offer, needs_of, offers
from frugalsvm.core.kernels import KERNELS, RBF, Linear


class Plain(NamedTuple):
    """A kernel that says nothing."""

    gamma: float


class Anisotropic(NamedTuple):
    """A kernel that says that it is Gaussian."""

    gamma: float

    shift_invariant = True
    gaussian = True


class Absolute(NamedTuple):
    """A kernel of L1 distances."""

    gamma: float

    l1 = True


class MergeTwice(NamedTuple):
    """A policy with a need."""

    budget: int

    needs = ("gaussian",)


@pytest.fixture
def registered(monkeypatch):
    monkeypatch.setitem(KERNELS, "plain", Plain)
    monkeypatch.setitem(KERNELS, "anisotropic", Anisotropic)
    monkeypatch.setitem(KERNELS, "absolute", Absolute)
    monkeypatch.setitem(POLICIES, "twice", MergeTwice)


def test_parts_and_classes_are_asked_alike():
    assert offers(RBF, "gaussian")
    assert offers(RBF(1.0), "gaussian")
    assert not offers(Linear(), "gaussian")
    assert needs_of(Merge) == needs_of(Merge(10)) == ("gaussian",)
    assert needs_of(Remove) == ()


def test_a_part_that_says_nothing_offers_nothing(registered):
    assert not offers(Plain(1.0), "shift_invariant")
    assert kernels_that_offer(("gaussian",)) == ["rbf", "anisotropic"]
    assert kernels_that_offer(()) == list(KERNELS)


def test_what_goes_without_saying(registered):
    assert offers(Plain, "products")
    assert not offers(Absolute(1.0), "products")
    assert offers(Anisotropic, "spectral")
    assert not offers(Plain, "spectral")


@pytest.mark.parametrize("maintenance", ["merge", "twice"])
def test_policies_refuse_a_kernel_that_is_not_gaussian(registered, maintenance):
    message = (
        f"maintenance='{maintenance}' works with kernel='rbf' or kernel='anisotropic' only, not with 'plain'; use "
        f"maintenance='project' or 'remove', or budget=None .{maintenance} needs a Gaussian kernel"
    )
    with pytest.raises(ValueError, match=message):
        BSGDClassifier(kernel="plain", maintenance=maintenance).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize(
    "model",
    [
        BSGDClassifier(kernel="anisotropic"),
        BSGDClassifier(kernel="anisotropic", maintenance="twice"),
        BSGDClassifier(kernel="plain", maintenance="remove"),
        BSGDClassifier(kernel="plain", budget=None),
        TVMClassifier(kernel="anisotropic", merge_space="feature"),
        ASSETClassifier(kernel="anisotropic", feature_map="fourier"),
    ],
    ids=str,
)
def test_what_is_offered_is_taken(registered, model):
    model._check_params()


REFUSED = {
    "a Gaussian kernel": TVMClassifier(kernel="plain", merge_space="feature"),
    "a kernel whose spectrum is known": ASSETClassifier(kernel="plain", feature_map="fourier"),
    "a kernel of inner products or Euclidean distances": TVMClassifier(kernel="absolute"),
}


@pytest.mark.parametrize("need", REFUSED)
def test_other_families_write_the_same_sentence(registered, need):
    model = REFUSED[need]
    with pytest.raises(ValueError, match=rf"not with '{model.kernel}'; use .* needs {need}"):
        model.fit([[0.0], [1.0]], [0, 1])


def test_structured_features_are_refused_where_features_are_drawn_one_by_one():
    model = ASSETClassifier("fourier", kernel="laplacian", structured=True)
    with pytest.raises(ValueError, match=r"structured=True works with kernel='rbf' or .* use structured='auto'"):
        model._check_params()


def test_a_need_that_no_kernel_meets(registered, monkeypatch):
    monkeypatch.delitem(KERNELS, "rbf")
    monkeypatch.delitem(KERNELS, "anisotropic")
    with pytest.raises(ValueError, match="works with no kernel only"):
        check_kernel("maintenance", "merge", ("gaussian",), "plain", "use another")
