"""Error against the size of models."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from frugalsvm.plots._curves import BYTES, CurvesDisplay, checked_curves, choose, percent
from frugalsvm.plots._style import line_styles
from frugalsvm.plots._vectors import model_bytes, n_terms


class ErrorVsSupportDisplay(CurvesDisplay):
    """Error against the number of support vectors, of features or of bytes, for several methods.

    Parameters
    ----------
    sizes : dict of array-like of shape (n_models,)
        Sizes of the models of each method, in any order. Models of one method that have the same size are drawn as
        their mean, with a bar of one standard deviation.
    errors : dict of array-like of shape (n_models,)
        Their errors, between 0 and 1.
    size_name : str, default="Support vectors"
        Label of the axis; ``"Model size"`` is in bytes.

    Attributes
    ----------
    sizes, errors, size_name
        As above, with arrays.
    lines_ : list of artists
        One per method.
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn last.

    Examples
    --------
    >>> from frugalsvm import BSGDClassifier
    >>> from frugalsvm.datasets import make_checkerboard
    >>> from frugalsvm.plots import ErrorVsSupportDisplay
    >>> X, y = make_checkerboard(8000, random_state=0)
    >>> models = [BSGDClassifier(budget=b, gamma=5.0, random_state=0).fit(X[:6000], y[:6000]) for b in (10, 30, 90)]
    >>> display = ErrorVsSupportDisplay.from_estimators({"BSGD": models}, X[6000:], y[6000:])
    >>> display.sizes["BSGD"], display.ax_.get_xscale()
    (array([10., 30., 90.]), 'log')
    """

    def __init__(
        self, sizes: Mapping[str, ArrayLike], errors: Mapping[str, ArrayLike], *, size_name: str = "Support vectors"
    ):
        self.sizes, self.errors = checked_curves(sizes, errors, "sizes", "errors")
        self.size_name = size_name
        self._axes = size_name, "Error"
        for name, values in self.sizes.items():
            if self.errors[name].ndim != 1:
                raise ValueError(f"{name!r} must have one error for each model, not an array of them.")
            if not (values > 0).all():
                raise ValueError(f"{name!r} has sizes that are not above zero: a logarithmic axis cannot show them.")

    @classmethod
    def from_estimators(
        cls,
        estimators: Mapping[str, Any],
        X: Any,
        y: ArrayLike,
        *,
        size: str = "terms",
        ax: Any = None,
        **kwargs: Any,
    ) -> "ErrorVsSupportDisplay":
        """Measure fitted models.

        Parameters
        ----------
        estimators : dict of estimator or of list of estimators
            Fitted classifiers of each method; they may come out of several runs.
        X, y : array-like
            Test examples.
        size : {"terms", "bytes"}, default="terms"
            Size of the models: the number of their support vectors, landmarks or random features; or the bytes that
            predictions need.
        ax : matplotlib Axes, default=None
        **kwargs
            For `plot`.

        Returns
        -------
        ErrorVsSupportDisplay
        """
        choose("size", size, ("terms", "bytes"))
        if not isinstance(estimators, Mapping):
            raise TypeError("estimators must be a dict: fitted models, or lists of them, by the name of their method.")
        labels = np.asarray(y)
        kinds: set[str] = set()
        sizes: dict[str, list[int]] = {}
        errors: dict[str, list[float]] = {}
        for name, models in estimators.items():
            models = [models] if hasattr(models, "predict") else list(models)
            counted = [n_terms(model) for model in models] if size == "terms" else []
            kinds.update(kind for _, kind in counted)
            sizes[name] = [n for n, _ in counted] if counted else [model_bytes(model) for model in models]
            errors[name] = [float(np.mean(model.predict(X) != labels)) for model in models]
        named = " or ".join(kind for kind in ("support vectors", "landmarks", "features") if kind in kinds)
        size_name = BYTES if size == "bytes" else named.capitalize()
        return cls(sizes, errors, size_name=size_name).plot(ax, **kwargs)

    _scales, _text = ("log", "linear"), percent

    def _draw(self, yscale, **kwargs):
        lines = []
        for index, name in enumerate(self.sizes):
            x, mean, spread = _by_size(self.sizes[name], self.errors[name])
            style = {**line_styles(index, 1), "capsize": 2.5, "elinewidth": 1.0, "label": name, **kwargs}
            lines.append(self.ax_.errorbar(x, mean, yerr=spread, **style))
        return lines, []


def _by_size(sizes: NDArray, errors: NDArray):
    """Sizes ascending, and mean and spread of the errors of each; no spread if no size comes twice."""
    points = np.unique(sizes)
    groups = [errors[sizes == size] for size in points]
    mean = np.array([group.mean() for group in groups])
    if all(len(group) == 1 for group in groups):
        return points, mean, None
    return points, mean, np.array([group.std(ddof=1) if len(group) > 1 else 0.0 for group in groups])
