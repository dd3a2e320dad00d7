"""Dates as numbers: days since 1970, month, weekday and hour where these vary, and where in its cycles a day is.

Kernels compare numbers by their difference, and December is near January: a sine and a cosine tell where in the year,
the week or the day a moment is, where these are gone through by more than half.

Dates in text come in the forms of ISO 8601 (2021-03-04, 2021-03-04T05:06:07.8+01:00), with points or slashes instead of
hyphens, with the day or the month first (04.03.2021, 3/4/21), or with the name of the month (4 Mar 2021). Which of day
and month comes first is that of all dates of a column. Clock times (13:45, 1:45 PM, 13:45:10) are parts of a day.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from frugalsvm.streams.number_notation import is_missing

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_CLOCK_TIME = r"(\d{1,2}):(\d{2})(?::(\d{2}(?:\.\d*)?))?\s*([AaPp][Mm])?"
_TIME = rf"(?:[T ,]+{_CLOCK_TIME}\s*(Z|[+-]\d{{2}}:?\d{{2}})?)?"
_NAME = r"([A-Za-z]{3,9})\.?"
_FORMS = {
    "ymd": re.compile(rf"(\d{{4}})([-/.])(\d{{1,2}})\2(\d{{1,2}}){_TIME}", re.ASCII),
    "dmy": re.compile(rf"(\d{{1,2}})([-/.])(\d{{1,2}})\2(\d{{4}}|\d{{2}}){_TIME}", re.ASCII),
    "d name y": re.compile(rf"(\d{{1,2}})([- ]){_NAME}[- ](\d{{4}}){_TIME}", re.ASCII),
    "name d y": re.compile(rf"{_NAME}( )(\d{{1,2}}),? (\d{{4}}){_TIME}", re.ASCII),
    "clock": re.compile(_CLOCK_TIME, re.ASCII),
}
# The orders to try, the likelier first where a column fits several: 03.04.2021 is of April, 03/04/2021 of March.
_ORDERS = ("ymd", "dmy", "mdy", "d name y", "name d y", "clock")
_EXAMPLES = dict(
    zip(_ORDERS, ("2021-12-31", "31.12.2021", "12/31/2021", "31 Dec 2021", "Dec 31, 2021", "13:45"), strict=True)
)
_AMERICAN = "/"
_CENTURY = 69  # two digits below it are years of this century
_NUMBERS = ("month", "weekday", "hour")
_CYCLES = {"year": 365.2425, "week": 7.0, "day": 1.0}  # in days
_WAVES = {f"{wave} of {cycle}": (wave, days) for cycle, days in _CYCLES.items() for wave in ("sin", "cos")}
_DAY = 86_400.0  # seconds
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


class DateColumn(NamedTuple):
    """How dates of a column become numbers: in which order they are written, and what they say beside the day."""

    order: str
    parts: tuple[str, ...]

    @property
    def kind(self) -> str:
        """As model files have it."""
        return "date " + "/".join([self.order, *self.parts])

    @classmethod
    def of_kind(cls, kind: str) -> DateColumn | None:
        """The column that a kind describes; None if it is no date."""
        if not kind.startswith("date "):
            return None
        order, *parts = kind.removeprefix("date ").split("/")
        if order not in _ORDERS or not set(parts) <= {*_NUMBERS, *_WAVES}:
            raise ValueError(f"{kind!r} is not a kind of dates.")
        return cls(order, tuple(parts))

    @property
    def example(self) -> str:
        """A date in this order."""
        return _EXAMPLES[self.order]

    @property
    def is_clock(self) -> bool:
        """Whether there are times of any day."""
        return self.order == "clock"

    @property
    def shown_as(self) -> str:
        """What the first feature is, for `part_text`."""
        return "clock" if self.is_clock else "day"

    @property
    def words(self) -> str:
        """What becomes of the dates, in words."""
        numbers = [f"{part}s" for part in self.parts if part in _NUMBERS]
        cycles = [cycle for cycle in _CYCLES if f"sin of {cycle}" in self.parts]
        words = ["parts of a day" if self.is_clock else "days", *numbers]
        return ", ".join([*words, *(["cycles of " + " and ".join(cycles)] if cycles else [])])

    def names(self, column: str) -> list[str]:
        """Names of the features."""
        return [column, *(f"{column} ({part})" for part in self.parts)]

    def named_parts(self, column: str) -> dict[str, str]:
        """What the features are, by their names: "day" or "clock", or a part of the date."""
        return dict(zip(self.names(column), (self.shown_as, *self.parts), strict=True))

    def features(self, days: NDArray) -> NDArray:
        """The features of some days, a column for each; NaN where the day is missing."""
        return np.column_stack([days, *(_part(name, days) for name in self.parts)])


def date_column(days: NDArray, order: str = "ymd") -> DateColumn:
    """How to make features of such days: those parts count that are not the same everywhere, and cycles."""
    known = days[~np.isnan(days)]
    numbers = [] if order == "clock" else [name for name in _NUMBERS if len(np.unique(_part(name, known))) > 1]
    cycles = [name for name, length in _CYCLES.items() if (length == 1.0 or order != "clock") and _goes(known, length)]
    return DateColumn(order, (*numbers, *(f"{wave} of {name}" for name in cycles for wave in ("sin", "cos"))))


def date_parts(*, has_hours: bool) -> tuple[str, ...]:
    """All parts of dates, for columns that are known by their type alone."""
    return (*_NUMBERS, *_WAVES) if has_hours else (*_NUMBERS[:2], *(name for name in _WAVES if "day" not in name))


def _goes(days: NDArray, length: float) -> bool:
    """Whether days go through more than half of a cycle, so that its end is near its beginning."""
    places = days % length
    return len(days) > 0 and bool(places.max() - places.min() > length / 2)


def days_in(values: Iterable[str], order: str | None = None, most_errors: float = 0.0) -> tuple[str, NDArray] | None:
    """In which order dates are written, and their days, with NaN for missing ones; None if they are no dates.

    With an ``order`` that is known, NaN stands for other texts as well; or for a share of them up to ``most_errors``.

    Examples
    --------
    >>> days_in(["2021-03-04", "", "2021-03-05T12:00"])
    ('ymd', array([18690. ,     nan, 18691.5]))
    """
    texts = [value.strip() for value in values]
    distinct = {text for text in texts if not is_missing(text)}
    if not distinct:
        return None if order is None else (order, np.full(len(texts), np.nan))
    tried = {}
    for each in _orders(distinct) if order is None else (order,):
        days = {text: day for text in distinct if (day := _day(text, each)) is not None}
        if len(days) == len(distinct):
            return each, _in_rows(texts, days)
        tried[each] = days
    best = max(tried, key=lambda each: len(tried[each]))
    if order is None and len(tried[best]) < (1.0 - most_errors) * len(distinct):
        return None
    return best, _in_rows(texts, tried[best])


def _in_rows(texts: list[str], days: dict[str, float]) -> NDArray:
    return np.array([days.get(text, np.nan) for text in texts], np.float64)


def part_text(part: str, number: float) -> str:
    """A feature of a date as people write it.

    Examples
    --------
    >>> part_text("day", 18690.0), part_text("day", 18690.25), part_text("weekday", 3.0), part_text("clock", 0.25)
    ('2021-03-04', '2021-03-04 06:00', 'Thursday', '06:00')
    """
    if part == "clock":
        return f"{datetime(1970, 1, 1) + timedelta(minutes=round(24 * 60 * number)):%H:%M}"
    if part == "day":
        moment = datetime(1970, 1, 1) + timedelta(minutes=round(24 * 60 * number))
        return f"{moment:%Y-%m-%d}" if number == int(number) else f"{moment:%Y-%m-%d %H:%M}"
    return _WEEKDAYS[int(number)] if part == "weekday" else f"{number:g}"


def days_of(values: NDArray) -> NDArray:
    """Days of NumPy's dates and durations."""
    days = values.astype(f"{values.dtype.kind}8[us]").astype(np.int64) / (_DAY * 1e6)
    return np.where(np.isnat(values), np.nan, days)


