"""What every fitted model is as plain numbers, and how they predict.

============ =======================================================
kernel       K(x, v_j)
============ =======================================================
rbf          exp(-gamma ||x - v_j||^2)
laplacian    exp(-gamma sum_f |x_f - v_jf|)
matern12     exp(-s), s = sqrt(gamma) ||x - v_j||
matern32     (1 + s) exp(-s), s = sqrt(3 gamma) ||x - v_j||
matern52     (1 + s + s^2/3) exp(-s), s = sqrt(5 gamma) ||x - v_j||
chi2         exp(-gamma sum_f (x_f - v_jf)^2 / (x_f + v_jf))
intersection sum_f min(x_f, v_jf)
tanimoto     <x, v_j> / (||x||^2 + ||v_j||^2 - <x, v_j>)
cosine       <x, v_j> / (||x|| ||v_j||)
poly         (gamma <x, v_j> + coef0)^degree
linear       <x, v_j>
fourier      cos(2 pi (<x, v_j> + offsets_j))
============ =======================================================

What would be 0 / 0 is 0, and so are exponentials from ``2^-100`` on: see `frugalsvm.core.fastmath.FARTHEST`.

Rows are numbers and, with an encoder, columns of text. The features of a row are its numbers, one for each number whose
absence tells something (1 where it is NaN), and those of the encoder. They are filled, clipped and scaled. A model with
directions sees ``directions @ x`` in the place of these x: the metric of its estimator.

"fourier" is a random Fourier feature: angles are in turns, and the amplitude is in the coefficients.
"""

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.spatial.distance import cdist

from frugalsvm.core.fastmath import FARTHEST
from frugalsvm.core.seen_rows import COARSE
from frugalsvm.exact.one_vs_one import votes
from frugalsvm.exceptions import ParameterError
from frugalsvm.export._cells import PlainCells
from frugalsvm.pipelines.encoder import ColumnEncoder
from frugalsvm.pipelines.rows import split_input
from frugalsvm.pipelines.statistics import KNEE, softened

ROWS_AT_A_TIME = 1024  # rows whose kernel values are held at once
DTYPES = ("float32", "float64")
MATERN = {"matern12": (1.0,), "matern32": (1.0, 1.0), "matern52": (1.0, 1.0, 1.0 / 3.0)}  # factors of powers of s
ANGLES = ("tanimoto", "cosine")
FARTHEST_EXPONENT = float(FARTHEST * np.log(2.0))  # exponentials of minus this or less are zero
_TINY = float(np.finfo(np.float64).tiny)
_KINDS = {"b": "bool", "i": "int", "u": "int", "f": "float", "U": "str"}


