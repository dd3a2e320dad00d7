"""ONNX models of plain operators: matrix products, exponentials, sines; no operator that knows of SVMs."""

import os
from typing import Any

import numpy as np

from frugalsvm._version import __version__
from frugalsvm.exact.one_vs_one import pairs_of
from frugalsvm.export._files import write_file
from frugalsvm.export.extraction import plain_model
from frugalsvm.export.models import (
    ANGLES,
    FARTHEST_EXPONENT,
    MATERN,
    PlainModel,
    as_type,
    checked_dtype,
    labels_of,
    matern_factor,
    mean_parts,
    refuse_cells,
    warn_of_rounding,
)

# Old enough for every runtime of the last years, new enough for all operators here in both types
OPSET, ML_OPSET, IR_VERSION = 17, 3, 8
_LABEL_TYPES = {"bool": "BOOL", "int": "INT64", "float": "DOUBLE", "str": "STRING"}
_NO_LABEL = {"int": -(2**63), "float": np.nan, "str": ""}  # for rows without scores


def to_onnx(estimator: Any, path: str | os.PathLike[str] | None = None, *, dtype="float32"):
    """The model as ONNX.

    The input ``X`` has a row per example, in any number. The outputs are ``label``, the predicted class as it was in
    training, or 1 and -1 of an outlier detector, and ``scores``, what `decision_function` returns; a regressor has
    ``scores`` only, which are its predictions. Probabilities are not in it: ``calibration_.probabilities`` makes them
    of the scores.

    A model that has learned columns of text has a second input, ``text``, of strings with a column for each of them,
    sorted by their names. A category that training did not have counts as a missing one, as it does in Python: the
    empty string is one, unless it is a category. Where a column has means of the target (``ColumnEncoder("target")``),
    only the empty string is missing, and others that training did not have are as the mean of all. Missing numbers are
    NaN, where the model fills them.

    A row with a number that is NaN, where the model does not fill it, or infinite has NaN for scores. Its label is
    empty, NaN, or -2^63 by the type of the labels, and 0 of an outlier detector; False if labels are logical values.
    Rows far from all support vectors have the scores of Python, see :ref:`far-rows`.

    Parameters
    ----------
    estimator : estimator, Pipeline or PlainModel
        A fitted model, see `plain_model`.
    path : path-like, default=None
        Where to write it; None writes nothing.
    dtype : {"float32", "float64"}, default="float32"
        Type of the input and of all numbers: a warning tells where that rounds rows too much. Models with large
        coefficients that cancel, such as those of `LASVMClassifier` with a large C, need float64 for the scores that
        Python gives.

    Returns
    -------
    onnx.ModelProto

    Examples
    --------
    >>> from frugalsvm import BSGDClassifier
    >>> from frugalsvm.datasets import make_checkerboard
    >>> from frugalsvm.export import to_onnx
    >>> X, y = make_checkerboard(1000, random_state=0)
    >>> model = BSGDClassifier(budget=20, gamma=8.0, random_state=0).fit(X, y)
    >>> onnx_model = to_onnx(model)
    >>> [output.name for output in onnx_model.graph.output]
    ['label', 'scores']
    """
    onnx = _onnx()
    dtype = checked_dtype(dtype)
    model = plain_model(estimator)
    refuse_cells(model, "ONNX is", "use to_c, or frugalsvm.save")
    model.refuse_words("ONNX")
    warn_of_rounding(model, dtype)
    graph = _Graph(onnx, dtype)
    _write_scores(graph, model)
    if model.decision != "value":
        _write_label(graph, model)
    proto = graph.finished(model)
    onnx.checker.check_model(proto, full_check=True)
    if path is not None:
        write_file(path, proto.SerializeToString())
    return proto


def _onnx():
    try:
        import onnx
        import onnx.checker
    except ImportError as error:
        raise ImportError("Export to ONNX needs the package onnx: pip install 'frugalsvm[onnx]'.") from error
    return onnx


