"""Which models give each input a share of its own, and which input that is."""

import numpy as np
from numpy.typing import NDArray

from frugalsvm.core.capabilities import kernels_that_offer, offers
from frugalsvm.core.kernels import KERNELS
from frugalsvm.export.models import PlainModel


class InseparableError(ValueError):
    """A model that mixes features: they have no exact shares."""


def can_share(kernel: type) -> bool:
    """Whether a kernel, the class of a part, is a product or a sum over features."""
    return offers(kernel, "multiplicative") or offers(kernel, "additive")


def able_kernels() -> str:
    """The names of these kernels, for messages."""
    return ", ".join(map(repr, kernels_that_offer(["multiplicative"]) + kernels_that_offer(["additive"])))


def refusal(name: str) -> str:
    """What is said of any other kernel."""
    return (
        f"The kernel {name!r} is neither a product nor a sum over features, so that none has a share of its own: "
        f"fit with one of {able_kernels()} to explain a model."
    )


def check_shares(model: PlainModel) -> None:
    """Refuse a kernel that is neither a product nor a sum over features."""
    if model.kernel == "fourier":
        raise InseparableError(
            "Random Fourier features mix all columns: fit with feature_map='nystroem' to explain a model."
        )
    if model.kernel not in KERNELS or not can_share(KERNELS[model.kernel]):
        raise InseparableError(refusal(model.kernel))


def input_of_features(model: PlainModel) -> NDArray:
    """The input that each feature of the kernel is made of; inputs whose factor is zero are none of them."""
    if model.directions is None:
        return np.arange(model.n_features)
    used = model.directions != 0.0
    if (used.sum(axis=1) > 1).any() or (used.sum(axis=0) > 1).any():
        raise InseparableError(
            "metric='full' mixes columns into directions, so that none has a share of its own: fit with metric='diag' "
            "to explain a model."
        )
    return used.argmax(axis=1)
