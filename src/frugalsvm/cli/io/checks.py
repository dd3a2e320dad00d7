"""What the first rows of data must have to be learned."""

from typing import Any

import numpy as np

from frugalsvm.cli.catalogue import CATALOGUE
from frugalsvm.pipelines.first_rows import Examined
from frugalsvm.streams.batch import labels_of

_MOST_BYTES = 2**28  # of the vectors of a model, if the width of rows was not given
_HASHED = 2**16  # features that are advised instead


def check_classes(examined: Examined, algorithm: str, classes: Any) -> None:
    """Refuse one class where all classes must be known from the first rows on."""
    labels = np.unique(np.concatenate([labels_of(batch) for batch in examined.first]))
    if len(labels) > 1 or classes is not None or algorithm == "bsgd":
        return
    may_mix = not examined.opened.stream.reopenable and examined.data.shuffle != "yes"
    raise ValueError(
        f"{examined.name} has one label only{examined.where and f' in its{examined.where}'}, {labels.tolist()[0]!r}, "
        f"and {algorithm} must know all classes before it learns: name them with --classes,"
        f"{' mix the rows with --shuffle yes,' if may_mix else ''} or take -a bsgd."
    )


def check_numbers(examined: Examined) -> None:
    """Refuse text where numbers are to be learned."""
    for batch in examined.first:
        if batch.y.dtype.kind not in "biuf":
            found = batch.y[:1].tolist()[0]
            raise ValueError(
                f"{examined.name} has labels like {found!r}, which are not numbers: is --label the right column?"
            )


def check_enough(examined: Examined, y: np.ndarray) -> None:
    """Refuse rows by which parameters cannot be compared."""
    n_learned = 2 * len(y) // 3
    if n_learned == len(y) or len(np.unique(y[:n_learned])) < 2:
        what = f"{len(y):,} rows, and {len(np.unique(y)):,} different labels"
        raise ValueError(f"{examined.name} has {what}: too few to compare parameters by.")


def check_size(examined: Examined, algorithm: str, budget: int | None) -> None:
    """Refuse rows so wide that the vectors of a model would fill the memory, before that is taken."""
    if examined.data.n_features is not None:  # somebody has said that it is meant
        return
    width = examined.opened.stream.n_features
    n_vectors = (budget or 0) if CATALOGUE[algorithm].budgeted else 0
    n_bytes = width * (4 * n_vectors + 24)  # and the statistics of the scaler
    if n_bytes > _MOST_BYTES:
        raise ValueError(
            f"{examined.name} has {width:,} features, with which a model of {n_vectors:,} vectors takes "
            f"{n_bytes / 2**20:,.0f} MB: --hash-features {_HASHED} brings them to fewer, a smaller --budget helps, and "
            f"--features {width} confirms this size."
        )