class _Graph:
    """A graph in the making: nodes in their order, and constants."""

    def __init__(self, onnx, dtype):
        self.onnx, self.dtype = onnx, dtype
        self.number_type = onnx.helper.np_dtype_to_tensor_dtype(dtype)
        self.nodes, self.constants = [], []
        self.unless_finite = None  # 0 for each row, or NaN where a number is not finite

    def number(self, name, values):
        """A constant in the type of the model."""
        self.constants.append(self.onnx.numpy_helper.from_array(as_type(values, self.dtype), name))
        return name

    def integers(self, name, values):
        """A constant of integers: places, or axes."""
        return self.constant(self.onnx.numpy_helper.from_array(np.array(values, np.int64), name))

    def constant(self, tensor):
        self.constants.append(tensor)
        return tensor.name

    def node(self, operator, *inputs, name=None, **attributes):
        """The name of what an operator makes of its inputs."""
        name = name or f"{operator.lower()}_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(operator, list(inputs), [name], name=name, **attributes))
        return name

    def finished(self, model):
        helper = self.onnx.helper
        inputs = []
        if model.n_numbers:
            inputs.append(helper.make_tensor_value_info("X", self.number_type, ["n", model.n_numbers]))
        if model.encoder is not None:
            strings = self.onnx.TensorProto.STRING
            inputs.append(helper.make_tensor_value_info("text", strings, ["n", len(model.encoder.names_)]))
        columns = model.coefficients if model.classes is None else model.classes
        shape = ["n"] if _has_one_score(model) else ["n", len(columns)]
        outputs = [helper.make_tensor_value_info("scores", self.number_type, shape)]
        if model.decision != "value":
            label_type = getattr(self.onnx.TensorProto, _LABEL_TYPES[_labels(model)[0]])
            outputs.insert(0, helper.make_tensor_value_info("label", label_type, ["n"]))
        graph = helper.make_graph(self.nodes, "frugalsvm", inputs, outputs, self.constants)
        opsets = [helper.make_opsetid("", OPSET)]
        if any(node.domain for node in self.nodes):
            opsets.append(helper.make_opsetid("ai.onnx.ml", ML_OPSET))
        made_by = {"producer_name": "frugalsvm", "producer_version": __version__}
        return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, **made_by)


def _has_one_score(model):
    return model.decision in ("sign", "inlier", "value") and len(model.coefficients) == 1


def _write_scores(graph, model):
    in_columns = model.decision == "argmax" or (model.decision == "value" and not _has_one_score(model))
    values = _kernel_values(graph, model)
    products = graph.node("MatMul", values, graph.number("coefficients", model.coefficients.T))
    intercepts = graph.number("intercepts", model.intercepts)
    if graph.unless_finite is not None:
        intercepts = graph.node("Add", intercepts, graph.unless_finite)
    values = graph.node("Add", products, intercepts, name="scores" if in_columns else None)
    if model.decision == "votes":
        _write_votes(graph, model, values)
    elif not in_columns:
        graph.node("Squeeze", values, graph.integers("axis", [1]), name="scores")


def _kernel_values(graph, model):
    if model.kernel == "rbf":
        squares, _ = _squared_distances(graph, model)
        return _decayed(graph, graph.node("Mul", squares, graph.number("gamma", _without_scalar(model).gamma)))
    if model.kernel in MATERN:
        return _matern(graph, model)
    if model.kernel == "laplacian":
        return _laplacian(graph, model)
    if model.kernel in ("chi2", "intersection"):
        return _sum_over_features(graph, model)
    if model.kernel in ANGLES:
        return _angles(graph, model)
    # Factors go into the vectors: runtimes merge scalar ones with the product, and keep them as float32 only.
    factor = model.gamma if model.kernel == "poly" else 1.0
    vectors = model.vectors.astype(np.float64)
    vectors = vectors if model.directions is None else vectors @ model.directions
    vectors = factor * vectors / (1.0 if model.scale is None else model.scale)
    products = graph.node("MatMul", _scaled(graph, model, model.mean, None), graph.number("vectors", vectors.T))
    if model.kernel == "poly":
        base = graph.node("Add", products, graph.number("coef0", model.coef0))
        return graph.node("Pow", base, graph.number("degree", model.degree))
    if model.kernel == "fourier":
        # The sine a quarter turn later: older versions of ONNX Runtime have no cosine of float64.
        turns = graph.node("Add", products, graph.number("offsets", model.offsets + 0.25))
        # Whole turns go before the sine: in float32 they would cost digits.
        folded = graph.node("Sub", turns, graph.node("Floor", turns))
        return graph.node("Sin", graph.node("Mul", folded, graph.number("turn", 2 * np.pi)))
    return products


