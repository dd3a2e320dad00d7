"""Columns of users, and the features that a model makes of them.

An estimator may stand in a pipeline that fills, scales and encodes. A column is then one or several features: a number
and whether it is missing, or one feature for each category. They come and go together, so that explanations are about
the columns that users know.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import hstack, issparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, check_is_fitted

from frugalsvm.auto import AutoSVC, AutoSVR
from frugalsvm.auto.tables import number_names
from frugalsvm.estimators.validation import validated_rows
from frugalsvm.export.models import PlainModel
from frugalsvm.pipelines import StreamingScaler, StreamPipeline
from frugalsvm.pipelines.frames import is_frame
from frugalsvm.streams.columns import schema_of


def name_columns(explanation: Any, columns: list) -> None:
    """Give features that have no names of their own those of a table, and dates their parts.

    ``columns`` are name, kind and role of each column, as files of `frugalsvm train` have them.
    """
    schema: Any = schema_of(columns)
    known = list(schema.numbers)
    if all(name == f"Feature {k + 1}" for k, name in enumerate(explanation.feature_names[: len(known)])):
        explanation.feature_names[: len(known)] = known
        dates = {name: part for column, date in schema.dates for name, part in date.named_parts(column).items()}
        explanation.dates = dates


def columns_for(estimator: Any) -> "Columns":
    """The columns of a fitted estimator, a pipeline, a search, `AutoSVC` or `AutoSVR`."""
    if isinstance(estimator, PlainModel):
        return Columns(estimator, estimator.n_features)
    if not isinstance(estimator, BaseEstimator):
        raise TypeError(f"Only fitted estimators of frugalsvm can be explained, not {estimator!r}.")
    check_is_fitted(estimator)
    if isinstance(estimator, AutoSVC | AutoSVR):
        return TableColumns(estimator)
    if isinstance(estimator, StreamPipeline):
        return PipelineColumns(estimator)
    if hasattr(estimator, "best_estimator_"):
        return columns_for(estimator.best_estimator_)
    if _is_pipeline(estimator):
        _check_steps(estimator)
    return Columns(estimator, estimator.n_features_in_)


def _is_pipeline(estimator: Any) -> bool:
    from sklearn.pipeline import Pipeline  # which imports all preprocessing, and scipy.stats

    return isinstance(estimator, Pipeline)


def _check_steps(pipeline: Any) -> None:
    from sklearn.preprocessing import StandardScaler

    for name, step in pipeline.steps[:-1]:
        if step is not None and step != "passthrough" and not isinstance(step, StandardScaler | StreamingScaler):
            raise TypeError(
                f"Step {name!r} of the pipeline is a {type(step).__name__}, and explanations see through "
                "StandardScaler and StreamingScaler only: explain the last step, for rows that were transformed."
            )


def as_in_table(names: list[str], X: Any) -> NDArray:
    """The places of columns in the order that a table has them; models have numbers first, and text after them."""
    places = {str(name): k for k, name in enumerate(X.columns)} if is_frame(X) else {}
    return np.argsort([places.get(name, len(places)) for name in names], kind="stable")


class Columns:
    """From rows of users to those of the estimator inside; here, with a feature for each column."""

    dates: Mapping[str, str] = {}  # names of the columns of dates, and what they show: the "day", or the "clock"

    def __init__(self, estimator: Any, n_features: int):
        self.estimator, self._n_features = estimator, n_features  # what is explained, for rows that were prepared

    def prepared(self, X: Any) -> NDArray:
        """Rows as the estimator takes them, dense."""
        if isinstance(self.estimator, PlainModel) or _is_pipeline(self.estimator):
            rows = check_array(X, accept_sparse="csr", dtype=np.float64, input_name="X")
            if rows.shape[1] != self._n_features:
                raise ValueError(f"X has {rows.shape[1]} features, but the model expects {self._n_features}.")
        else:
            rows = validated_rows(self.estimator, X, reset=False)
        return _dense(rows)

    def shown(self, X: Any) -> NDArray:
        """What the columns hold, shape (n_rows, n_columns)."""
        return np.asarray(X) if is_frame(X) else _dense(X)

    def names(self, X: Any) -> list[str]:
        """Names of the columns; without rows (None), as far as the estimator knows them."""
        return _named(getattr(self.estimator, "feature_names_in_", None), X, self._n_features)

    def members(self) -> list[NDArray]:
        """For each column the features that are made of it."""
        return [np.array([k]) for k in range(self._n_features)]

    def permuted(self, X: Any, place: int, order: NDArray) -> Any:
        """The rows of ``X`` with the values of one column in another order."""
        return _permuted(X, place, order)

    def along(self, X: Any, place: int, values: NDArray) -> NDArray:
        """The first row of ``X`` with each of these values in one column, prepared."""
        rows = np.repeat(self.shown(X)[:1], len(values), axis=0)
        rows = rows.astype(np.float64) if rows.dtype.kind in "biu" else rows
        rows[:, place] = values
        return check_array(rows, dtype=np.float64, input_name="grid")

    def restored(self, rows: NDArray) -> NDArray:
        """Rows of the estimator as those of users, as far as that is known, shape (n_rows, n_columns)."""
        return rows


class PipelineColumns(Columns):
    """The columns of a `StreamPipeline`: numbers, and text."""

    def __init__(self, pipeline: StreamPipeline):
        if pipeline.n_held_:
            raise ValueError(f"{pipeline.n_held_} rows are held back: call flush() to learn them before explaining.")
        if getattr(pipeline, "feature_map_", None) is not None:
            raise ValueError(
                f"The feature map of this pipeline, {type(pipeline.feature_map_).__name__}, mixes columns: explain its "
                "estimator_ instead, for rows that were mapped."
            )
        if pipeline.encoder_ is not None and pipeline.encoder_.method == "hash":
            raise ValueError(
                "Hashed columns of text share features, so that none of them can be left out: use "
                "ColumnEncoder('onehot')."
            )
        super().__init__(pipeline.estimator_, pipeline.n_features_in_)
        self._pipeline = pipeline

    def prepared(self, X: Any) -> NDArray:
        return _dense(self._pipeline.estimator_rows(X))

    def shown(self, X: Any) -> NDArray:
        numbers, text = self._pipeline.split_columns(X)
        numbers = np.asarray(numbers) if is_frame(numbers) else _dense(numbers)
        numbers = numbers[:, [group[0] for group in self._numbers()]]
        if not text:
            return numbers
        return np.column_stack([numbers.astype(object), *(text[name] for name in self._text)])

    def names(self, X: Any) -> list[str]:
        numbers = None if X is None else self._pipeline.split_columns(X)[0]
        known = getattr(self._pipeline, "feature_names_in_", None)
        if known is None and is_frame(X) and self._text:
            known = [str(name) for name in X.columns if name not in self._text]
        return _named(known, numbers, self._pipeline.n_features_in_) + self._text

    @property
    def _text(self) -> list[str]:
        return [] if self._pipeline.encoder_ is None else list(self._pipeline.encoder_.names_)

    def _numbers(self) -> list[list[int]]:
        """For each column of numbers those of the pipeline that are made of it."""
        return [[k] for k in range(self._pipeline.n_features_in_)]

    def _numbers_for(self, place: int, values: NDArray) -> NDArray:
        """What values of one column of numbers become, a column for each of these."""
        return np.asarray(values, np.float64)[:, None]

    def members(self) -> list[NDArray]:
        end, encoder = self._pipeline.n_features_in_, self._pipeline.encoder_
        members = self._numbers()
        if self._pipeline.indicates:
            for k in self._pipeline.filler_.indicated_:
                next(group for group in members if k in group).append(end)
                end += 1
        for width in () if encoder is None else encoder.widths_:
            members.append(list(range(end, end + width)))
            end += width
        return [np.array(each, np.int64) for each in members]

    def permuted(self, X: Any, place: int, order: NDArray) -> Any:
        if is_frame(X):
            return _permuted(X, [str(each) for each in X.columns].index(self.names(X)[place]), order)
        numbers, text = self._pipeline.split_columns(X)
        if text is None:
            return _permuted(X, place, order)
        if place < self._pipeline.n_features_in_:
            return _permuted(numbers, place, order), text
        name = self._text[place - self._pipeline.n_features_in_]
        return numbers, {**text, name: text[name][order]}

    def along(self, X: Any, place: int, values: NDArray) -> NDArray:
        numbers, text = self._pipeline.split_columns(X)
        numbers = np.asarray(numbers) if is_frame(numbers) else _dense(numbers)
        rows, groups = np.repeat(numbers[:1].astype(np.float64), len(values), axis=0), self._numbers()
        if place < len(groups):
            rows[:, groups[place]] = self._numbers_for(place, values)
        if self._pipeline.encoder_ is None:
            return PipelineColumns.prepared(self, rows)
        columns = {name: np.repeat(text[name][:1], len(values)) for name in self._text}
        if place >= len(groups):
            columns[self._text[place - len(groups)]] = values
        return PipelineColumns.prepared(self, (rows, columns))

    def restored(self, rows: NDArray) -> NDArray:
        scaler, members, encoder = self._pipeline.scaler_, self.members(), self._pipeline.encoder_
        groups = self._numbers()
        numbers = rows[:, : self._pipeline.n_features_in_]
        if scaler is not None:
            numbers = unscaled(numbers, scaler)
        numbers = numbers[:, [group[0] for group in groups]]
        if encoder is None:
            return numbers
        text = [
            _leading(rows[:, group], known)  # which category means are from is not known
            for group, known in zip(members[len(groups) :], encoder.hot_categories_, strict=True)
        ]
        return np.column_stack([numbers.astype(object), *text])


class TableColumns(PipelineColumns):
    """The columns of a table that `AutoSVC` or `AutoSVR` has learned from."""

    def __init__(self, machine: AutoSVC | AutoSVR):
        super().__init__(machine.pipeline_)
        self._machine = machine
        self.dates = {} if machine.layout_ is None else machine.layout_.shown_as()

    def prepared(self, X: Any) -> NDArray:
        return super().prepared(self._machine.pipeline_input(X))

    def shown(self, X: Any) -> NDArray:
        return super().shown(self._machine.pipeline_input(X))

    def along(self, X: Any, place: int, values: NDArray) -> NDArray:
        return super().along(self._machine.pipeline_input(X), place, values)

    def _numbers(self) -> list[list[int]]:
        layout = self._machine.layout_
        if layout is None or layout.numbers is None:
            return super()._numbers()
        return layout.places

    def _numbers_for(self, place: int, values: NDArray) -> NDArray:
        layout = self._machine.layout_
        n_plain = 0 if layout is None else len(layout.numbers or ())
        if layout is None or place < n_plain or place >= n_plain + len(layout.dates):
            return super()._numbers_for(place, values)
        return layout.date_features(place - n_plain, np.asarray(values, np.float64))

    def names(self, X: Any) -> list[str]:
        layout = self._machine.layout_
        if layout is None or (X is None and layout.numbers is None):
            return super().names(X)
        return number_names(X, layout) + self._text


def _permuted(X: Any, place: int, order: NDArray) -> Any:
    """Rows, of a matrix or a table, with the values of one column in another order."""
    if is_frame(X):
        name = X.columns[place]
        if not hasattr(X, "iloc"):  # polars
            return X.with_columns(X[name][order])
        made = X.copy()
        made[name] = X[name].iloc[order].set_axis(X.index)
        return made
    if issparse(X):
        columns = X.tocsc()
        return hstack([columns[:, :place], columns[:, [place]][order], columns[:, place + 1 :]], format="csr")
    rows = np.array(X)
    rows[:, place] = rows[order, place]
    return rows


def _leading(encoded: NDArray, categories: NDArray) -> NDArray:
    """The category that each row is nearest to; None where it is nearest to none of them."""
    if not len(categories):
        return np.full(len(encoded), None, object)
    best = encoded.argmax(axis=1)
    found = categories[best].astype(object)
    found[encoded[np.arange(len(best)), best] <= 0.5] = None
    return found


def unscaled(rows: Any, scaler: StreamingScaler) -> Any:
    """Rows as they were before a scaler, as far as it has not clipped them."""
    return rows * scaler.scale_ + (scaler.center_ if scaler.centres_ else 0.0)


def _dense(X: Any) -> NDArray:
    return X.toarray() if issparse(X) else np.asarray(X)


def _named(known: Any, X: Any, n_features: int) -> list[str]:
    """The names that an estimator knows, or a table has; or numbers."""
    if known is None and is_frame(X):
        known = X.columns
    if known is not None and len(known) == n_features:
        return list(map(str, known))
    return [f"Feature {k + 1}" for k in range(n_features)]
