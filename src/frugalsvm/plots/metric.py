"""What a learned metric makes of the features: how much each counts, and along which directions."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from frugalsvm.exceptions import ParameterError
from frugalsvm.plots._curves import choose, percent
from frugalsvm.plots._style import BLUE, VERMILLION, axes_for, diverging, draw_bars, height_of, label_axis, wrapped
from frugalsvm.plots._vectors import model_inside

KINDS = ("importances", "directions")
LINE = 0.27  # inches of height for a feature


class MetricDisplay:
    """How much each feature counts in the distances that a kernel sees, or the directions along which it sees them.

    A metric measures ``(x - z)' M (x - z)``. In units of the scales of the features, the diagonal of M has their
    importances, and its eigenvectors are the directions that count, with eigenvalues that say how much.

    Parameters
    ----------
    metric : array-like of shape (n_features,) or (n_directions, n_features)
        Factors of features, or a matrix A with ``M = A'A``, as ``metric_`` has them.
    scales : array-like of shape (n_features,), default=None
        Spread of the values of each feature. None: the same for all features.
    feature_names : sequence of str, default=None
        None is Feature 1, Feature 2 and so on.

    Attributes
    ----------
    metric, feature_names
        As above, with arrays.
    importances : ndarray of shape (n_features,)
        Shares of the features in squared distances; they sum up to 1.
    directions : ndarray of shape (n_directions, n_features)
        Eigenvectors of M in units of the scales, the one with the largest share first. The largest number of each is
        positive.
    shares : ndarray of shape (n_directions,)
        Shares of the directions in squared distances; they sum up to 1.
    is_diagonal : bool
        Whether the metric has a factor for each feature only: every direction is one feature then.
    artist_ : BarContainer or AxesImage
        The bars, or the heat map.
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn last.

    Examples
    --------
    >>> import numpy as np
    >>> from frugalsvm import ASSETClassifier
    >>> from frugalsvm.plots import MetricDisplay
    >>> X = np.random.default_rng(0).normal(size=(1000, 6))
    >>> y = np.sin(2 * X[:, 1]) > 0.5 * X[:, 4]
    >>> model = ASSETClassifier(n_components=64, metric="diag", random_state=0).fit(X, y)
    >>> display = MetricDisplay.from_estimator(model, n_features=2)
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['Feature 2', 'Feature 5', '4 others']
    """

    def __init__(
        self, metric: ArrayLike, *, scales: ArrayLike | None = None, feature_names: Sequence[str] | None = None
    ):
        self.metric = np.asarray(metric, np.float64)
        if self.metric.ndim not in (1, 2) or self.metric.size == 0 or not np.isfinite(self.metric).all():
            raise ValueError(f"metric must be factors or a matrix of numbers, but its shape is {self.metric.shape}.")
        n_features = self.metric.shape[-1]
        scales = np.ones(n_features) if scales is None else np.asarray(scales, np.float64)
        if scales.shape != (n_features,):
            raise ValueError(f"metric has {n_features} columns, but scales has the shape {scales.shape}.")
        self.feature_names = _names(feature_names, n_features)
        self.is_diagonal = self.metric.ndim == 1
        self.directions, self.shares = _directions(self.metric * scales)
        self.importances = self.shares @ np.square(self.directions)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        kind: str = "importances",
        n_features: int = 20,
        n_directions: int = 5,
        feature_names: Sequence[str] | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> "MetricDisplay":
        """Show the metric of a fitted estimator.

        Parameters
        ----------
        estimator : estimator
            Fitted with a metric; `AutoSVC`, a `StreamPipeline`, a scikit-learn pipeline or a search with one inside
            will do. Its features are those that the estimator inside is given.
        kind, n_features, n_directions, ax, **kwargs
            For `plot`.
        feature_names : sequence of str, default=None
            None is the names that the estimator was fitted with, if any.

        Returns
        -------
        MetricDisplay
        """
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(estimator)
        estimator = getattr(estimator, "pipeline_", estimator)  # that of `AutoSVC` or `AutoSVR`
        model = model_inside(estimator)
        metric = getattr(model, "metric_", None)
        if metric is None:
            raise ValueError(
                f"This {type(model).__name__} has no metric: fit an estimator that has, with metric='auto'."
            )
        names = _names_inside(estimator) if feature_names is None else feature_names
        display = cls(metric, scales=_scales(metric, model.feature_importances_), feature_names=names)
        return display.plot(ax, kind=kind, n_features=n_features, n_directions=n_directions, **kwargs)

    def plot(
        self,
        ax: Any = None,
        *,
        kind: str = "importances",
        n_features: int = 20,
        n_directions: int = 5,
        **kwargs: Any,
    ):
        """Draw importances or directions.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None is a new figure.
        kind : {"importances", "directions"}, default="importances"
            A bar for each feature; or a heat map, with a column for each direction.
        n_features : int, default=20
            How many features are shown at most, those with the largest importances. A last bar is for all others.
        n_directions : int, default=5
            How many directions are shown at most, those with the largest shares.
        **kwargs
            For the bars, as in `Axes.barh`, or for the heat map, as in `Axes.imshow`.

        Returns
        -------
        self
        """
        choose("kind", kind, KINDS)
        for name, value in (("n_features", n_features), ("n_directions", n_directions)):
            if not isinstance(value, int | np.integer) or value < 1:
                raise ParameterError(name, value, "an integer of at least 1")
        if kind == "importances":
            self._draw_importances(ax, n_features, kwargs)
        else:
            self._draw_directions(ax, n_features, n_directions, kwargs)
        self.figure_ = self.ax_.figure
        return self

    def _draw_importances(self, ax, n_features, options):
        from frugalsvm.explain.text import largest_lines

        largest, lines = largest_lines(self.importances, self.feature_names, n_features)
        self.ax_, self.artist_ = draw_bars(ax, lines, len(largest), (5.2, LINE), _share_text, **options)
        self.ax_.set(xlabel="Share of squared distances")
        label_axis(self.ax_.xaxis, text=percent)
        self.ax_.spines[["top", "right"]].set_visible(False)

    def _draw_directions(self, ax, n_features, n_directions, options):
        largest = np.argsort(-self.importances, kind="stable")[:n_features]
        shares = self.shares[:n_directions]
        values = self.directions[:n_directions, largest].T
        names = [wrapped(name) for name in self.feature_names[largest]]
        self.ax_ = axes_for(ax, (max(4.4, 0.62 * len(shares) + 2.9), height_of(names, LINE) + 1.3))
        shades = diverging(VERMILLION, (1.0, 1.0, 1.0), BLUE)
        chosen = {"cmap": shades, "vmin": -1.0, "vmax": 1.0, "aspect": "auto", **options}
        self.artist_ = self.ax_.imshow(values, **chosen)
        self.ax_.set_xticks(np.arange(len(shares)), [f"{i + 1}\n{_share_text(s)}" for i, s in enumerate(shares)])
        self.ax_.set_yticks(np.arange(len(largest)), names)
        self.ax_.set_xlabel("Direction, and its share\nof squared distances")
        self.ax_.tick_params(length=0)
        self.ax_.spines[:].set(color="0.8", linewidth=0.8)
        for edges, line in (
            (np.arange(1, len(largest)), self.ax_.axhline),
            (np.arange(1, len(shares)), self.ax_.axvline),
        ):
            for edge in edges:
                line(edge - 0.5, color="white", linewidth=1.5)
        if self.is_diagonal:
            self.ax_.set_title("Diagonal metric: each direction is one feature", fontsize="medium")
        label = "Weight, in units of feature scales"
        self.ax_.figure.colorbar(self.artist_, ax=self.ax_, label=label, ticks=(-1, -0.5, 0, 0.5, 1)).outline.set(
            color="0.8", linewidth=0.8
        )


def _directions(A):
    """Eigenvectors of ``A'A`` as rows, and the shares of their eigenvalues, the largest first."""
    if A.ndim == 1:
        order = np.argsort(-np.abs(A), kind="stable")
        vectors, values = np.eye(len(A))[order], np.square(A[order])
    else:
        _, sizes, vectors = np.linalg.svd(A, full_matrices=False)
        values = np.square(sizes)
        # The sign of an eigenvector says nothing: the largest number is positive.
        leading = np.take_along_axis(vectors, np.abs(vectors).argmax(axis=1)[:, None], axis=1)
        vectors = vectors * np.sign(leading)
    total = values.sum()
    return vectors, values / total if total > 0 else np.full(len(values), 1.0 / len(values))


