"""Targets of regression: checked, and on a scale of their own, so that steps and tolerances suit all of them."""

from typing import Annotated, Any, NamedTuple

import numpy as np
from sklearn.utils.validation import _check_sample_weight, check_array, check_consistent_length

from frugalsvm._stored import ABOVE_ZERO, stored
from frugalsvm.arrays.namespace import on_host

__all__ = ["TargetScale", "checked_targets", "checked_weights", "robust_scale_of", "scale_of", "weighted_quantiles"]

# Sizes of targets that models, their files and exports have room for, in float32 as well
_LARGEST, _SMALLEST = 1e24, 1e-24
_NORMAL_QUARTILES = 1.35  # standard deviations between the quartiles of a normal distribution


@stored("target-scale")
class TargetScale(NamedTuple):
    """Where the targets of each output are, and how far apart: outputs of the model are in these units."""

    center: Annotated[np.ndarray, "d o"]
    spread: Annotated[np.ndarray, "d o", ABOVE_ZERO]

    def standardized(self, targets: np.ndarray) -> np.ndarray:
        """Targets (n, 1) or (n, n_outputs) in units of the model, (n, n_outputs)."""
        return np.ascontiguousarray((targets - self.center) / self.spread)

    def moved(self, shifts: np.ndarray) -> "TargetScale":
        """The scale of outputs that are moved by some amounts, in units of the targets."""
        return self._replace(center=self.center + shifts)

    def of_targets(self, parameters: np.ndarray) -> np.ndarray:
        """Weights and, last, intercepts (n_outputs, d + 1) of a model of standardized targets, for targets as given."""
        found = parameters * self.spread[:, None]
        found[:, -1] += self.center
        return found

    def of_model(self, parameters: np.ndarray) -> np.ndarray:
        """The other way round."""
        found = parameters.copy()
        found[:, -1] -= self.center
        return found / self.spread[:, None]

    @property
    def without_spread(self) -> "TargetScale":
        """For a model whose coefficients are in units of the targets."""
        return TargetScale(self.center.copy(), np.ones_like(self.spread))


def checked_targets(name: str, y: Any, X: Any) -> tuple[np.ndarray, bool]:
    """Finite targets of bearable size as (n, n_targets), and whether they came in columns."""
    if y is None:
        raise ValueError(f"{name} requires y to be passed, but the target y is None.")
    y = check_array(on_host(y), ensure_2d=False, dtype=np.float64, input_name="y")
    check_consistent_length(X, y)
    if y.ndim not in (1, 2):
        raise ValueError(f"y has {y.ndim} dimensions: pass a target, or several in columns, for each row.")
    _check_size(y)
    return y.reshape(len(y), -1), y.ndim == 2


def _check_size(y: np.ndarray) -> None:
    sizes = np.abs(y)
    largest = sizes.max(initial=0.0)
    if largest > _LARGEST or 0.0 < largest < _SMALLEST:
        raise ValueError(
            f"y has values up to {largest:.3g} in size, and regression takes {_SMALLEST:g} to {_LARGEST:g}: choose "
            f"another unit, such as y / {10.0 ** np.floor(np.log10(largest)):g}."
        )


def checked_weights(sample_weight: Any, X: Any) -> np.ndarray | None:
    """Weight of every example, or None where all are 1."""
    if sample_weight is None:
        return None
    return _check_sample_weight(on_host(sample_weight), X, dtype=np.float64, ensure_non_negative=True)


def scale_of(targets: np.ndarray, weights: np.ndarray | None, quantiles: np.ndarray | None) -> TargetScale:
    """The scale of the first targets (n, n_targets): their means, or their quantiles; and standard deviations."""
    weights = np.ones(len(targets)) if weights is None or not weights.any() else weights
    # From one of the targets on: a constant is zero then, and an offset takes no digits from what is left.
    distances = targets - targets[0]
    mean = np.average(distances, axis=0, weights=weights)
    spread = np.sqrt(np.average(np.square(distances - mean), axis=0, weights=weights))
    spread = np.where(spread > 0, spread, 1.0)
    if quantiles is None:
        return TargetScale(targets[0] + mean, spread)
    center = weighted_quantiles(targets[:, 0], weights, quantiles)
    return TargetScale(center, np.repeat(spread, len(quantiles)))


def robust_scale_of(targets: np.ndarray, weights: np.ndarray | None) -> TargetScale:
    """Where the middle of targets (n, n_targets) is, and how far apart half of them are: outliers do not count.

    The center is one of the targets: differences to it are exact, however large an offset is.
    """
    seen = targets if weights is None or not weights.any() else targets[weights > 0]
    center = np.percentile(seen, 50, axis=0, method="lower")
    distances = seen - center
    low, high = np.percentile(distances, [25, 75], axis=0)
    spread = (high - low) / _NORMAL_QUARTILES
    spread = np.where(spread > 0, spread, distances.std(axis=0))
    return TargetScale(center, np.where(spread > 0, spread, 1.0))


def weighted_quantiles(values: np.ndarray, weights: np.ndarray, quantiles: np.ndarray) -> np.ndarray:
    """For each quantile the smallest value that its share of the weights is not above."""
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weights[order])
    return values[order[np.minimum(np.searchsorted(below, quantiles * below[-1]), len(values) - 1)]]
