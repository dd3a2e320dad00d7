"""The JSON of a model file: parsed, and checked before anything is made of it."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np

from frugalsvm._version import __version__
from frugalsvm.persist.archive import Archive
from frugalsvm.persist.codec import Decoder
from frugalsvm.persist.errors import ModelFileError, file_errors

__all__ = ["FORMAT_NAME", "FORMAT_VERSION", "metadata_of", "one_of", "read_document"]

FORMAT_NAME = "frugalsvm model"
_ENTRIES = {"libraries", "metadata", "arrays", "model"}
FORMAT_VERSION = 2  # 1: parts had the names of their modules and classes


def one_of(arrays: list[np.ndarray]) -> Callable[[Any], np.ndarray]:
    """Gives arrays by number."""

    def array(number: Any) -> np.ndarray:
        if type(number) is not int or not 0 <= number < len(arrays):
            raise ModelFileError("The model file is malformed: it names an array that is not there.")
        return arrays[number]

    return array


def metadata_of(document: dict[str, Any]) -> dict[str, Any]:
    metadata = Decoder(one_of([])).decode(document["metadata"])
    if type(metadata) is not dict:
        raise ModelFileError("The model file is malformed: its metadata is not a dict.")
    return metadata


def read_document(archive: Archive, *, check_arrays: bool = False) -> dict[str, Any]:
    """The contents of ``model.json``, after comparing checksums: its own, and those of the arrays if wanted."""
    sums = _parsed(archive.text("manifest.json"), "manifest.json").get("sha256")
    text = archive.text("model.json")
    if not isinstance(sums, dict) or set(sums) != set(archive.entries) - {"manifest.json"}:
        raise ModelFileError("The model file is malformed: its manifest does not list its entries.")
    for name in archive.entries if check_arrays else ["model.json"]:
        if name != "manifest.json" and sums[name] != archive.digest(name):
            raise ModelFileError(f"The model file is damaged: the checksum of {name} is wrong.")
    document = _parsed(text, "model.json")
    if document.get("format") != FORMAT_NAME or type(document.get("version")) is not int or document["version"] < 1:
        raise ModelFileError("This is not a frugalsvm model file: model.json does not say so.")
    if document["version"] > FORMAT_VERSION:
        raise ModelFileError(
            f"The model file has version {document['version']}, and this frugalsvm ({__version__}) reads versions up "
            f"to {FORMAT_VERSION}: it was written by a newer one."
        )
    unknown = sorted(set(document) - {"format", "version", *_ENTRIES})
    if unknown:
        raise ModelFileError(
            f"The model file has {unknown[0][:40]!r}, which this frugalsvm ({__version__}) cannot read."
        )
    missing = _ENTRIES - set(document)
    if missing or not isinstance(document["arrays"], list):
        raise ModelFileError(f"The model file is malformed: model.json lacks {sorted(missing) or 'its arrays'}.")
    return document


def _parsed(text: bytes, name: str) -> dict[str, Any]:
    with file_errors(f"{name} cannot be parsed"):
        document = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_unique)
    if type(document) is not dict:
        raise ModelFileError(f"The model file is malformed: {name} is not an object.")
    return document


def _refuse_constant(text: str) -> None:
    raise ModelFileError(f"The model file is malformed: {text} is not JSON.")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ModelFileError("The model file is malformed: a name occurs twice in a JSON object.")
    return found