class PlainModel(NamedTuple):
    """``values = K(x, vectors) @ coefficients.T + intercepts`` and what they mean.

    Examples
    --------
    >>> import numpy as np
    >>> from frugalsvm.export import PlainModel
    >>> model = PlainModel("linear", np.eye(2), np.array([[1.0, -1.0]]), np.zeros(1), "sign", np.array(["a", "b"]))
    >>> model.predict([[3.0, 1.0], [1.0, 3.0]])
    array(['b', 'a'], dtype='<U1')
    """

    kernel: str
    vectors: NDArray  # (n, n_features), or (n, n_directions)
    coefficients: NDArray  # (n_outputs, n) float64
    intercepts: NDArray  # (n_outputs,) float64
    # How values become a class: "sign" (from zero upwards it is classes[1]), "argmax", "votes" (values are those of the
    # pairs of classes); or "inlier" (1, and -1 below zero, for outliers), or "value", which is a regression.
    decision: str
    classes: NDArray | None = None
    gamma: float = 1.0
    coef0: float = 0.0
    degree: int = 1
    offsets: NDArray | None = None  # (n,) of the kernel "fourier", in turns
    mean: NDArray | None = None  # inputs become (x - mean) / scale first; None is 0
    scale: NDArray | None = None  # None is 1
    bounds: NDArray | None = None  # (2, n_features) that inputs are clipped to before that; None clips nothing
    # (n_features,) what is left between these bounds, if they are soft ones, and the limits that inputs beyond approach
    room: NDArray | None = None
    filling: NDArray | None = None  # (n_features,) what stands for inputs that are NaN; None refuses them
    directions: NDArray | None = None  # (n_directions, n_features) that scaled inputs are multiplied with
    dtype: Any = np.dtype(np.float64)  # in which the library itself computes the kernel values
    indicated: NDArray | None = None  # numbers whose absence is a feature, after all numbers
    encoder: ColumnEncoder | None = None  # of columns of text, whose features come last
    # Trees: of the vectors, those of the cells that a row falls into count. Coefficients are those of their members.
    cells: PlainCells | None = None

    @property
    def n_features(self) -> int:
        """Number of features: of inputs, if these are numbers and nothing else."""
        return (self.vectors if self.directions is None else self.directions).shape[1]

    @property
    def n_numbers(self) -> int:
        """Number of inputs that are numbers."""
        n_encoded = 0 if self.encoder is None else self.encoder.n_encoded_
        return self.n_features - n_encoded - (0 if self.indicated is None else len(self.indicated))

    def with_scaling(self, mean, scale, limit=None, *, soft_clip: bool = False) -> "PlainModel":
        """The model for inputs that become ``(x - mean) / scale`` before all else; None is 0 and 1.

        With a limit, ``x - mean`` is clipped to it first, softly if so (see `StreamingScaler`).
        """
        width = self.n_features
        mean = np.zeros(width) if mean is None else np.asarray(mean, np.float64)
        scale = np.ones(width) if scale is None else np.asarray(scale, np.float64)
        if mean.shape != (width,) or scale.shape != (width,):
            raise ValueError(f"The scaling is for {len(mean)} features, but the model has {width}.")
        inner_mean = 0.0 if self.mean is None else self.mean
        inner_scale = 1.0 if self.scale is None else self.scale
        bounds, room = (None, None) if limit is None else _bounds(mean, np.asarray(limit, np.float64), soft_clip)
        if self.bounds is not None:
            if bounds is not None:
                raise ValueError("A model whose inputs are clipped twice cannot be exported.")
            bounds, room = mean + scale * self.bounds, None if self.room is None else scale * self.room
        filling = None if self.filling is None else mean + scale * self.filling
        mean, scale = mean + scale * inner_mean, scale * inner_scale
        return self._replace(mean=mean, scale=scale, bounds=bounds, room=room, filling=filling)

    def refuse_words(self, what: str) -> None:
        """Refuse an export to where text cannot be read by its words."""
        names = () if self.encoder is None else [name for name in self.encoder.names_ if name in self.encoder.words]
        if names:
            raise ValueError(
                f"Column {names[0]!r} is read by its words, which cannot be exported to {what}: leave the column out, "
                "or have whole texts as categories."
            )

    def features(self, X) -> NDArray:
        """The features of rows, in float64: numbers, whether they are missing, and what the encoder makes of text."""
        X, columns = split_input(X, encodes=self.encoder is not None)
        X = np.asarray(X.toarray() if issparse(X) else X, np.float64)
        if X.ndim != 2 or X.shape[1] != self.n_numbers:
            raise ValueError(f"X must have {self.n_numbers} columns, but its shape is {X.shape}.")
        parts = [X]
        if self.indicated is not None:
            parts.append(np.isnan(X[:, self.indicated]).astype(np.float64))
        if self.encoder is not None:
            encoded = self.encoder.transform(columns)
            parts.append((encoded.toarray() if issparse(encoded) else encoded).astype(np.float64))
        return X if len(parts) == 1 else np.hstack(parts)

    def scaled(self, X) -> NDArray:
        """Rows as the kernel takes them, in float64."""
        X = self.features(X)
        if self.filling is not None:
            X = np.where(np.isnan(X), self.filling, X)
        if not np.isfinite(X).all():
            raise ValueError("X contains NaN or infinity.")
        if self.bounds is not None:
            clipped = np.clip(X, *self.bounds)
            X = clipped if self.room is None else softened(X, clipped, self.room)
        if self.mean is not None:
            X = X - self.mean
        X = X if self.scale is None else X / self.scale
        return X if self.directions is None else X @ self.directions.T

    def kernel_values(self, rows) -> NDArray:
        """Kernel values of scaled rows with all vectors."""
        vectors = self.vectors.astype(np.float64, copy=False)
        if self.kernel == "rbf":
            return _decayed(self.gamma * cdist(rows, vectors, "sqeuclidean"))
        if self.kernel == "laplacian":
            return _decayed(self.gamma * cdist(rows, vectors, "cityblock"))
        if self.kernel in MATERN:
            s = np.sqrt(matern_factor(self)) * cdist(rows, vectors)
            return np.polynomial.polynomial.polyval(s, MATERN[self.kernel]) * _decayed(s)
        if self.kernel == "intersection":
            return np.stack([np.minimum(rows, vector).sum(axis=1) for vector in vectors], axis=1)
        if self.kernel == "chi2":
            sums = [(np.square(rows - v) / np.maximum(rows + v, _TINY)).sum(axis=1) for v in vectors]
            return _decayed(self.gamma * np.stack(sums, axis=1))
        products = rows @ vectors.T
        if self.kernel in ANGLES:
            norms, others = np.square(rows).sum(axis=1)[:, None], np.square(vectors).sum(axis=1)
            beneath = np.sqrt(norms * others) if self.kernel == "cosine" else norms + others - products
            return products / np.maximum(beneath, _TINY)
        if self.kernel == "poly":
            return (self.gamma * products + self.coef0) ** self.degree
        if self.kernel == "fourier":
            return np.cos(2 * np.pi * (products + self.offsets))
        return products

    def values(self, X) -> NDArray:
        """Values of all outputs, shape (n_rows, n_outputs): with "votes", those of the pairs of classes."""
        rows = self.scaled(X)
        if self.cells is not None:
            return self.cells.values(rows, self._machine_values) + self.intercepts
        out = np.empty((len(rows), len(self.coefficients)))
        for start in range(0, len(rows), ROWS_AT_A_TIME):
            part = slice(start, start + ROWS_AT_A_TIME)
            out[part] = self.kernel_values(rows[part]) @ self.coefficients.T
        return out + self.intercepts

    def _machine_values(self, rows, vectors, members) -> NDArray:
        """Values of scaled rows by some of the vectors."""
        cell = self._replace(vectors=self.vectors[vectors])
        return cell.kernel_values(rows) @ self.coefficients[:, members].T

    def decision_function(self, X) -> NDArray:
        """What the estimator's `decision_function` returns, or `predict` of a regressor, computed in float64."""
        values = self.values(X)
        if self.decision == "votes":
            values = votes(values, len(self.known_classes()))
        return values[:, 0] if values.shape[1] == 1 else values

    def predict(self, X) -> NDArray:
        """What the estimator's `predict` returns."""
        return self.predicted(self.decision_function(X))

    def predicted(self, scores: NDArray) -> NDArray:
        """Predictions for what `decision_function` returns, in whatever unit."""
        if self.decision == "value":
            return scores
        if self.decision == "inlier":
            return np.where(scores >= 0, 1, -1)
        indices = (scores >= 0).astype(int) if self.decision == "sign" else scores.argmax(axis=1)
        return self.known_classes()[indices]

    def known_classes(self) -> NDArray:
        if self.classes is None:
            raise ValueError(f"A model that decides by {self.decision!r} needs classes.")
        return self.classes


