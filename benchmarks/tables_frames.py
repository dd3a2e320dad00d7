"""Data frames as numbers, as one makes them for boosted trees and kernel machines that know nothing else."""

import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, TargetEncoder

__all__ = ["numbers_of"]

MOST_CATEGORIES = 255  # of HistGradientBoosting
FEW_CATEGORIES = 30
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
    many = [name for name in text if name not in few]
    if with_categories:
        X, X_other = _with_means(X, y, X_other, many)
        kinds = {name: pd.CategoricalDtype(X[name].unique()) for name in few}
        return X.astype(kinds), X_other.astype(kinds)
    encoder = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), few),
        (TargetEncoder(random_state=0), many),
        remainder=make_pipeline(SimpleImputer(strategy="median")),
    )
    return encoder.fit_transform(X, y), encoder.transform(X_other)


def _with_means(X, y, X_other, names):
    """Columns of text as means of the target; those of the first frame are of other rows."""
    if not names:
        return X, X_other
    encoder = TargetEncoder(random_state=0).set_output(transform="pandas")
    X_means, other_means = encoder.fit_transform(X[names], y), encoder.transform(X_other[names])
    return X.drop(columns=names).join(X_means), X_other.drop(columns=names).join(other_means)


def _with_times(frame):
    """Dates and clock times as numbers."""
    columns = {}
    for name, column in frame.items():
        if pd.api.types.is_datetime64_any_dtype(column):
            date = column.dt
            columns |= {f"{name}, year": date.year, f"{name}, day": date.dayofyear, f"{name}, weekday": date.weekday}
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
