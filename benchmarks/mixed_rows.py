"""Synthetic large tables as companies have them: dates, clock times, numbers, and text of few and of many values.

``mixed_rows(n_rows, seed)`` makes flights of three years, of which 24 % are late. What makes them late: the season, the
weekday and the hour together, the weather, and effects of text columns with 3, 20, 400 and 4,000 values. Those of many
values are small, so that thousands of rows are needed to see them.
"""

from typing import Any

import numpy as np

__all__ = ["N_VALUES", "mixed_rows"]

N_VALUES = {"class": 3, "carrier": 20, "airport": 400, "aircraft": 4000}  # of the columns of text
_EFFECTS = {"class": 0.3, "carrier": 0.5, "airport": 0.7, "aircraft": 0.6}  # their standard deviations, in log-odds
_SKEW = 1.2  # of how often values occur
_DAYS, _YEAR = 1096, 365.25
_LATE = 0.24
_WORLD = 1  # the seed of all effects: tables of other seeds have other rows of the same world


def mixed_rows(n_rows: int, seed: int = 0) -> tuple[Any, np.ndarray]:
    """A data frame of pandas, in no order, and whether each row is late (1) or not (0)."""
    import pandas as pd

    rng, world = np.random.default_rng(seed), np.random.default_rng(_WORLD)
    day, minute = rng.integers(_DAYS, size=n_rows), _minutes(rng, n_rows)
    distance, wind = rng.lognormal(6.5, 0.6, n_rows), rng.gamma(2.0, 5.0, n_rows)
    season = np.cos(2 * np.pi * (day % _YEAR - 15) / _YEAR)  # largest in the middle of January
    warmth = 12.0 - 12.0 * season + 5.0 * rng.standard_normal(n_rows)
    table = {
        "date": np.datetime64("2021-01-01") + day,
        "departure": _clock_texts()[minute],
        "distance": distance.round(),
        "wind": wind.round(1),
        "warmth": np.where(rng.random(n_rows) < 0.03, np.nan, warmth.round(1)),
    }
    weekday, hour = (day + 4) % 7, minute / 60  # Monday is 0
    odds = 0.8 * season * (wind - 10) / 7 + 0.03 * (wind - 10) - 0.4 * (warmth < -3)
    odds += 0.9 * np.cos(2 * np.pi * (hour - 19) / 24) + 0.5 * np.isin(weekday, (4, 6)) * (np.abs(hour - 18) < 3)
    odds += 0.3 * np.sin(2 * np.pi * day / 500) - 0.2 * np.log(distance / 665) * (hour > 12)
    codes = {}
    for name, count in N_VALUES.items():
        share = world.permutation(np.arange(1, count + 1) ** -_SKEW if count > 3 else np.array([6.0, 3.0, 1.0]))
        codes[name] = rng.choice(count, n_rows, p=share / share.sum())
        odds += (_EFFECTS[name] * world.standard_normal(count))[codes[name]]
        table[name] = np.array([f"{name[0].upper()}{k:04d}" for k in range(count)], object)[codes[name]]
    odds += 0.5 * world.standard_normal((N_VALUES["carrier"], 3))[codes["carrier"], (hour // 8).astype(int)]
    is_late = rng.random(n_rows) < 1 / (1 + np.exp(-(odds - _threshold(odds))))
    return pd.DataFrame(table), is_late.astype(np.int64)


def _minutes(rng: np.random.Generator, n_rows: int) -> np.ndarray:
    """Minutes of the day: most in the morning and in the evening, some at night."""
    peaks = np.array([7.5, 13.0, 18.5, 1.0])[rng.choice(4, n_rows, p=[0.3, 0.25, 0.35, 0.1])]
    return np.round(60 * (peaks + 2.0 * rng.standard_normal(n_rows))).astype(np.int64) % (24 * 60)


def _clock_texts() -> np.ndarray:
    return np.array([f"{k // 60:02d}:{k % 60:02d}" for k in range(24 * 60)], object)


def _threshold(odds: np.ndarray) -> float:
    """What to subtract from log-odds so that the right share is late: by bisection."""
    low, high = float(odds.min()) - 10, float(odds.max()) + 10
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (middle, high) if (1 / (1 + np.exp(-(odds - middle)))).mean() > _LATE else (low, middle)
    return low