def _decayed(graph, exponents, factor=None):
    """``exp(-exponents)``, times a factor; exactly 0 far away, which is also where exponents have become NaN."""
    values = graph.node("Exp", graph.node("Neg", exponents))
    values = values if factor is None else graph.node("Mul", factor, values)
    is_near = graph.node("Less", exponents, graph.number("farthest", FARTHEST_EXPONENT))
    return graph.node("Where", is_near, values, graph.number("nothing", 0.0))


def _features(graph, model):
    """The features of rows: numbers, filled, whether they are missing, and a feature for each category of text."""
    parts = []
    if model.n_numbers:
        numbers = "X"
        if model.filling is not None:
            filling = graph.number("filling", model.filling[: model.n_numbers])
            numbers = graph.node("Where", graph.node("IsNaN", "X"), filling, "X")
        parts.append(numbers)
        zeros = graph.node("Mul", numbers, graph.number("times_zero", 0.0))  # NaN where numbers are not finite
        graph.unless_finite = graph.node("ReduceSum", zeros, graph.integers("features_axis", [1]), keepdims=1)
    if model.indicated is not None:
        some = graph.node("Gather", "X", graph.integers("indicated", model.indicated), axis=1)
        parts.append(graph.node("Cast", graph.node("IsNaN", some), to=graph.number_type))
    if model.encoder is not None:
        for k, width in enumerate(model.encoder.widths_):
            if width:
                column = graph.node("Gather", "text", graph.integers(f"text_{k}", k), axis=1)
                parts.append(_encoded(graph, model.encoder, k, column))
    return parts[0] if len(parts) == 1 else graph.node("Concat", *parts, axis=1)


def _encoded(graph, encoder, k, column):
    """The features of a column of text: one for each category, or the means of its category."""
    hot, domain = encoder.hot_categories_[k].tolist(), "ai.onnx.ml"
    if hot:
        known = graph.node("OneHotEncoder", column, cats_strings=hot, zeros=1, domain=domain)
        return graph.node("Cast", known, to=graph.number_type)
    means, categories = encoder.means_[k], encoder.categories_[k].tolist()
    keys = categories if "" in categories else [*categories, ""]  # which is missing, and comes after them
    unknown = {"default_int64": len(categories) + 1, "domain": domain}
    places = graph.node("LabelEncoder", column, keys_strings=keys, values_int64s=list(range(len(keys))), **unknown)
    return graph.node("Gather", graph.number(f"means_{k}", means), places, axis=0)


def _scaled(graph, model, mean, scale):
    """``(x - mean) / scale`` of features that are clipped as those of the model are."""
    rows = _features(graph, model)
    if model.bounds is not None:
        rows = _clipped(graph, model, rows)
    if mean is not None:
        for number, part in enumerate(mean_parts(mean, graph.dtype)):
            rows = graph.node("Sub", rows, graph.number(f"mean_{number}" if number else "mean", part))
    if scale is not None:
        rows = graph.node("Div", rows, graph.number("scale", scale))
    return rows


def _rows_and_vectors(graph, model):
    """Inputs as the kernel sees them, and the vectors, both seen from a point near the vectors."""
    if model.directions is None:
        origin, vectors = _seen_from_near(model, graph.dtype)
        return _scaled(graph, model, origin, model.scale), vectors
    # Scales go into the directions: see `_without_scalar`.
    directions = model.directions / (1.0 if model.scale is None else model.scale)
    rows = graph.node("MatMul", _scaled(graph, model, model.mean, None), graph.number("directions", directions.T))
    vectors = model.vectors.astype(np.float64)
    middle = _coarse(vectors.mean(axis=0), vectors.std(axis=0))
    if not middle.any():
        return rows, vectors
    middle = as_type(middle, graph.dtype).astype(np.float64)
    return graph.node("Sub", rows, graph.number("middle", middle)), vectors - middle


