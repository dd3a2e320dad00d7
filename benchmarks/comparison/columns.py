"""Columns as a peer wants them, by what the training rows say: all that one does before one can use it.

================  =====================================================================================================
as they are       arrays, or data frames with text, dates and missing values
numbers           numbers and categories: dates are numbers, text of many values is a mean of the target
categories        the same, with all text as categories
filled            numbers alone: a column for each of few categories, missing numbers are medians
scaled            the same with a robust center and spread, clipped; columns of one unit stay in proportion
================  =====================================================================================================
"""

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import KFold
from sklearn.preprocessing import OneHotEncoder, TargetEncoder

from frugalsvm.pipelines import StreamingScaler

__all__ = ["CLIP", "WAYS", "Columns"]

WAYS = ("as they are", "numbers", "categories", "filled", "scaled")
MOST_CATEGORIES = 255  # of HistGradientBoosting
FEW_CATEGORIES = 30
ROWS_OF_A_CATEGORY = 10  # a column where values have fewer, on average, is nearly a name: trees would learn it by heart
N_FOLDS = 5
CLOCK = "%H:%M"
CLIP = 6.0  # in scales


class Columns:
    """One of the ways; `fit_transform` is for training rows, `transform` for all others."""

    def __init__(self, way, *, has_one_unit=False, is_regression=False):
        self.way, self.has_one_unit, self.is_regression = way, has_one_unit, is_regression

    def fit_transform(self, X, y):
        self.is_frame = hasattr(X, "iloc") and self.way != "as they are"
        if self.is_frame:
            X = self._fit_frame(_with_times(X), y)
        if self.way != "scaled":
            return X
        if self.has_one_unit:
            self.low, self.high = X.min(), X.max()
        else:
            self.scaler = StreamingScaler(clip=CLIP).fit(X)
        return self._scaled(X)

    def transform(self, X):
        if self.is_frame:
            X = self._of_frame(_with_times(X))
        return self._scaled(X) if self.way == "scaled" else X

    def _scaled(self, X):
        return (X - self.low) / (self.high - self.low) if self.has_one_unit else self.scaler.transform(X)

    # --- data frames --------------------------------------------------------------------------------------------------

    def _fit_frame(self, X, y):
        text = [name for name in X if not pd.api.types.is_numeric_dtype(X[name])]
        most = {"numbers": MOST_CATEGORIES, "categories": np.inf}.get(self.way, FEW_CATEGORIES)
        if self.way != "categories":
            most = min(most, len(X) / ROWS_OF_A_CATEGORY)
        self.few = [name for name in text if X[name].nunique() <= most]
        self.many = [name for name in text if name not in self.few]
        X = self._fit_means(X, y)
        if self.way in ("numbers", "categories"):
            self.kinds = {name: pd.CategoricalDtype(X[name].dropna().unique()) for name in self.few}
            return self._as_categories(X)
        ones = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
        filler = SimpleImputer(strategy="median", keep_empty_features=True)
        self.encoder = make_column_transformer((ones, self.few), remainder=filler)
        return self.encoder.fit_transform(X)

    def _of_frame(self, X):
        if self.many:
            X = X.drop(columns=self.many).join(self.means.transform(X[self.many]))
        return self._as_categories(X) if self.way in ("numbers", "categories") else self.encoder.transform(X)

    def _fit_means(self, X, y):
        """Text of many values as means of the target, each row's from rows in other folds."""
        if not self.many:
            return X
        text, folds = X[self.many], KFold(N_FOLDS).split(X)  # rows are in a random order
        self.means = self._encoder(text, y)
        out_of_fold = [self._encoder(text.iloc[some], y[some]).transform(text.iloc[others]) for some, others in folds]
        return X.drop(columns=self.many).join(pd.concat(out_of_fold))

    def _encoder(self, text, y):
        kind = "continuous" if self.is_regression else "binary" if y.max() < 2 else "multiclass"
        return TargetEncoder(target_type=kind).set_output(transform="pandas").fit(text, y)

    def _as_categories(self, frame):
        """Values that are not among the categories are missing."""
        return frame.assign(
            **{
                name: frame[name].where(frame[name].isin(kind.categories)).astype(kind)
                for name, kind in self.kinds.items()
            }
        )


def _with_times(frame):
    """Dates and clock times as numbers."""
    columns = {}
    for name, column in frame.items():
        if pd.api.types.is_datetime64_any_dtype(column):
            date = column.dt
            columns |= {f"{name}_year": date.year, f"{name}_day": date.day_of_year, f"{name}_weekday": date.day_of_week}
        elif (minutes := _minutes(column)) is not None:
            columns[name] = minutes
        else:
            columns[name] = column
    return pd.DataFrame(columns)


def _minutes(column):
    """Minutes since midnight, or None where these are not clock times."""
    if pd.api.types.is_numeric_dtype(column):
        return None
    times = pd.to_datetime(column, format=CLOCK, errors="coerce")
    return 60 * times.dt.hour + times.dt.minute if times.notna().all() else None
