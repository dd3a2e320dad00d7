"""LIBSVM's model text, and arrays shaped like those of scikit-learn's `SVC` and `SVR`.

LIBSVM knows one machine for each pair of classes, whose first class is the positive one, and predicts the second where
a decision value is exactly zero. In this library the second class is the positive one and has the zero: all signs are
turned, and then both agree everywhere. The coefficients of a support vector of class c are those of its pairs with the
other classes, in their order; support vectors stand class by class, which is how LIBSVM tells whose pairs they belong
to.

LIBSVM's model text has no place for a scaler. Its own program ``svm-scale`` has a file for one, which maps the interval
[min, max] of each feature to [lower, upper]: with ``mean - scale`` and ``mean + scale`` to -1 and 1, that is
``(x - mean) / scale``. A feature with one value for both is left out, which is what a metric makes of one that does not
count.
"""

import os
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from frugalsvm.exact.one_vs_one import pairs_of
from frugalsvm.export._files import write_file
from frugalsvm.export.extraction import plain_model
from frugalsvm.export.models import PlainModel, labels_of, refuse_cells

_KERNEL_NAMES = {"rbf": "rbf", "poly": "polynomial", "linear": "linear"}
_TYPES = {"value": "epsilon_svr", "inlier": "one_class"}  # of models without classes
_LARGEST_LABEL = 2**31 - 1
_LARGEST_ERROR = 1e-6  # of a scaled feature; svm-scale writes six digits


class _Shape(NamedTuple):
    """A model in LIBSVM's order and with its signs."""

    vectors: NDArray
    coefficients: NDArray  # (n_classes - 1, n), or (1, n) for regression
    rho: NDArray
    sizes: NDArray | None  # support vectors of each class


def to_libsvm(estimator: Any, path: str | os.PathLike[str]) -> Path:
    """Write the model as LIBSVM model text, which ``svm-predict`` reads; probabilities are left out.

    Parameters
    ----------
    estimator : estimator, Pipeline or PlainModel
        A fitted model of two classes, of pairs of classes (`IncrementalSVC`), of one class or of a regression, see
        `plain_model`. Labels are integers. Rows are numbers, none of which is missing.
    path : path-like
        A model that scales its inputs has a second file, ``path + ".range"``, for ``svm-scale -r``. A metric of factors
        goes in there, too; one with directions across features cannot be written, unless the kernel is one of products.

    Returns
    -------
    pathlib.Path
        The file.

    Notes
    -----
    With a scaler, rows go through ``svm-scale -r model.txt.range rows.txt > scaled.txt`` before
    ``svm-predict scaled.txt model.txt``. ``svm-scale`` writes six digits, so that scores have as many.

    With more than two classes, where two of them have as many votes, LIBSVM predicts the first of them, and
    `IncrementalSVC` the one with the larger decision values.

    A budgeted model's support vector belongs to no class; it stands under the one that its coefficient speaks for.

    LIBSVM computes with exponentials however small they are: see :ref:`far-rows` for what they are elsewhere.

    Examples
    --------
    >>> import tempfile
    >>> from frugalsvm import BSGDClassifier
    >>> from frugalsvm.datasets import make_checkerboard
    >>> from frugalsvm.export import to_libsvm
    >>> X, y = make_checkerboard(1000, random_state=0)
    >>> model = BSGDClassifier(budget=20, gamma=8.0, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     print(to_libsvm(model, folder + "/model.txt").read_text()[:35])
    svm_type c_svc
    kernel_type rbf
    gamm
    """
    model = plain_model(estimator)
    refuse_cells(model, "LIBSVM's text is", "use to_c, or frugalsvm.save")
    model = _with_factors(model)
    shape = _shape_of(model)
    if model.kernel not in _KERNEL_NAMES:
        raise ValueError(f"LIBSVM has no kernel {model.kernel!r}: export the model to ONNX or C.")
    lines = [*_header(model, shape), "SV"]
    columns = [_line(*numbers) for numbers in zip(shape.coefficients.T.tolist(), shape.vectors, strict=True)]
    scaling = _scaling_lines(model)  # an error comes before anything is written
    if model.bounds is not None:
        warnings.warn(
            "The pipeline clips features, which LIBSVM cannot do: rows with values beyond the limits get other scores. "
            "Export to ONNX or C for the same ones.",
            UserWarning,
            stacklevel=2,
        )
    written = write_file(path, "\n".join([*lines, *columns, ""]))
    if scaling:
        write_file(scaling_file_of(path), "\n".join([*scaling, ""]))
    return written


