"""Data frames as numbers, as one makes them for boosted trees and kernel machines that know nothing else."""

import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import KFold
from sklearn.preprocessing import OneHotEncoder, TargetEncoder

__all__ = ["numbers_of"]

MOST_CATEGORIES = 255  # of HistGradientBoosting
FEW_CATEGORIES = 30
N_FOLDS = 5
CLOCK = "%H:%M"


def numbers_of(X, y, X_other, *, with_categories):
    """Two frames as numbers, by what the first one and its targets say.

    Dates are years, days of the year and weekdays; clock times are minutes. Text of few values is of the type category
    or, without categories, one column for each value. Of many values it is the mean of the target, out of fold. Without
    categories, missing numbers are filled with the median as well.
    """
    X, X_other = _with_times(X), _with_times(X_other)
    text = [name for name in X if not pd.api.types.is_numeric_dtype(X[name])]
    most = MOST_CATEGORIES if with_categories else FEW_CATEGORIES
    few = [name for name in text if X[name].nunique() <= most]
    X, X_other = _with_means(X, y, X_other, [name for name in text if name not in few])
    if with_categories:
        kinds = {name: pd.CategoricalDtype(X[name].dropna().unique()) for name in few}
        return _as_categories(X, kinds), _as_categories(X_other, kinds)
    encoder = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), few), remainder=SimpleImputer(strategy="median")
    )
    return encoder.fit_transform(X), encoder.transform(X_other)


def _with_means(X, y, X_other, names):
    """Columns of text as means of the target; those of the first frame are of rows in other folds."""
    if not names:
        return X, X_other
    text = X[names]
    folds = KFold(N_FOLDS).split(text)  # rows are in a random order
    means = pd.concat([_encoder(text.iloc[some], y[some]).transform(text.iloc[held]) for some, held in folds])
    other_means = _encoder(text, y).transform(X_other[names])
    return X.drop(columns=names).join(means), X_other.drop(columns=names).join(other_means)


def _encoder(text, y):
    return TargetEncoder().set_output(transform="pandas").fit(text, y)


def _as_categories(frame, kinds):
    """Values that are not among the categories are missing."""
    return frame.assign(
        **{name: frame[name].where(frame[name].isin(kind.categories)).astype(kind) for name, kind in kinds.items()}
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
    """Minutes since midnight, or None where these are no clock times."""
    if pd.api.types.is_numeric_dtype(column):
        return None
    times = pd.to_datetime(column, format=CLOCK, errors="coerce")
    return 60 * times.dt.hour + times.dt.minute if times.notna().all() else None
