"""How a pipeline checks rows, and turns them into what its estimator learns: columns, missing values, scales, maps."""

from collections.abc import Sequence
from threading import RLock, local
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, clone, is_classifier, is_outlier_detector
from sklearn.utils import get_tags

from frugalsvm._locks import ThreadSafe
from frugalsvm.compiling.threads import Threads, thread_count
from frugalsvm.estimators.constraints import check_choice, check_count
from frugalsvm.estimators.targets import checked_weights
from frugalsvm.estimators.validation import rows_that_count
from frugalsvm.exceptions import ParameterError
from frugalsvm.pipelines.drift import ACTIONS, check_detector, check_on_drift
from frugalsvm.pipelines.encoder import joined
from frugalsvm.pipelines.frames import FrameColumns, is_frame, kinds_to_learn
from frugalsvm.pipelines.imputer import STRATEGIES, MissingValueFiller, prepared_numbers
from frugalsvm.pipelines.mapping import check_map, fitted_map, mapped
from frugalsvm.pipelines.rows import LabeledRows, check_lengths, checked_labels, matrix_of, split_input
from frugalsvm.pipelines.saved import WATCHED
from frugalsvm.pipelines.scaler import StreamingScaler
from frugalsvm.pipelines.surprises import Surprises
from frugalsvm.pipelines.target_means import class_indicators

SCALERS = {
    "robust": StreamingScaler(),
    "soft": StreamingScaler(soft_clip=True),
    "symmetric": StreamingScaler("symmetric", soft_clip=True),
    "standard": StreamingScaler("standard", clip=None),
    "following": StreamingScaler("standard", half_life=20_000),
}


def _check_scale(scale: Any) -> None:
    """Refuse what is neither yes nor no, nor a scaler or the name of one."""
    if isinstance(scale, str) and scale in SCALERS:
        return
    if not isinstance(scale, bool | np.bool_ | StreamingScaler):
        names = ", ".join(map(repr, SCALERS))
        raise ParameterError("scale", scale, f"True, False, {names} or a StreamingScaler")


def new_scaler(scale: bool | str | StreamingScaler) -> StreamingScaler:
    """A scaler that has seen nothing; True is a robust one."""
    if isinstance(scale, str):
        scale = SCALERS[scale]
    return clone(scale) if isinstance(scale, StreamingScaler) else StreamingScaler()


class _Shortcuts(ThreadSafe):
    """Attributes that are made again when they are needed: in slots, where no copy and no model file sees them."""

    __slots__ = ("_preview", "_preview_turn", "_row_paths", "names_in_messages")
    _row_paths: Any

    def __new__(cls, *args, **kwargs):
        self = super().__new__(cls)
        self._row_paths = local()  # each thread has work arrays of its own
        self._preview_turn = RLock()  # of the thread that makes the preview
        self.names_in_messages = None  # of features, for rows that come without names
        return self


