"""Results of the repetitions of one task as one small JSON value: rounded, by field, equal ones once."""

from typing import Any

__all__ = ["packed", "rounded", "unpacked"]

DIGITS, DIGITS_OF_CURVES = 6, 4  # significant digits of numbers, and of those inside lists


def rounded(value: Any, digits: int = DIGITS) -> Any:
    """The value with fewer digits; counts stay whole."""
    if isinstance(value, dict):
        return {key: rounded(part, digits) for key, part in value.items()}
    if isinstance(value, list):
        return [rounded(part, DIGITS_OF_CURVES) for part in value]
    if isinstance(value, float):
        return float(f"{value:.{digits}g}")
    return value


def packed(values: list[Any]) -> Any:
    """Values, one for each repetition: equal ones once, dictionaries by field, lists of dictionaries by column."""
    if len(values) > 1 and all(value == values[0] for value in values[1:]):
        return {"all": values[0]}
    if _have_equal_keys(values):
        return {"of": {key: packed([value[key] for value in values]) for key in values[0]}}
    if all(isinstance(value, list) and value and _have_equal_keys(value) for value in values):
        return {"rows": packed([{key: [row[key] for row in value] for key in value[0]} for value in values])}
    return values


def unpacked(stored: Any, count: int) -> list[Any]:
    """What `packed` was given, ``count`` values."""
    if isinstance(stored, list):
        return stored
    if "all" in stored:
        return [stored["all"]] * count
    if "of" in stored:
        columns = {key: unpacked(part, count) for key, part in stored["of"].items()}
        return [{key: column[place] for key, column in columns.items()} for place in range(count)]
    return [_as_rows(columns) for columns in unpacked(stored["rows"], count)]


def _have_equal_keys(values: list[Any]) -> bool:
    return all(isinstance(value, dict) and value.keys() == values[0].keys() for value in values)


def _as_rows(columns: dict[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