def _orders(texts: set[str]) -> Sequence[str]:
    american = any(_AMERICAN in text for text in texts)
    return ("ymd", "mdy", "dmy", *_ORDERS[3:]) if american else _ORDERS


def _day(text: str, order: str) -> float | None:
    match = _FORMS["dmy" if order == "mdy" else order].fullmatch(text)
    if match is None:
        return None
    return _time_in(match) if order == "clock" else _day_in(match, order)


def _time_in(match: re.Match[str]) -> float | None:
    hour, minute, second, half = match.groups()
    try:
        return _clock(hour, minute, second, half, None) / timedelta(days=1)
    except ValueError:  # 25 o'clock
        return None


def _day_in(match: re.Match[str], order: str) -> float | None:
    if order == "name d y":
        month, _, day, year, *clock = match.groups()
    elif order == "ymd":
        year, _, month, day, *clock = match.groups()
    else:
        day, _, month, year, *clock = match.groups()
        day, month = (month, day) if order == "mdy" else (day, month)
    try:
        moment = datetime(_year(year), _month(month), int(day), tzinfo=UTC) + _clock(*clock)
    except ValueError:  # the 30th of February
        return None
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(days=1)


def _year(text: str) -> int:
    year = int(text)
    return year if len(text) == 4 else year + (2000 if year < _CENTURY else 1900)


def _month(text: str) -> int:
    return int(text) if text.isdigit() else _MONTHS.index(text[:3].lower()) + 1


def _clock(hour: str | None, minute: str, second: str | None, half: str | None, zone: str | None) -> timedelta:
    if hour is None:
        return timedelta(0)
    hours = int(hour) % 12 + (12 if half.lower() == "pm" else 0) if half else int(hour)
    if hours > 23 or int(minute) > 59 or float(second or 0) > 60:
        raise ValueError("no time of a day")
    moment = timedelta(hours=hours, minutes=int(minute), seconds=float(second or 0))
    if zone in (None, "Z"):
        return moment
    assert zone is not None
    offset = timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:]))
    return moment - offset if zone[0] == "+" else moment + offset


def _part(name: str, days: NDArray) -> NDArray:
    made = np.full(len(days), np.nan)
    there = ~np.isnan(days)
    whole = np.floor(days[there])
    if name in _WAVES:
        wave, length = _WAVES[name]
        made[there] = getattr(np, wave)(2 * np.pi * (days[there] % length) / length)
    elif name == "month":
        made[there] = whole.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) % 12 + 1
    elif name == "weekday":  # Monday is 0; the first of January 1970 was a Thursday
        made[there] = (whole + 3) % 7
    else:
        made[there] = np.floor((days[there] - whole) * 24 + 1e-6)
    return made