class PreparingPipeline(_Shortcuts, BaseEstimator):
    """What comes before the estimator of a `StreamPipeline`: rows are checked, and prepared with fitted statistics."""

    estimator: Any
    filler_: Any  # MissingValueFiller or None
    scaler_: Any  # StreamingScaler or None
    _held: Any  # tuple of LabeledRows, or None
    _begin_watching: Any

    # --- what is known -------------------------------------------------------------------------------------

    @property
    def _classifies(self) -> bool:
        return is_classifier(self.estimator)

    @property
    def _names(self) -> Any:
        """The names of the features; None if they have none."""
        return getattr(self, "feature_names_in_", self.names_in_messages)

    @property
    def _detects(self) -> bool:
        """Whether rows are learned without labels."""
        return is_outlier_detector(self.estimator)

    @property
    def _several_targets(self) -> bool:
        """Whether targets may have columns."""
        return not self._classifies and get_tags(self.estimator).target_tags.multi_output

    # --- checking ------------------------------------------------------------------------------------------

    def _check_params(self):
        _check_scale(self.scale)
        check_count("warmup_rows", self.warmup_rows, least=1 if self.scale else 0)
        if self.feature_map is not None:
            check_map(self.feature_map)
        if not isinstance(self.impute, MissingValueFiller):
            check_choice("impute", self.impute, (None, *STRATEGIES))
        if self.calibrate and not self._classifies:
            raise ValueError(f"calibrate=True is for classifiers, not for {type(self.estimator).__name__}.")
        if self.on_drift not in ACTIONS:
            check_on_drift(self.on_drift)
        if self.detector is not None:
            check_detector(self.detector, self.estimator)

    def _checked(self, X, y, sample_weight, *, reset, order: str | None = "C") -> LabeledRows:
        known = self._columns_of_first(X) if reset else self._known_columns()
        X, columns = split_input(X, encodes=self.encoder is not None, known=known)
        kind = None if reset else self._is_sparse
        X = matrix_of(self, X, reset=reset, dtype=None if reset else self._dtype, sparse=kind, order=order)
        check_lengths(X, columns)
        return LabeledRows(X, columns, self._checked_labels(X, y), checked_weights(sample_weight, X))

    def _columns_of_first(self, X) -> FrameColumns | None:
        """The columns of the first rows, which are to be found by their names in all others."""
        for name in ("feature_names_in_", "date_names_"):
            self.__dict__.pop(name, None)
        if self.encoder is None or not is_frame(X):
            return None
        columns = kinds_to_learn(X)
        self.feature_names_in_ = np.array(columns.numbers, object)
        if columns.dates:
            self.date_names_ = np.array(columns.dates, object)
        return columns

    def _known_columns(self) -> FrameColumns | None:
        """The columns of the rows so far; None if they had no names, or scikit-learn looks at them."""
        names = getattr(self, "feature_names_in_", None)
        if self.encoder is None or names is None:
            return None
        encoder, held = getattr(self, "encoder_", None), self._held
        text = tuple(encoder.names_) if encoder is not None else tuple(held[0].columns) if held else None
        return FrameColumns(tuple(names), text, tuple(getattr(self, "date_names_", ())))

    def _checked_labels(self, X, y) -> np.ndarray:
        if self._detects:
            return np.zeros(X.shape[0])
        several = self._several_targets
        y = checked_labels(type(self).__name__, y, X, classifies=self._classifies, several=several)
        held = getattr(self, "_held", None) or ()
        if held and held[0].y.shape[1:] != y.shape[1:]:  # the estimator would refuse all of them later
            raise ValueError(f"y has the shape {y.shape}, but that of the first rows was {held[0].y.shape}.")
        return y

    # --- preparing -----------------------------------------------------------------------------------------

    def _begin(self, rows):
        """A pipeline that has seen nothing."""
        for name in ("estimator_", "filler_", "scaler_", "encoder_", "feature_map_", "calibration_", "typical_rows_",
            "out_of_fold_errors_", *WATCHED):  # fmt: skip
            self.__dict__.pop(name, None)
        if self.detector is not None:
            self._begin_watching()
        self._held, self._announced = (), None
        self._dtype, self._is_sparse = rows.X.dtype, issparse(rows.X)

    def _take_statistics(self, rows, is_preview=False):
        """Fit all that comes before the estimator; returns the rows with encoded columns, for `_prepared`.

        These may differ from what they are in predictions: means of the target are those of other rows.
        """
        known = rows_that_count(rows.X, rows.weights)
        self.filler_ = None
        if self.impute is not None and rows.X.shape[1]:
            is_filler = isinstance(self.impute, MissingValueFiller)
            self.filler_ = (clone(self.impute) if is_filler else MissingValueFiller(self.impute)).fit(known)
        self.encoder_ = None if self.encoder is None else clone(self.encoder)
        if self.encoder_ is not None:
            rows = rows._replace(columns=self._encoded_to_learn(self.encoder_, rows))
        scales = self.scale and rows.X.shape[1]
        self.scaler_ = new_scaler(self.scale).fit(self._filled(known)).freeze() if scales else None
        self.feature_map_ = None
        if self.feature_map is not None:
            X, y = (rows_that_count(each, rows.weights) for each in (self._prepared(rows.X, rows.columns), rows.y))
            self.feature_map_ = fitted_map(self.feature_map, X, y, may_shrink=is_preview)
        return rows

    def _encoded_to_learn(self, encoder, rows):
        """Features of columns of text for rows that are learned from."""
        if encoder.method != "target":
            return encoder.fit_transform(rows.columns)
        if self._detects:
            raise ValueError(
                f"ColumnEncoder('target') takes means of a target, and {type(self.estimator).__name__} learns without "
                "one: take ColumnEncoder('onehot')."
            )
        targets = class_indicators(rows.y) if self._classifies else rows.y
        return encoder.fit_transform(rows.columns, targets, rows.weights)

    def _prepared(self, X, columns, dtype=None):
        """What the estimator learns from: scaled numbers, with encoded columns beside them, as the map sees them.

        ``columns`` are text, or encoded already if these are rows to learn from; ``dtype`` is as in `prepared_numbers`.
        """
        if not issparse(X):
            X = prepared_numbers(X, getattr(self, "filler_", None), self.scaler_, dtype, self._threads)
        elif self.scaler_ is not None:
            X = self.scaler_.scaled(X)
        if self.encoder_ is not None:
            X = joined(X, self.encoder_.transform(columns) if isinstance(columns, dict) else columns)
        return X if self._map is None else mapped(self._map, X)

    def _surprises(self, X, columns, names=None) -> Surprises:
        """What validated rows have that training had not."""
        found, filler = Surprises(), getattr(self, "filler_", None)
        found.n_rows = X.shape[0]
        if filler is not None:
            filler.note_surprises(X, names or self.names_of_numbers(), found)
        if self.encoder_ is not None:
            self.encoder_.note_surprises(columns, found)
        return found

    def names_of_numbers(self) -> Sequence[str]:
        """What the columns of numbers are called, in messages."""
        for attribute in ("feature_names_in_", "number_names_"):
            if hasattr(self, attribute):
                return getattr(self, attribute).tolist()
        return [f"feature {k}" for k in range(self.n_features_in_)]

    def names_of_features(self, numbers: Sequence[str]) -> list[str]:
        """What the features of the estimator are called, given names of the columns of numbers: one for each, whether
        it is missing, and those of columns of text."""
        names = list(map(str, numbers))
        if self.indicates:
            names += [f"{names[k]} is missing" for k in self.filler_.indicated_]
        return names if self.encoder_ is None else names + self.encoder_.feature_names()

    def _filled(self, X):
        """The rows with values for those that are missing; pipelines that were saved before cannot fill them."""
        filler = getattr(self, "filler_", None)
        return X if filler is None else filler.filled(X)

    @property
    def _threads(self) -> Threads:
        """As many as the estimator has."""
        return Threads(thread_count(getattr(self.estimator, "n_jobs", None)))

    @property
    def indicates(self) -> bool:
        """Whether there are columns that tell which values are missing."""
        filler = getattr(self, "filler_", None)
        return filler is not None and filler.indicated_.size > 0

    @property
    def _map(self):
        """The map that was fitted, or None; pipelines that were saved before there were maps have no such attribute."""
        return getattr(self, "feature_map_", None)
