"""Candidates and machines in plain words, for reports and for the command line."""

from typing import Any

__all__ = ["candidate_words", "machine_words"]


def candidate_words(candidate: dict[str, Any]) -> str:
    """Which candidate of a search something is about."""
    return "{rows}, {kernel}, gamma={gamma:.3g}, C={C:.3g}".format(**candidate)


def machine_words(model: Any, n_rows: int) -> str:
    """Which machine a fitted estimator is: one in cells, or a low-rank machine."""
    if not hasattr(model, "n_cells_"):
        landmarks = "all rows as" if model.n_components >= n_rows else f"{model.n_components:,} of {n_rows:,} rows as"
        return f"a low-rank machine with {landmarks} landmarks"
    if model.n_cells_ == 1:
        return f"all {n_rows:,} rows in one cell"
    n_trees = model.n_trees
    trees = "" if n_trees == 1 else f" in {n_trees} trees"
    return f"{model.n_cells_:,} cells of up to {model.cell_size_:,} rows{trees}"