def scaling_file_of(path: str | os.PathLike[str]) -> Path:
    """Where the scaling of a model is written."""
    return Path(f"{os.fspath(path)}.range")


def _scaling_lines(model):
    """A file for ``svm-scale -r``: the kind, the interval that features are mapped to, and the one of each feature."""
    if model.mean is None and model.scale is None:
        return []
    mean = np.zeros(model.n_features) if model.mean is None else np.asarray(model.mean, np.float64)
    scale = np.ones(model.n_features) if model.scale is None else np.asarray(model.scale, np.float64)
    counts = np.isfinite(scale)
    mean, scale = np.where(counts, mean, 0.0), np.where(counts, scale, 1.0)
    low, high = mean - scale, mean + scale
    # A feature so far from zero that its spread is lost in rounding would be left out by svm-scale.
    lost = np.flatnonzero(np.abs((high - low) / (2 * scale) - 1) > _LARGEST_ERROR)
    if lost.size:
        raise ValueError(
            f"LIBSVM's scaling file cannot hold feature {lost[0] + 1}, whose mean {mean[lost[0]]:g} is too large for "
            f"its spread {scale[lost[0]]:g}: center the data, or export to ONNX or C."
        )
    limits = zip(np.where(counts, low, 0.0).tolist(), np.where(counts, high, 0.0).tolist(), strict=True)
    return ["x", "-1 1", *(f"{number} {least!r} {largest!r}" for number, (least, largest) in enumerate(limits, 1))]


def _with_factors(model):
    """The model with a factor for each feature, in its scale, in the place of directions that are no more than that."""
    if model.directions is None:
        return model
    rows, used = np.nonzero(model.directions)
    is_own = len(rows) == len(model.directions) and np.array_equal(rows, np.arange(len(rows)))
    if not is_own or len(np.unique(used)) < len(used):
        raise ValueError(
            "LIBSVM has a factor for each feature, and the metric of this model has directions across features: export "
            "it to ONNX or C, or learn metric='diag'."
        )
    vectors, scale = np.zeros((len(model.vectors), model.n_features)), np.full(model.n_features, np.inf)
    factors = model.directions[rows, used]
    vectors[:, used] = model.vectors * np.sign(factors)
    scale[used] = (1.0 if model.scale is None else model.scale[used]) / np.abs(factors)
    return model._replace(vectors=vectors, scale=scale, directions=None)


def _header(model, shape):
    classifies = shape.sizes is not None
    yield f"svm_type {'c_svc' if classifies else _TYPES[model.decision]}"
    yield f"kernel_type {_KERNEL_NAMES[model.kernel]}"
    if model.kernel == "poly":
        yield f"degree {model.degree}"
    if model.kernel != "linear":
        yield f"gamma {float(model.gamma)!r}"
    if model.kernel == "poly":
        yield f"coef0 {float(model.coef0)!r}"
    yield f"nr_class {len(shape.sizes) if classifies else 2}"
    yield f"total_sv {len(shape.vectors)}"
    yield f"rho {_joined(shape.rho.tolist())}"
    if classifies:
        yield f"label {_joined(_whole_labels(model))}"
        yield f"nr_sv {_joined(shape.sizes.tolist())}"


def _line(coefficients, vector):
    """A support vector: its coefficients, and its features that are not zero, numbered from 1."""
    indices = np.flatnonzero(vector)
    features = (f"{k + 1}:{value!r}" for k, value in zip(indices.tolist(), vector[indices].tolist(), strict=True))
    return _joined(coefficients) + " " + "".join(f"{feature} " for feature in features)


def _joined(values):
    return " ".join(map(repr, values))


def _whole_labels(model):
    kind, labels = labels_of(model)
    if kind == "str" or any(label != int(label) or abs(label) > _LARGEST_LABEL for label in labels):
        raise ValueError(
            f"LIBSVM's labels are integers, but this model has labels like {labels[0]!r}: export it to ONNX or C, or "
            "train it on labels that are integers."
        )
    return [int(label) for label in labels]