def _decayed(exponents):
    """``exp(-exponents)``, exactly 0 far away; overflows are far."""
    return np.where(exponents < FARTHEST_EXPONENT, np.exp(-exponents), 0.0)


def _bounds(mean, limit, is_soft):
    """Bounds of inputs around a mean, and the room beyond them if they are soft."""
    knee = KNEE * limit if is_soft else limit
    return np.stack([mean - knee, mean + knee]), limit - knee if is_soft else None


def matern_factor(model: PlainModel) -> float:
    """What squared distances are multiplied with to be ``s^2``."""
    return (2 * len(MATERN[model.kernel]) - 1) * model.gamma


def labels_of(model: PlainModel) -> tuple[str, list]:
    """The kind of the labels ("bool", "int", "float" or "str") and the labels as Python's own values."""
    classes = np.asarray(model.known_classes())
    if classes.dtype == object and all(isinstance(label, str) for label in classes):
        classes = classes.astype(str)
    if classes.dtype.kind not in _KINDS:
        raise TypeError(f"Labels must be numbers or strings to be exported, not {classes[:1].tolist()[0]!r}.")
    return _KINDS[classes.dtype.kind], classes.tolist()


def refuse_cells(model: PlainModel, what_is: str, instead: str) -> None:
    """Refuse a model in cells where there is no room for trees."""
    if model.cells is not None:
        raise ValueError(
            f"{what_is} not for machines in cells (LocalSVC, LocalSVR, AutoSVC and AutoSVR of many rows): {instead}; "
            "or fit a low-rank machine, such as AutoSVC(n_components=512) or ASSETClassifier."
        )