def _clipped(graph, model, rows):
    """Inputs within their bounds, or softly beyond: see `frugalsvm.pipelines.statistics`."""
    least, most = model.bounds
    clipped = graph.node("Max", rows, graph.number("least", least))
    clipped = graph.node("Min", clipped, graph.number("most", most))
    if model.room is None:
        return clipped
    rest, room = graph.node("Sub", rows, clipped), graph.number("room", model.room)
    size = graph.node("Add", graph.node("Div", graph.node("Abs", rest), room), graph.number("whole", 1.0))
    more = graph.node("Sub", room, graph.node("Div", room, size))
    return graph.node("Add", clipped, graph.node("Mul", graph.node("Sign", rest), more))


def _squared_distances(graph, model):
    """``||x - v||^2`` from ``||x||^2 + ||v||^2 - 2 <x, v>``, with an origin near the vectors; and the sums of norms.

    Far from the origin this difference of large numbers would lose its digits; distances do not depend on the origin.
    """
    rows, vectors = _rows_and_vectors(graph, _without_scalar(model))
    rounded = as_type(vectors, graph.dtype).astype(np.float64)
    row_norms = graph.node("ReduceSumSquare", rows, axes=[1], keepdims=1)
    twice = graph.node("MatMul", rows, graph.number("twice_vectors", 2 * rounded.T))
    norms = graph.node("Add", row_norms, graph.number("norms", np.square(rounded).sum(axis=1)))
    squares, zero = graph.node("Sub", norms, twice), graph.number("zero", 0.0)
    # No Max, which may take NaN for zero: norms that overflow are far away.
    return graph.node("Where", graph.node("Less", squares, zero), zero, squares), norms


def _without_scalar(model):
    """The model without a scale that is one number: runtimes would merge that with others in float32, see above."""
    if model.scale is None or model.n_features != 1 or model.directions is not None:
        return model
    scale = float(model.scale[0])
    gamma = model.gamma / (scale if model.kernel == "laplacian" else scale**2)
    return model._replace(vectors=scale * model.vectors, gamma=gamma, scale=None)


def _matern(graph, model):
    squares, norms = _squared_distances(graph, model)
    # The root of a rounding error is a large one: what may be zero is zero. (Norms that overflow are not below.)
    noise = graph.node("Mul", norms, graph.number("rounding", 4 * np.finfo(graph.dtype).eps))
    squares = graph.node("Where", graph.node("Less", squares, noise), graph.number("top", 0.0), squares)
    factor = graph.number("matern_factor", matern_factor(_without_scalar(model)))
    s = graph.node("Sqrt", graph.node("Mul", squares, factor))
    *lower, highest = MATERN[model.kernel]
    polynomial = graph.number("highest_power", highest)
    for power in reversed(range(len(lower))):
        polynomial = graph.node("Mul", polynomial, s)
        polynomial = graph.node("Add", polynomial, graph.number(f"power_{power}", lower[power]))
    return _decayed(graph, s, polynomial)


def _laplacian(graph, model):
    """All differences at once, which takes memory for rows x vectors x features: there is no operator for less."""
    model = _without_scalar(model)
    rows, vectors = _rows_and_vectors(graph, model)
    second, last = graph.integers("second_axis", [1]), graph.integers("last_axis", [2])
    differences = graph.node("Sub", graph.node("Unsqueeze", rows, second), graph.number("vectors", vectors))
    distances = graph.node("ReduceSum", graph.node("Abs", differences), last, keepdims=0)
    return _decayed(graph, graph.node("Mul", distances, graph.number("gamma", model.gamma)))


def _sum_over_features(graph, model):
    """Like `_laplacian`, for values that are not negative."""
    rows = _scaled(graph, model, model.mean, model.scale)
    second, last = graph.integers("second_axis", [1]), graph.integers("last_axis", [2])
    rows, vectors = graph.node("Unsqueeze", rows, second), graph.number("vectors", model.vectors)
    if model.kernel == "intersection":
        return graph.node("ReduceSum", graph.node("Min", rows, vectors), last, keepdims=0)
    differences = graph.node("Sub", rows, vectors)
    both = graph.node("Max", graph.node("Add", rows, vectors), graph.number("tiny", np.finfo(graph.dtype).tiny))
    terms = graph.node("Div", graph.node("Mul", differences, differences), both)
    sums = graph.node("ReduceSum", terms, last, keepdims=0)
    return _decayed(graph, graph.node("Mul", sums, graph.number("gamma", model.gamma)))