def to_arrays(estimator: Any) -> dict[str, Any]:
    """The model as arrays in the shapes, the order and the signs of a fitted `sklearn.svm.SVC` or `SVR`.

    Parameters
    ----------
    estimator : estimator, Pipeline or PlainModel
        A fitted model of two classes, of pairs of classes (`IncrementalSVC`), of one class or of a regression, see
        `plain_model`.

    Returns
    -------
    dict
        ``support_vectors_``, ``dual_coef_``, ``intercept_``, ``n_support_`` and ``classes_`` (both None without
        classes), ``kernel``, ``gamma``, ``degree``, ``coef0``.

    Examples
    --------
    >>> from frugalsvm import BSGDClassifier
    >>> from frugalsvm.datasets import make_checkerboard
    >>> from frugalsvm.export import to_arrays
    >>> X, y = make_checkerboard(1000, random_state=0)
    >>> arrays = to_arrays(BSGDClassifier(budget=20, gamma=8.0, random_state=0).fit(X, y))
    >>> arrays["dual_coef_"].shape, arrays["kernel"], arrays["gamma"]
    ((1, 20), 'rbf', 8.0)
    """
    model = plain_model(estimator)
    refuse_cells(model, "SVC is", "use frugalsvm.save")
    shape = _shape_of(model)
    if any(each is not None for each in (model.mean, model.scale, model.directions)):
        raise ValueError(
            "SVC cannot hold a scaler or a metric: export the estimator alone (of a StreamPipeline, its "
            "estimator_), without a metric, and scale its inputs."
        )
    # scikit-learn turns the signs back for two classes, and only then
    sign = -1.0 if shape.sizes is not None and len(shape.sizes) == 2 else 1.0
    return {
        "support_vectors_": shape.vectors,
        "dual_coef_": sign * shape.coefficients + 0.0,
        "intercept_": -sign * shape.rho,
        "n_support_": shape.sizes,
        "classes_": model.classes,
        "kernel": model.kernel,
        "gamma": float(model.gamma),
        "degree": int(model.degree),
        "coef0": float(model.coef0),
    }


def _shape_of(model: PlainModel) -> _Shape:
    if model.kernel == "fourier":
        raise ValueError("LIBSVM has no random Fourier features: use feature_map='nystroem', or export to ONNX or C.")
    if model.encoder is not None or model.indicated is not None:
        raise ValueError(
            "LIBSVM takes rows of numbers, all of which are there, and this model has learned columns of text or which "
            "values are missing: export it to ONNX or C."
        )
    if model.decision in _TYPES:
        if len(model.coefficients) > 1:
            n_outputs = len(model.coefficients)
            raise ValueError(
                f"LIBSVM has regressions with one output, and this one has {n_outputs}: export it to ONNX or C."
            )
        return _Shape(model.vectors, model.coefficients, -model.intercepts, None)
    if model.classes is None or model.decision == "argmax":
        raise ValueError(
            "LIBSVM has models of two classes or of pairs of classes only, and this one has an output for each of its "
            f"{len(model.coefficients)} classes: export it to ONNX or C."
        )
    return _by_classes(model, len(model.classes))


def _by_classes(model, n_classes):
    pairs = pairs_of(n_classes)
    home = _classes_of_vectors(model.coefficients, pairs)
    coefficients = np.zeros((n_classes - 1, len(home)))
    for p, (first, second) in enumerate(pairs):
        for c, other in ((first, second), (second, first)):
            here = home == c
            coefficients[other - (other > c), here] = -model.coefficients[p, here]
    order = np.argsort(home, kind="stable")
    sizes = np.bincount(home, minlength=n_classes)
    return _Shape(model.vectors[order], coefficients[:, order] + 0.0, model.intercepts.copy(), sizes)  # no zero is -0.0


def _classes_of_vectors(coefficients, pairs):
    """The class that a vector speaks for, by the sign of a coefficient: the second of a pair is the positive one."""
    with_weight = coefficients != 0
    some = with_weight.argmax(axis=0)
    sign = np.take_along_axis(coefficients, some[None], axis=0)[0] > 0
    home = np.array(pairs)[some, sign.astype(int)]
    for p, (first, second) in enumerate(pairs):
        if len(pairs) > 1 and not np.isin(home[with_weight[p]], (first, second)).all():
            raise ValueError("A vector has coefficients in pairs of classes that have no class in common.")
    return home