def _names(given, n_features):
    if given is None:
        return np.array([f"Feature {index + 1}" for index in range(n_features)])
    if len(given) != n_features:
        raise ValueError(f"feature_names has {len(given)} names, but the metric has {n_features} features.")
    return np.array([str(name) for name in given])


def _scales(metric, importances):
    """Scales of features, up to a common factor: importances are squares of the metric times these."""
    sizes = np.linalg.norm(np.atleast_2d(metric), axis=0)
    return np.divide(np.sqrt(importances), sizes, out=np.ones_like(sizes), where=sizes > 0)


def _names_inside(estimator):
    """Names of the features that the estimator inside pipelines and searches is given; None if they are unknown."""
    from sklearn.pipeline import Pipeline

    from frugalsvm.pipelines import StreamPipeline

    if isinstance(estimator, Pipeline):
        return _names_behind_steps(estimator)
    if hasattr(estimator, "best_estimator_"):
        return _names_inside(estimator.best_estimator_)
    if isinstance(estimator, StreamPipeline):
        known = getattr(estimator, "feature_names_in_", getattr(estimator, "number_names_", None))
        names = [] if known is None or estimator.feature_map_ is not None else estimator.names_of_features(known)
        return names if len(names) == estimator.estimator_.n_features_in_ else None  # hashed columns have no names
    return getattr(estimator, "feature_names_in_", None)


def _names_behind_steps(pipeline):
    names = _names_inside(pipeline.steps[-1][1])
    if names is not None or len(pipeline) == 1 or not hasattr(pipeline, "feature_names_in_"):
        return names
    try:
        return pipeline[:-1].get_feature_names_out()
    except AttributeError:  # a step without names
        return None


def _share_text(share):
    return "<0.1%" if 0 < share < 0.0005 else f"{100 * share:.{0 if share >= 0.0995 or share == 0 else 1}f}%"
