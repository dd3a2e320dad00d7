"""``frugalsvm explain``: why a model says what it says of rows."""

from pathlib import Path
from typing import Annotated, Any

import typer

from frugalsvm.cli.errors import check_folder, reported
from frugalsvm.cli.flags import (
    BadLine,
    DataFiles,
    Decimal,
    Delimiter,
    Format,
    Header,
    Ignore,
    Json,
    Label,
    ModelFile,
    Thousands,
    data_options,
)

__all__ = ["explain"]


def explain(
    model: ModelFile,
    data: DataFiles,
    background: Annotated[
        str | None, typer.Option(help="File with background rows: attributions are relative to them, as in shap.")
    ] = None,
    background_rows: Annotated[
        int, typer.Option(min=1, help="Number of background rows, from the start of the file.")
    ] = 100,
    rows: Annotated[int, typer.Option(min=1, help="Number of rows to explain, from the start of the data.")] = 1000,
    show: Annotated[int, typer.Option(min=0, help="Number of rows to show one by one.")] = 3,
    columns: Annotated[int, typer.Option(min=1, help="Number of columns to show.")] = 10,
    html: Annotated[Path | None, typer.Option(help="Write an HTML page to this file.")] = None,
    labeled: Annotated[bool, typer.Option(help="Whether the data has a label column, which is ignored.")] = True,
    format: Format = None,
    label: Label = None,
    on_bad_line: BadLine = "fail",
    header: Header = "auto",
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    thousands: Thousands = None,
    ignore: Ignore = None,
    as_json: Json = False,
) -> None:
    """Show how much each column raised or lowered the prediction of each row, and which columns matter."""
    from frugalsvm.cli.console import print_json
    from frugalsvm.cli.page import Page

    options = data_options(locals())
    with reported(of_model=model):
        if html is not None:
            check_folder(html)
        from frugalsvm.persist import load

        fitted = load(model)
        usual = None
        if background is not None:
            usual = _first_rows(fitted, model, options._replace(source=background), background_rows, labeled)
        found = _explained(fitted, model, _first_rows(fitted, model, options, rows, labeled), usual)
        if html is not None:
            title = f"{model.name} on {options.name}"
            html.write_text(found.to_html(title=title, n_rows=max(show, 1), n_features=columns), encoding="utf-8")
    if as_json:
        print_json(found.as_dict())
        return
    page = Page()
    page.heading(f"{model.name} on {options.name}")
    page.sentence(found.importances_text(n_features=columns))
    for row in range(min(show, len(found))):
        page.sentence("")
        page.sentence(found.text(row, n_features=columns))
    if html is not None:
        page.sentence(f"\nA page is in {html}.")


def _first_rows(fitted: Any, model: Path, options: Any, n_rows: int, labeled: bool) -> Any:
    """The first rows of the data, as the model takes them."""
    import numpy as np
    from scipy.sparse import issparse, vstack

    from frugalsvm.cli.data import rows_of
    from frugalsvm.cli.model_input import open_for

    opened, parts, left = open_for(fitted, model, options, has_labels=labeled), [], n_rows
    for batch in opened.batches:
        parts.append(batch if batch.X.shape[0] <= left else batch._replace(X=batch.X[:left], columns=_cut(batch, left)))
        left -= batch.X.shape[0]
        if left <= 0:
            break
    if not parts:
        raise ValueError(f"{opened.stream.name} has no rows.")
    matrices = [part.X for part in parts]
    X = vstack(matrices, format="csr") if issparse(matrices[0]) else np.concatenate(matrices)
    names = parts[0].columns
    text = None if names is None else {name: np.concatenate([part.columns[name] for part in parts]) for name in names}
    return rows_of(parts[0]._replace(X=X, columns=text))


def _cut(batch: Any, n_rows: int) -> dict[str, Any] | None:
    return None if batch.columns is None else {name: values[:n_rows] for name, values in batch.columns.items()}


def _explained(fitted: Any, model: Path, X: Any, usual: Any) -> Any:
    """The explanation, with the names that the columns of the training data have."""
    from frugalsvm.explain import shapley_values
    from frugalsvm.persist import describe

    found = shapley_values(fitted, X, usual)
    columns = describe(model).metadata.get("training", {}).get("data", {}).get("columns") or []
    known = [name for name, kind, role in columns if kind == "number" and role == "feature"]
    if all(name == f"Feature {k + 1}" for k, name in enumerate(found.feature_names[: len(known)])):
        found.feature_names[: len(known)] = known
    return found
