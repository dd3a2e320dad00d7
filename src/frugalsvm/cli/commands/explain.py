"""``frugalsvm explain``: why a model says what it says of rows."""

from pathlib import Path
from typing import Annotated, Any

import typer

from frugalsvm.cli.errors import check_folders, reported
from frugalsvm.cli.flags import READ_ROWS, Json, ModelFile, data_options, with_flags

_EXACT_ROWS, _SAMPLED_ROWS, _PERMUTATIONS = 1000, 50, 4


@with_flags(*READ_ROWS)
def explain(
    model: ModelFile,
    background: Annotated[
        str,
        typer.Option(
            help="File with background rows: shares are relative to them, as in shap. auto: training rows, landmarks "
            "or support vectors that the model keeps; none: no background rows, columns are left out of all distances."
        ),
    ] = "auto",
    background_rows: Annotated[
        int, typer.Option(min=1, help="Number of background rows, drawn at random from the file.")
    ] = 100,
    rows: Annotated[
        int | None,
        typer.Option(
            min=1, help="Number of rows to explain, from the start of the data. Default: 1000, or 50 by sampling."
        ),
    ] = None,
    show: Annotated[int, typer.Option(min=0, help="Number of rows to show one by one.")] = 3,
    columns: Annotated[int, typer.Option(min=1, help="Number of columns to show.")] = 10,
    html: Annotated[Path | None, typer.Option(help="Write an HTML page to this file.")] = None,
    labeled: Annotated[bool, typer.Option(help="Whether the data has a label column, which is ignored.")] = True,
    as_json: Json = False,
    **reading: Any,
) -> None:
    """Show how much each column raised or lowered the prediction of each row, and which columns matter."""
    from frugalsvm.cli.console import Page, print_json, tell

    options = data_options(reading)
    with reported(of_model=model, may_refuse=True):
        check_folders(html)
        from frugalsvm.explain import has_exact_shares
        from frugalsvm.persist import load

        fitted = load(model)
        n_rows = rows or (_EXACT_ROWS if has_exact_shares(fitted) else _SAMPLED_ROWS)
        usual, words = (None if background == "none" else background), ""
        if usual not in (None, "auto"):
            usual, words = _sampled_rows(fitted, model, options._replace(source=background), background_rows, labeled)
        X, surprises = _first_rows(fitted, model, options, n_rows, labeled)
        for sentence in surprises.sentences():
            tell(f"warning: {sentence}")
        found = _explained(fitted, model, X, usual)
        if words:
            found.background = words
        if html is not None:
            title = f"{model.name} on {options.name}"
            html.write_text(found.to_html(title=title, n_rows=max(show, 1), n_features=columns), encoding="utf-8")
    if as_json:
        print_json({**found.as_dict(), **surprises.counts()})
        return
    page = Page(f"{model.name} on {options.name}")
    page.sentence(found.importances_text(n_features=columns))
    page.sentence(found.origin)
    for row in range(min(show, len(found))):
        page.sentence("")
        page.sentence(found.text(row, n_features=columns))
    page.written(html)


def _first_rows(fitted: Any, model: Path, options: Any, n_rows: int, labeled: bool) -> tuple[Any, Any]:
    """The first rows of the data, as the model takes them, and what they have that its training data had not."""
    from frugalsvm.pipelines.first_rows import peeked
    from frugalsvm.pipelines.model_rows import open_for, surprises_in
    from frugalsvm.streams.batch import rows_between, rows_of, stacked

    opened = open_for(fitted, model, options, has_labels=labeled)
    first, _ = peeked(opened.batches, n_rows)
    if not first:
        raise ValueError(f"{opened.stream.name} has no rows.")
    found = rows_of(rows_between(stacked(first), 0, n_rows))
    return found, surprises_in(fitted, found, opened.stream)


def _sampled_rows(fitted: Any, model: Path, options: Any, n_rows: int, labeled: bool) -> tuple[Any, str]:
    """Background rows, drawn at random from all rows of a file, since many files are sorted; and what they are."""
    from frugalsvm.pipelines.model_rows import open_for
    from frugalsvm.streams.batch import rows_of, sample_rows

    opened = open_for(fitted, model, options, has_labels=labeled)
    sample = sample_rows(opened.batches, n_rows, seed=0)
    if not sample.n_rows:
        raise ValueError(f"{opened.stream.name} has no rows.")
    return rows_of(sample.rows), f"{sample.rows.n_rows:,} of the {sample.n_rows:,} rows of {options.name}"


def _explained(fitted: Any, model: Path, X: Any, usual: Any) -> Any:
    """The explanation, with the names that the columns of the training data have."""
    from frugalsvm.explain import shapley_values
    from frugalsvm.explain.columns import name_columns
    from frugalsvm.persist import describe

    found = shapley_values(fitted, X, usual, n_permutations=_PERMUTATIONS, n_jobs=-1)
    name_columns(found, describe(model).training.get("data", {}).get("columns") or [])
    return found
