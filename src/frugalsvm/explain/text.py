"""Explanations for terminals: numbers with bars of plain characters."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

_BAR = 20  # characters of the longest bar
_NAME = 40  # characters of a name, at most


def row_title(row: int, output: str, value: float) -> str:
    """What an explanation of a row is about: its score for a class, or its value.

    Examples
    --------
    >>> row_title(0, "yes", -1.0386), row_title(0, "value", 3.5)
    ('Row 1: score -1.039 for yes', 'Row 1: value 3.5')
    """
    what = number_text(value)
    return f"Row {row + 1}: value {what}" if output == "value" else f"Row {row + 1}: score {what} for {output}"


def origin_text(background: str | None, error: float | None = None) -> str:
    """What shares are relative to, and how exact they are.

    Examples
    --------
    >>> origin_text("100 training rows that the model keeps")
    'The base value is the mean over background rows: 100 training rows that the model keeps.'
    """
    if background is None:
        words = (
            "There are no background rows: a column that is left out counts as if it were the same as in each support "
            "vector, and shares are no amounts in the unit of the target."
        )
    else:
        words = f"The base value is the mean over background rows: {background}."
    if error is None:
        return words
    if not np.isfinite(error):
        return f"{words} Shares were sampled; standard errors need n_permutations of 2 or more."
    return f"{words} Shares were sampled: standard errors are about {100 * error:.2g} % of the largest share of a row."


def number_text(value: Any) -> str:
    """A number in few digits; anything else as it is.

    Examples
    --------
    >>> number_text(3.0), number_text(0.123456), number_text("red")
    ('3', '0.1235', 'red')
    """
    try:
        return f"{float(value):.4g}"
    except (TypeError, ValueError):
        return str(value)


def largest_first(sizes: NDArray, most: int) -> tuple[NDArray, int]:
    """Places of the largest sizes, up to ``most`` of them, and the number of all others."""
    order = np.argsort(-np.abs(sizes), kind="stable")[: max(1, most)]
    return order, len(sizes) - len(order)


def largest_lines(sizes: NDArray, names: list[str], most: int) -> tuple[NDArray, list[tuple[str, float]]]:
    """Places of the largest sizes, and a line for each, its name and size; one more may be for all others together."""
    order, n_others = largest_first(sizes, most)
    rest = [(others_label(n_others), float(sizes.sum() - sizes[order].sum()))] if n_others else []
    return order, [*((names[p], float(sizes[p])) for p in order), *rest]


def waterfall_text(
    title: str, base: float, values: NDArray, labels: list[str], most: int, errors: NDArray | None = None
) -> str:
    """A line for each column: its name, its share (with its standard error), and a bar of pluses or minuses."""
    order, lines = largest_lines(values, labels, most)
    longest = max(abs(value) for _, value in lines) or 1.0
    width = max(len("base value"), *(len(_short(label)) for label, _ in lines))
    numbers = [number_text(base), *(f"{value:+.4g}" for _, value in lines)]
    if errors is not None:
        numbers[1 : 1 + len(order)] = [f"{values[p]:+.4g} +- {errors[p]:.2g}" for p in order]
    right = max(map(len, numbers)) + 1
    out = [title, f"  {'base value':<{width}}  {numbers[0]:>{right}}"]
    for (label, value), number in zip(lines, numbers[1:], strict=True):
        bar = ("+" if value > 0 else "-") * round(_BAR * abs(value) / longest)
        out.append(f"  {_short(label):<{width}}  {number:>{right}}  {bar}".rstrip())
    return "\n".join(out)


def bars_text(title: str, sizes: NDArray, names: list[str], most: int) -> str:
    """A line for each column: its name, its size, and a bar."""
    _, lines = largest_lines(sizes, names, most)
    longest = max(value for _, value in lines) or 1.0
    width = max(len(_short(name)) for name, _ in lines)
    right = max(len(number_text(value)) for _, value in lines)
    bars = [f"  {_short(n):<{width}}  {number_text(v):>{right}}  {'#' * round(_BAR * v / longest)}" for n, v in lines]
    return "\n".join([title, *(bar.rstrip() for bar in bars)])


def others_label(count: int) -> str:
    return f"{count} other{'' if count == 1 else 's'}"


def _short(name: str) -> str:
    return name if len(name) <= _NAME else name[: _NAME - 3] + "..."
