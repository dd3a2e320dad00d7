"""What a model file knows of the run that it belongs to, and how that run goes on."""

from collections.abc import Collection
from pathlib import Path
from typing import Any, NamedTuple

from frugalsvm.cli.flag_rules import flag_named
from frugalsvm.cli.options import TrainOptions
from frugalsvm.persist.atomic import previous_of
from frugalsvm.pipelines.prequential import Progress
from frugalsvm.pipelines.reading import DataOptions

# Flags that are no part of what a run is: they may be others, or missing, when it is resumed.
_FREE = {"data", "output", "config", "resume", "changed_data", "checkpoint_every", "as_json", "quiet"}
_FIELDS = {"features": "n_features", "alpha": "strength", "c": "strength"}


class SavedRun(NamedTuple):
    """A run as a model file has it."""

    model: Any
    counts: dict[str, Any]
    passes_done: int
    chosen: dict[str, Any]
    data: DataOptions
    options: TrainOptions
    is_finished: bool
    fingerprint: dict[str, Any] | None  # of the rows of the first pass; files of old versions have none


def load_run(output: Path) -> SavedRun | None:
    """The run that a file was saved by, or the file before it; None if there is neither."""
    from frugalsvm.persist import ModelFileError, load_checkpoint

    if not output.exists() and not previous_of(output).exists():
        return None
    try:
        model, metadata, _ = load_checkpoint(output)
    except ModelFileError as error:
        raise ModelFileError(f"{output}: {error}") from error
    training = metadata.get("training")
    if not isinstance(training, dict):
        raise ValueError(
            f"{output} cannot be resumed: `frugalsvm train` has not saved it, or did so with --dask, which keeps no "
            "row to resume from. Choose another output to train from the beginning."
        )
    if training.get("driver") == "dask":
        raise ValueError(
            f"{output} cannot be resumed: it was trained with --dask, which learns all files to the end and keeps no "
            "row to resume from. Choose another output to train from the beginning."
        )
    try:
        asked: dict[str, Any] = training["options"]  # in which tuples have become lists
        asked = {name: tuple(value) if isinstance(value, list) else value for name, value in asked.items()}
        return SavedRun(
            model,
            training["counts"],
            training["passes_done"],
            training["chosen"],
            DataOptions(**training["data"]),
            TrainOptions(**asked),
            training["finished"],
            training.get("fingerprint"),
        )
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(
            f"{output} cannot be resumed: what it tells of its training is not what this version writes. Choose "
            "another output to train from the beginning."
        ) from error


def check_same_flags(run: SavedRun, given: Collection[str], data: DataOptions, options: TrainOptions) -> None:
    """Refuse flags that differ from those that the run was begun with; what is not given is as it was."""
    for begun, now in ((run.data, data), (run.options, options)):
        was, asked = begun._asdict(), now._asdict()
        for name in given:
            field = _FIELDS.get(name, name)
            if name in _FREE or field not in was or was[field] == asked[field]:
                continue
            flag = flag_named(name) if asked[field] is True else f"{flag_named(name)} {asked[field]}"
            before = "without it" if was[field] is None or was[field] is False else f"with {was[field]}"
            raise ValueError(
                f"{flag}: the run was begun {before}, and --resume continues as it was begun. "
                "Leave the flag out, or train from the beginning with another output."
            )


def save_run(
    model: Any,
    output: Path,
    data: DataOptions,
    options: TrainOptions,
    progress: Progress,
    chosen: dict[str, Any],
    passes_done: int,
    finished: bool,
    fingerprint: dict[str, Any] | None = None,
    more: dict[str, Any] | None = None,
    for_prediction: bool = False,
) -> None:
    """Write a model with all that is needed to resume its training, and with what `inspect` is to tell of it.

    With ``for_prediction``, without what only training needs, which may be many times as large.
    """
    from frugalsvm.persist import save

    # No times, no dates: a run that was interrupted ends with the same file, byte for byte.
    training = {
        "counts": progress.counts(),
        "passes_done": passes_done,
        "finished": finished,
        "chosen": chosen,
        "data": data._asdict(),
        "options": {
            name: list(value) if isinstance(value, tuple) else value for name, value in options._asdict().items()
        },
        **progress.figures(),
        "fingerprint": fingerprint,
        **(more or {}),
    }
    # With kernel rows that are kept, training continues bit for bit; a finished model does without them.
    save(
        model,
        output,
        metadata={"training": training},
        caches=not finished,
        keep_previous=not finished,
        for_prediction=for_prediction,
    )
    progress.saved = progress.total