def _angles(graph, model):
    """Inner products divided by what norms make of them."""
    model = _without_scalar(model)
    rows = _scaled(graph, model, model.mean, model.scale)
    products = graph.node("MatMul", rows, graph.number("vectors", model.vectors.T))
    row_norms = graph.node("ReduceSumSquare", rows, axes=[1], keepdims=1)
    norms = graph.number("norms", np.square(model.vectors.astype(np.float64)).sum(axis=1))
    if model.kernel == "cosine":
        beneath = graph.node("Sqrt", graph.node("Mul", row_norms, norms))
    else:
        beneath = graph.node("Sub", graph.node("Add", row_norms, norms), products)
    return graph.node("Div", products, graph.node("Max", beneath, graph.number("tiny", np.finfo(graph.dtype).tiny)))


def _seen_from_near(model: PlainModel, dtype):
    """An origin among the inputs, exact in ``dtype`` (None is 0), and the vectors as seen from there."""
    vectors = model.vectors.astype(np.float64)
    middle = _coarse(vectors.mean(axis=0), vectors.std(axis=0))
    if model.mean is None and not middle.any():
        return None, vectors
    mean = np.zeros(model.n_features) if model.mean is None else model.mean
    scale = np.ones(model.n_features) if model.scale is None else model.scale
    origin = as_type(mean + scale * middle, dtype).astype(np.float64)
    return origin, vectors - (origin - mean) / scale


def _coarse(means, spreads):
    """Means up to a spread, so short that differences to them are exact; 0 where values are spread around it."""
    steps = np.ldexp(1.0, np.frexp(np.where(spreads > 0, spreads, 1.0))[1] - 1)  # the power of two below the spread
    near = np.where(spreads > 0, np.round(means / steps) * steps, means)
    return np.where(np.abs(means) > 2 * spreads, near, 0.0)


def _write_votes(graph, model, values):
    """Scores from the values of pairs of classes: a vote each, and a part of a vote for the sums of values."""
    n_classes = len(model.classes)
    pairs = pairs_of(n_classes)
    first, second = np.zeros((2, len(pairs), n_classes))
    for p, (i, j) in enumerate(pairs):
        first[p, i] = second[p, j] = 1.0
    won = graph.node("GreaterOrEqual", values, graph.number("zero_value", 0.0))
    won = graph.node("Cast", won, to=graph.number_type)
    # first wins where second does not: votes are sum(first) + won @ (second - first)
    votes = graph.node("MatMul", won, graph.number("won_votes", second - first))
    votes = graph.node("Add", votes, graph.number("votes_before", first.sum(axis=0)))
    sums = graph.node("MatMul", values, graph.number("signs", second - first))
    sizes = graph.node("Add", graph.node("Abs", sums), graph.number("one", 1.0))
    parts = graph.node("Div", sums, graph.node("Mul", sizes, graph.number("three", 3.0)))
    graph.node("Add", votes, parts, name="scores")


def _labels(model):
    """The kind of the labels, and the labels; after them the one of rows without scores, if there is one."""
    if model.decision == "inlier":
        return "int", [-1, 1, 0]
    kind, labels = labels_of(model)
    return kind, [*labels, *([_NO_LABEL[kind]] if kind in _NO_LABEL else [])]


def _write_label(graph, model):
    kind, labels = _labels(model)
    onnx = graph.onnx
    if kind == "str":
        labels = [label.encode() for label in labels]
    tensor_type = getattr(onnx.TensorProto, _LABEL_TYPES[kind])
    table = graph.constant(onnx.helper.make_tensor("labels", tensor_type, [len(labels)], labels))
    total = "scores"
    if _has_one_score(model):
        positive = graph.node("GreaterOrEqual", "scores", graph.number("boundary", 0.0))
        indices = graph.node("Cast", positive, to=onnx.TensorProto.INT64)
    else:
        indices = graph.node("ArgMax", "scores", axis=1, keepdims=0)
        total = graph.node("ReduceSum", "scores", graph.integers("classes_axis", [1]), keepdims=0)
    if kind in _NO_LABEL:
        none = graph.integers("no_class", len(labels) - 1)
        indices = graph.node("Where", graph.node("IsNaN", total), none, indices)
    graph.node("Gather", table, indices, name="label", axis=0)
