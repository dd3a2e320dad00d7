"""``frugalsvm predict``: a line for every row."""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from frugalsvm.cli.running import rows_of

__all__ = ["predicted_lines", "write_lines"]


def predicted_lines(fitted: Any, batches: Iterable, where: dict[str, str], *, scores: bool) -> Iterator[str]:
    """The predicted label of each row, with its decision values if wanted; ``where`` names a device."""
    for batch in batches:
        rows = rows_of(batch)
        labels = fitted.predict(rows, **where).tolist()
        if not scores:
            yield from (f"{label}\n" for label in labels)
            continue
        values = np.reshape(fitted.decision_function(rows, **where), (len(labels), -1))
        for label, row in zip(labels, values, strict=True):
            yield "\t".join([str(label), *(f"{value:.9g}" for value in row)]) + "\n"


def write_lines(lines: Iterable[str], output: Path | None) -> None:
    """To standard output as they come; to a file only when all of them are there."""
    if output is None:
        sys.stdout.writelines(lines)
    elif output.exists() and not output.is_file():  # a device, or a pipe
        with output.open("w") as file:
            file.writelines(lines)
    else:
        from frugalsvm.persist.atomic import write_atomically

        write_atomically(output, lambda file: file.writelines(line.encode() for line in lines), what="The predictions")