def checked_dtype(dtype) -> np.dtype:
    """float32 or float64, by name or type."""
    try:
        name = np.dtype(dtype).name
    except TypeError:
        name = ""
    if name not in DTYPES:
        raise ParameterError("dtype", dtype, problem=f"is not one of {', '.join(map(repr, DTYPES))}")
    return np.dtype(name)


def mean_parts(mean, dtype: np.dtype) -> list[NDArray]:
    """A mean as one or two numbers of a type, whose sum it is.

    A mean that is far from zero loses digits in float32, while its difference to a near row does not: ``x - first`` is
    exact then, and the second part is what was lost.
    """
    mean = np.asarray(mean, np.float64)
    first = as_type(mean, dtype)
    second = as_type(mean - first.astype(np.float64), dtype)
    return [first, second] if second.any() else [first]


def as_type(values, dtype: np.dtype) -> NDArray:
    """Numbers in the type of an exported model, which must hold them."""
    with np.errstate(over="ignore"):
        converted = np.asarray(values, np.float64).astype(dtype, order="C")
    if not np.isfinite(converted).all():
        raise ValueError(f"The model has numbers that {dtype.name} cannot hold.")
    return converted


def warn_of_rounding(model: PlainModel, dtype: np.dtype) -> None:
    """Tell of numbers that are large and differ little, of which float32 has too few digits."""
    if dtype != np.float32:
        return
    inputs = _rounding(*_inputs(model))[: model.n_numbers]
    _warn_if_coarse(inputs, f"Feature {inputs.argmax() if inputs.size else 0} is", "its")
    if model.decision == "value":
        outputs = _rounding(*_outputs(model))
        which = "Predictions" if outputs.size == 1 else f"Predictions of output {outputs.argmax()}"
        _warn_if_coarse(outputs, f"{which} are", "their")


def _rounding(middle, spread):
    """Rounding errors of float32 around some numbers, in units of how far values are apart there."""
    rounding = 0.5 * np.finfo(np.float32).eps * np.abs(middle)
    return np.divide(rounding, spread, out=np.zeros_like(spread), where=spread > 0.0)


def _warn_if_coarse(errors, which_are, whose):
    if errors.size and errors.max() > COARSE:
        warnings.warn(
            f"{which_are} rounded to float32 in the exported model: {whose} values are large and differ little, so "
            f"that rounding errors are {errors.max():.1g} of {whose} standard deviation. Export with dtype='float64'.",
            UserWarning,
            stacklevel=4,
        )


def _inputs(model):
    """Where features are, and how far apart, as far as the vectors of a model tell."""
    scale = np.ones(model.n_features) if model.scale is None else model.scale
    middle = np.zeros(model.n_features) if model.mean is None else model.mean
    vectors = model.vectors.astype(np.float64)
    if model.directions is None and model.kernel != "fourier":
        return middle + scale * vectors.mean(axis=0), scale * vectors.std(axis=0)
    # By how much an input changes where what the kernel sees changes as much as vectors, or angles, differ
    steepness = np.sqrt(np.square(vectors).mean(axis=0))
    typical = 0.5 / np.pi
    if model.directions is not None:
        steepness, typical = np.linalg.norm(model.directions, axis=0), np.sqrt(vectors.var(axis=0).mean())
    return middle, scale * np.divide(typical, steepness, out=np.zeros_like(steepness), where=steepness > 0.0)


def _outputs(model):
    """Where predictions are, and how far apart: those of vectors, or of angles that are anything."""
    if model.kernel == "fourier":
        return model.intercepts, np.sqrt(0.5 * np.square(model.coefficients).sum(axis=1))
    rows = model.vectors[:ROWS_AT_A_TIME].astype(np.float64)
    if model.cells is not None:
        found = model.cells.values(rows, model._machine_values)
    else:
        found = model.kernel_values(rows) @ model.coefficients.T
    return model.intercepts + found.mean(axis=0), found.std(axis=0)
