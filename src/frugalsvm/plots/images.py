"""Support vectors as images."""

from collections.abc import Sequence
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from frugalsvm.exceptions import ParameterError
from frugalsvm.plots._style import axes_for
from frugalsvm.plots._vectors import vectors_of

TITLE_SHARE = 0.26  # height of a title, as a share of the width of an image


class SupportImagesDisplay:
    """The vectors of a model that have the largest coefficients, as images: a row of them for each class.

    Parameters
    ----------
    images : array-like of shape (n_images, height, width) or (n_images, height, width, 3)
    coefficients : array-like of shape (n_images,)
        Their coefficients, written above them.
    labels : array-like of shape (n_images,)
        Their classes. Images of one class stand in one row, in the given order.
    name : str, default="support vectors"
        What they are.

    Attributes
    ----------
    images, coefficients, labels, name
        As above, with arrays.
    axes_ : ndarray of Axes of shape (n_classes, n_columns)
        The axes of the images; None where a class has fewer.
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn last; the images are inside ``ax_``.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from frugalsvm import BSGDClassifier
    >>> from frugalsvm.plots import SupportImagesDisplay
    >>> X, y = load_digits(n_class=2, return_X_y=True)
    >>> model = BSGDClassifier(budget=20, gamma=1.0, random_state=0).fit(X / 16, y)
    >>> display = SupportImagesDisplay.from_estimator(model, n_columns=5)
    >>> display.images.shape, display.axes_.shape
    ((10, 8, 8), (2, 5))
    """

    def __init__(self, images: ArrayLike, coefficients: ArrayLike, labels: ArrayLike, *, name: str = "support vectors"):
        self.images, self.coefficients = np.asarray(images), np.asarray(coefficients)
        self.labels, self.name = np.asarray(labels), name
        if self.images.ndim not in (3, 4) or len(self.images) == 0:
            raise ValueError(f"images must be a stack of images, but its shape is {self.images.shape}.")
        if not len(self.images) == len(self.coefficients) == len(self.labels):
            raise ValueError(
                f"There are {len(self.images)} images, {len(self.coefficients)} coefficients and {len(self.labels)} "
                "labels: as many of each are needed."
            )

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        image_shape: Sequence[int] | None = None,
        n_columns: int = 8,
        ax: Any = None,
        **kwargs: Any,
    ) -> "SupportImagesDisplay":
        """Show a fitted classifier.

        Parameters
        ----------
        estimator : classifier
            Fitted to rows of pixels; a `StreamPipeline` or a scikit-learn pipeline, too.
        image_shape : tuple (height, width) or (height, width, 3), default=None
            None is a square.
        n_columns : int, default=8
            How many are shown of each class at most, those with the largest absolute coefficients.
        ax : matplotlib Axes, default=None
        **kwargs
            For `plot`.

        Returns
        -------
        SupportImagesDisplay

        Notes
        -----
        With two classes, a coefficient is positive for ``classes_[1]``. With several, it is the coefficient in the
        output of its class. Landmarks of `ASSETClassifier` have no class; they are shown in the row of the class that
        their coefficient speaks for.
        """
        from sklearn.base import is_classifier
        from sklearn.utils.validation import check_is_fitted

        if not is_classifier(estimator):
            raise TypeError(f"{type(estimator).__name__} is not a classifier: its vectors belong to no class.")
        check_is_fitted(estimator)
        if not isinstance(n_columns, int | np.integer) or n_columns < 1:
            raise ParameterError("n_columns", n_columns, "an integer of at least 1")
        vectors = vectors_of(estimator)
        shape = _image_shape(vectors.points.shape[1], image_shape)
        chosen = []
        for index in range(len(estimator.classes_)):
            rows = np.flatnonzero(vectors.places == index)
            strength = np.abs(vectors.coefficients[rows])
            chosen.append(rows[np.argsort(-strength, kind="stable")[:n_columns]])
        rows = np.concatenate(chosen)
        return cls(
            vectors.points[rows].reshape(-1, *shape),
            vectors.coefficients[rows],
            np.asarray(estimator.classes_)[vectors.places[rows]],
            name=vectors.name,
        ).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any):
        """Draw the images.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            The images fill these axes, of which nothing else is seen; None is a new figure.
        **kwargs
            For every image, as in `Axes.imshow`. All have one range of gray; dark is large.

        Returns
        -------
        self
        """
        classes = list(dict.fromkeys(self.labels.tolist()))
        rows = [np.flatnonzero(self.labels == label) for label in classes]
        n_columns = max(map(len, rows))
        height, width = self.images.shape[1:3]
        cell = height / width + TITLE_SHARE  # height of a cell, when its width is one
        self.ax_ = axes_for(ax, (0.85 * n_columns + 0.5, 0.85 * cell * len(rows) + 0.35))
        self.figure_ = self.ax_.figure
        self.ax_.set_axis_off()
        self.ax_.set_title(f"{self.name.capitalize()} with the largest coefficients", fontsize="medium")
        style = {"vmin": self.images.min(), "vmax": self.images.max(), "cmap": "gray_r", **kwargs}
        self.axes_ = np.full((len(rows), n_columns), None)
        for r, (label, indices) in enumerate(zip(classes, rows, strict=True)):
            for c, index in enumerate(indices):
                box = (
                    c / n_columns,
                    1 - (r + 1) / len(rows),
                    0.94 / n_columns,
                    0.97 * (cell - TITLE_SHARE) / cell / len(rows),
                )
                self.axes_[r, c] = self._draw_image(box, index, style)
            text = "towards" if self.name == "landmarks" else "class"
            self.axes_[r, 0].set_ylabel(f"{text} {label}", fontsize="small")
        return self

    def _draw_image(self, box, index, style):
        inner = self.ax_.inset_axes(box)
        inner.imshow(self.images[index], **style)
        inner.set(xticks=[], yticks=[])
        coefficient = f"{self.coefficients[index]:+#.3g}".replace("-", "\N{MINUS SIGN}")
        inner.set_title(coefficient, fontsize="x-small", pad=2)
        for side in inner.spines.values():
            side.set(linewidth=0.5, color="0.6")
        return inner


def _image_shape(n_features, given):
    if given is None:
        side = isqrt(n_features)
        if side * side != n_features:
            raise ValueError(
                f"{n_features} features do not form a square image: give image_shape=(height, width), or "
                "(height, width, 3)."
            )
        return side, side
    shape = tuple(int(length) for length in given)
    if len(shape) not in (2, 3) or int(np.prod(shape)) != n_features or (len(shape) == 3 and shape[2] not in (3, 4)):
        raise ValueError(f"image_shape={shape} does not fit {n_features} features.")
    return shape
