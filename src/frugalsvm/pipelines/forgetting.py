"""What a pipeline around a model that forgets keeps of the rows, and what it must not keep."""

from pathlib import Path
from typing import Any

from frugalsvm.estimators.forget_reports import signed
from frugalsvm.persist import describe, digest_of, load, save

_PARTS = {
    "filler_": "values for missing ones",
    "scaler_": "means and spreads of columns",
    "encoder_": "values of text columns",
    "feature_map_": "feature map",
    "calibration_": "calibration of the pipeline",
}
_SHOWN = 10  # ids
_ROWS = ("typical_rows_", "_held")  # copies of rows


def forgetting_model(model: Any) -> Any:
    """The model that forgets rows by their ids: this one, or that in a `StreamPipeline`.

    Raises
    ------
    ValueError
        If there is none.
    """
    inner = getattr(model, "estimator_", model)
    if not hasattr(inner, "forget_report"):
        raise ValueError(
            f"{type(inner).__name__} cannot forget rows: LocalSVC, LocalSVR and IncrementalSVC can, also in a "
            "StreamPipeline. Train another model again, without these rows."
        )
    return inner


def kept_around(model: Any) -> list[str]:
    """What a pipeline computed from all rows, and keeps; copies of rows that it had are gone after this."""
    if not hasattr(model, "estimator_"):
        return []
    for name in _ROWS:
        if vars(model).get(name) is not None:
            del vars(model)[name]
    return [words for name, words in _PARTS.items() if getattr(model, name, None) is not None]


# --- model files ---------------------------------------------------------------------------------------------------


def ids_in(path: Path) -> list[int]:
    """The ids in the first column of a file; a header is skipped."""
    lines = [line.split(",")[0].split(";")[0].strip().strip('"') for line in path.read_text("utf-8-sig").splitlines()]
    lines = [line for line in lines if line]
    if lines and not _is_id(lines[0]):
        lines = lines[1:]
    for number, line in enumerate(lines, 1):
        if not _is_id(line):
            raise ValueError(f"{path.name} has {line!r} as id {number}: expected whole numbers, one in each line.")
    if not lines:
        raise ValueError(f"{path.name} has no ids.")
    return list(dict.fromkeys(map(int, lines)))


def _is_id(text: str) -> bool:
    return text.isascii() and text.isdigit()


def forget_in_file(
    model: Path, ids: list[int], target: Path | None = None, *, certify: bool = True, key: bytes | None = None
) -> dict[str, Any]:
    """Take rows out of a model file.

    Parameters
    ----------
    model : Path
    ids : list of int
        Numbers of rows of the training, the first of which is 0.
    target : Path, default=None
        Where the model without these rows is written; None is the model file itself.
    certify : bool, default=True
        Whether to compare with a fresh factorization, and to take digests of the model.
    key : bytes, default=None
        What the report is signed with.

    Returns
    -------
    dict
        The report: `frugalsvm.LocalSVC.forget_report`, with digests of both files and what else keeps traces of rows.
    """
    target = model if target is None else target
    before, metadata = digest_of(model), describe(model).metadata
    fitted = load(model, expected_digest=before)
    inner = forgetting_model(fitted)
    inner.unlearn(ids, certify=certify)
    around = kept_around(fitted)
    save(fitted, target, metadata=metadata)
    found = inner.forget_report()
    if metadata:
        around.append("metadata of the training")
    found["aggregates that stay"] = found["aggregates that stay"] + around
    found["files"] = {"before": before, "after": digest_of(target)}
    return signed(found, key)


def forgotten_facts(report: dict[str, Any]) -> list[tuple[str, str]]:
    """What a report of `forget_in_file` says of the rows that were forgotten last, for people."""
    last = report["forgotten"][-1]
    facts = [("ids", ", ".join(map(str, last["ids"][:_SHOWN])) + (", ..." if len(last["ids"]) > _SHOWN else ""))]
    facts.append(("rows left", f"{report['rows']:,}"))
    if "cells" in last:
        facts.append(("cells solved again", ", ".join(map(str, last["cells"]))))
        facts.append(("structure", report["structure"]))
    if "residual" in last:
        facts.append(("difference to a fresh factorization", f"{last['residual']:.1e}"))
    facts.append(("file before", report["files"]["before"]))
    facts.append(("file after", report["files"]["after"]))
    facts.append(("aggregates that stay", ", ".join(report["aggregates that stay"]) or "none"))
    return facts
