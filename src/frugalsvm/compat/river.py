"""Models of this library as models of river: dicts of features, one example at a time or data frames of them."""

from typing import Any

import numpy as np
from sklearn.base import is_classifier

from frugalsvm import BSGDClassifier
from frugalsvm._locks import exclusive, shared
from frugalsvm.compat._river_adapter import Adapter, base
from frugalsvm.compat._river_anomaly import RiverAnomalyDetector
from frugalsvm.compat._river_regressor import RiverRegressor
from frugalsvm.estimators.calibrated import is_calibrated
from frugalsvm.pipelines import StreamPipeline

__all__ = ["RiverAnomalyDetector", "RiverClassifier", "RiverRegressor"]


class RiverClassifier(Adapter, base.MiniBatchClassifier):
    """A classifier of this library for river.

    Parameters
    ----------
    model
        A classifier of frugalsvm, or a `StreamPipeline` of one. Budgeted ones (`BSGDClassifier`, `BudgetedPerceptron`,
        `BPAClassifier`) learn single examples fast. Without a pipeline, the first 100 examples (2000 if it learns its
        metric) are held back, and nothing is scaled.
    classes
        All labels that will ever come. Not needed for `BSGDClassifier`, which learns new classes when they come; for
        others, needed if the first examples do not have all of them.
    n_features
        None makes one feature of each key. Absent keys are 0, or missing if the pipeline has ``impute``. New ones are
        added, with a line in the log: at any time for budgeted models (BSGD, BPA, perceptrons), for others while
        examples are held back. A number hashes keys (and text, as ``key=value``) to that many features.

    Notes
    -----
    Labels can be of any type that can be hashed. `predict_one` answers None, and `predict_proba_one` an empty dict,
    before the first example. `predict_proba_one` needs ``StreamPipeline(..., calibrate=True)``, or an estimator with
    ``calibrate="platt"``.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> from frugalsvm import BSGDClassifier
    >>> from frugalsvm.compat.river import RiverClassifier
    >>> model = preprocessing.StandardScaler() | RiverClassifier(BSGDClassifier(budget=100, alpha=1e-3, random_state=0))
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy()).get() > 0.85
    True
    """

    def __init__(self, model: Any, classes: tuple | None = None, n_features: int | None = None):
        if not is_classifier(model):
            raise ValueError(f"RiverClassifier takes a classifier, not {type(model).__name__}.")
        self.model = model
        self.classes = classes
        self.n_features = n_features
        self._check_n_features()
        self._labels: list[Any] = []
        self._codes: dict[Any, int] = {}  # in the order of arrival, so that those of old labels stay

    @property
    def _multiclass(self) -> bool:
        return True

    @property
    def _calibrates(self) -> bool:
        if isinstance(self.model, StreamPipeline) and self.model.calibrate:
            return True
        return is_calibrated(getattr(self.model, "estimator", self.model))

    @classmethod
    def _unit_test_params(cls):
        yield {"model": BSGDClassifier(budget=20, alpha=1e-3, random_state=0)}

    # --- learning ------------------------------------------------------------------------------------------

    def _new_pipeline(self) -> StreamPipeline:
        pipeline = super()._new_pipeline()
        if self.classes is not None:
            self._labels = [_plain(label) for label in dict.fromkeys(self.classes)]
            self._codes = {label: code for code, label in enumerate(self._labels)}
        elif hasattr(pipeline.estimator, "new_classes"):
            pipeline.estimator.set_params(new_classes="grow")
        return pipeline

    _announced = property(lambda self: None if self.classes is None else np.arange(len(self._labels)))

    def _refuse_new(self, label):
        known = "classes" if self.classes is not None else "the first examples"
        name = type(self._pipeline.estimator).__name__  # type: ignore[union-attr]
        raise ValueError(f"Label {label!r} is not in {known}, and {name} cannot add it: pass all labels as `classes`.")

    def _may_add(self) -> bool:
        """Whether there can be further labels: always, or until the model has begun to learn."""
        if self.classes is not None:
            return False
        pipeline = self._pipeline
        return pipeline._grows or getattr(pipeline, "_held", ()) is not None  # type: ignore[union-attr]

    @exclusive
    def learn_one(self, x: dict, y: Any) -> None:
        """Learn an example.

        Parameters
        ----------
        x
            Features by name.
        y
            The label.
        """
        pipeline, features = self._begin(x)
        row, code = features.row(x), self._codes.get(y)
        if code is not None and self._learned is not None:
            pipeline.learn_one_row(row, code)
            return
        label = _plain(y)
        is_new = code is None
        if is_new and not self._may_add():
            self._refuse_new(label)
        code = len(self._labels) if code is None else code
        pipeline.partial_fit(row[None], np.array([code]), classes=self._announced)
        if is_new:
            self._add([label])

    def _add(self, labels):
        for label in labels:
            self._codes[label] = len(self._labels)
            self._labels.append(label)

    @exclusive
    def learn_many(self, X: Any, y: Any) -> None:
        """Learn the rows of a data frame in order: the same as one after the other.

        Parameters
        ----------
        X
            A data frame of features.
        y
            A series of labels.
        """
        if len(X) == 0:
            return
        labels = [_plain(label) for label in y]
        if self._calibrates:  # each example is judged by the model of those before it
            for x, label in zip(X.to_dict(orient="records"), labels, strict=True):
                self.learn_one(x, label)
            return
        pipeline, features = self._begin(X.columns)
        new = [label for label in dict.fromkeys(labels) if label not in self._codes]
        if new and not self._may_add():
            self._refuse_new(new[0])
        codes = {**self._codes, **{label: len(self._labels) + k for k, label in enumerate(new)}}
        pipeline.partial_fit(features.matrix(X), np.array([codes[label] for label in labels]), classes=self._announced)
        self._add(new)

    # --- predicting ----------------------------------------------------------------------------------------

    @shared
    def predict_one(self, x: dict, **kwargs: Any) -> Any:
        """The predicted label; None before the first example."""
        if self._learned is None:
            return None
        pipeline, features = self._learned
        return self._labels[pipeline.predict_one_row(features.row(x))]

    @shared
    def predict_proba_one(self, x: dict, **kwargs: Any) -> dict[Any, float]:
        """Probabilities by label; empty before the first example."""
        self._check_calibrated()
        if self._learned is None:
            return {}
        pipeline, features = self._learned
        return self._by_label(pipeline.predict_proba_one_row(features.row(x)).tolist())

    def _by_label(self, shares: list) -> dict[Any, Any]:
        """Probabilities, columns or numbers of the labels that the model knows; those that are held back have none."""
        codes = self._pipeline.classes_.tolist()  # type: ignore[union-attr]
        found = {self._labels[code]: share for code, share in zip(codes, shares, strict=True)}
        return {**found, **{label: 0.0 * shares[0] for label in self._labels if label not in found}}

    def _check_calibrated(self):
        if not self._calibrates:
            raise NotImplementedError(
                "Probabilities need a model that is StreamPipeline(..., calibrate=True) or has calibrate='platt'."
            )

    @shared
    def predict_many(self, X: Any) -> Any:
        """The predicted labels of the rows of a data frame, as a series."""
        from pandas import Series

        if self._learned is None:
            return Series([None] * len(X), index=X.index, dtype=object)
        pipeline, features = self._learned
        codes = pipeline.predict(features.matrix(X)) if len(X) else []
        return Series([self._labels[code] for code in codes], index=X.index)

    @shared
    def predict_proba_many(self, X: Any) -> Any:
        """Probabilities of the labels, a column for each, as a data frame."""
        from pandas import DataFrame

        self._check_calibrated()
        if self._learned is None or len(X) == 0:
            return DataFrame(index=X.index)
        pipeline, features = self._learned
        shares = pipeline.predict_proba(features.matrix(X))
        return DataFrame(self._by_label(list(shares.T)), index=X.index)


def _plain(label: Any) -> Any:
    """A label as Python has it, so that True of NumPy and True of Python are one."""
    return label.item() if isinstance(label, np.generic) else label
