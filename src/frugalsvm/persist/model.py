"""Model files: what is in one, and how it is saved, loaded and described."""

import hashlib
import hmac
import json
import mmap as memory_maps
import os
import re
import warnings
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from itertools import chain
from platform import python_version
from typing import Any, NamedTuple

import numpy as np

from frugalsvm._locks import sharing
from frugalsvm._version import __version__
from frugalsvm.persist.archive import (
    MAX_JSON,
    Archive,
    Buffer,
    ModelFileError,
    description_of,
    file_errors,
    malformed,
    npy_pieces,
    write_archive,
)
from frugalsvm.persist.atomic import write_atomically
from frugalsvm.persist.codec import Decoder, Describer, Encoder
from frugalsvm.persist.registry import class_named
from frugalsvm.persist.savable import parameter_names, with_new_names

FORMAT_VERSION = 2  # 1: parts had the names of their modules and classes
_FORMAT_NAME = "frugalsvm model"
_ENTRIES = {"libraries", "metadata", "arrays", "model"}


class ModelInfo(NamedTuple):
    """What a model file says about itself."""

    estimator: str
    parameters: dict[str, Any]  # of the constructor, as plain values
    metadata: dict[str, Any]  # what was given to `save`
    versions: dict[str, str]  # of the libraries that wrote the file
    format_version: int
    file_bytes: int
    arrays: list[dict[str, Any]]  # dtype, shape and order of each

    @property
    def training(self) -> dict[str, Any]:
        """What `frugalsvm train` tells of its run in the metadata; nothing where others put something else there."""
        found = self.metadata.get("training")
        if not isinstance(found, dict) or not isinstance(found.get("data"), dict):
            return {}
        return found if all(isinstance(found.get(key, {}), dict) for key in ("counts", "options", "chosen")) else {}

    @property
    def array_bytes(self) -> int:
        """Bytes of all arrays."""
        return sum(np.dtype(each["dtype"]).itemsize * int(np.prod(each["shape"], dtype=float)) for each in self.arrays)


# --- saving -----------------------------------------------------------------------------------------------------


def save(
    model: Any,
    path: str | os.PathLike,
    *,
    metadata: dict[str, Any] | None = None,
    for_prediction: bool = False,
    caches: bool = False,
    keep_previous: bool = False,
) -> None:
    """Save an estimator or pipeline, fitted or not, as a model file.

    The file appears as a whole or not at all: if the disk is full or the process is killed, what was there before is
    still there. The same model gives the same file, byte by byte.

    Parameters
    ----------
    model : object
        An estimator of frugalsvm, or an object of a class that was given to `register`.
    path : str or path
        By convention it ends in ``.frugal``.
    metadata : dict, default=None
        Anything to keep with the model that is made of numbers, texts, lists and dicts, such as a training history.
    for_prediction : bool, default=False
        Whether to save only what prediction needs, such as support vectors and their coefficients: the smallest file.
        The loaded model predicts the same, and refuses to learn more rows.
    caches : bool, default=False
        Whether the caches of kernel values of `LASVMClassifier`, `TrackingSVC`, `IncrementalSVC` and `TVMClassifier`
        are saved too. They are needed to continue training bit for bit, and may take as much as ``cache_size``. A
        model that is saved without them predicts the same, and continues the same way up to rounding. `save_checkpoint`
        saves them.
    keep_previous : bool, default=False
        Whether the file that was there is kept as ``path + ".previous"``.

    Raises
    ------
    ModelFileError
        If the model has attributes that cannot be saved.
    OSError
        If the file cannot be written.
    """
    if metadata is not None and type(metadata) is not dict:
        raise ModelFileError(f"metadata must be a dict, not a {type(metadata).__name__}.")
    if for_prediction and caches:
        raise ModelFileError("caches=True is for further training: it cannot be combined with for_prediction=True.")
    with sharing(model):  # nobody learns until all is written
        encoder = Encoder(caches=caches, for_prediction=for_prediction)
        root = encoder.encode(model)
        if not isinstance(root, dict) or "object" not in root:
            raise ModelFileError(f"A model or pipeline can be saved, but not a {type(model).__name__}.")
        document = {
            "format": _FORMAT_NAME,
            "version": FORMAT_VERSION,
            "libraries": _library_versions(),
            "metadata": Encoder(may_have_arrays=False).encode(metadata or {}),
            "arrays": [description_of(array) for array in encoder.arrays],
            "model": root,
        }
        entries = _entries(_json_bytes(document), encoder.arrays)
        write_atomically(path, lambda file: write_archive(file, entries), keep_previous=keep_previous)


@cache  # reading what is installed took half of the time of a save
def _library_versions() -> dict[str, str]:
    found = {"frugalsvm": __version__, "python": python_version()}
    for name in ("numba", "numpy", "scikit-learn", "scipy"):
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def _json_bytes(document: Any) -> bytes:
    text = json.dumps(document, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode()
    if len(text) > MAX_JSON:
        raise ModelFileError(f"The model or its metadata has more than {MAX_JSON} bytes besides arrays.")
    return text


def _entries(text: bytes, arrays: list[np.ndarray]) -> Iterator[tuple[str, list[Buffer]]]:
    """The entries of the archive; the last one has the checksums of the others."""
    sums = {}
    named = ((f"arrays/{number}.npy", npy_pieces(array)) for number, array in enumerate(arrays))
    first: tuple[str, list[Buffer]] = ("model.json", [text])
    for name, pieces in chain([first], named):
        sha = hashlib.sha256()
        for piece in pieces:
            sha.update(piece)
        sums[name] = sha.hexdigest()
        yield name, pieces
    yield "manifest.json", [_json_bytes({"sha256": sums})]


# --- loading ----------------------------------------------------------------------------------------------------


def digest_of(path: str | os.PathLike) -> str:
    """The SHA-256 of a file in hexadecimal, as ``sha256sum`` prints it: for ``load(..., expected_digest=)``.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    str
    """
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def load(path: str | os.PathLike, *, mmap: bool = False, expected_digest: str | None = None) -> Any:
    """Load a model: it predicts as the saved one did, and continues to learn where that stopped.

    Nothing in the file is executed: it holds numbers, texts and the names of classes, which are looked up in a list.
    What is loaded is checked against the declared types, shapes and ranges of all attributes.

    The checksum in a file tells damage, not origin: whoever changes a file can write a new one. To load only the file
    that you mean, keep its digest apart from it and pass it as ``expected_digest``.

    Parameters
    ----------
    path : str or path
    mmap : bool, default=False
        Whether arrays stay in the file and are read when they are used, which several processes can share. Changes to
        them, if there are any, are not written to the file. The file must not be changed in place meanwhile; `save`
        never does that.
    expected_digest : str, default=None
        SHA-256 of the whole file in hexadecimal (see `digest_of`, ``frugalsvm inspect`` or ``sha256sum``). A file with
        another one is refused before anything in it is read.

    Returns
    -------
    object

    Raises
    ------
    ModelFileError
        If the file is not a model file, is damaged, is of a newer version, or does not have the expected digest.
    OSError
        If the file cannot be read.
    """
    return read_model(path, mmap=mmap, expected_digest=expected_digest)[0]


def read_model(
    path: str | os.PathLike, *, mmap: bool = False, expected_digest: str | None = None
) -> tuple[Any, dict[str, Any]]:
    """The model and the metadata of a file."""
    with open(path, "rb") as file:
        if expected_digest is not None:
            _check_digest(hashlib.file_digest(file, "sha256").hexdigest(), expected_digest)
        archive = Archive(file)
        archive.check()
        document = _document(archive, check_arrays=True)
        with file_errors("its contents do not make a model"):
            mapped = memory_maps.mmap(file.fileno(), 0, access=memory_maps.ACCESS_COPY) if mmap else None
            arrays = _read_arrays(archive, document, mapped)
            model, metadata = Decoder(arrays).decode(document["model"]), _metadata(document)
    _warn_of_versions(model, document["libraries"])
    return model, metadata


def _check_digest(found: str, expected: str) -> None:
    if not isinstance(expected, str) or not re.fullmatch("[0-9a-f]{64}", expected.strip().lower()):
        raise ModelFileError(f"expected_digest must be 64 hexadecimal digits, not {str(expected)[:80]!r}.")
    if not hmac.compare_digest(found, expected.strip().lower()):
        raise ModelFileError(f"The model file is not the expected one: its SHA-256 is {found}.")


def _warn_of_versions(model: Any, libraries: Any) -> None:
    """Attributes of scikit-learn's own classes may mean something else in another version."""
    saved = libraries.get("scikit-learn") if isinstance(libraries, dict) else None
    here = version("scikit-learn")
    if type(model).__module__.startswith("sklearn.") and str(saved).split(".")[:2] != here.split(".")[:2]:
        versions = f"scikit-learn {str(saved)[:20]} and is loaded with {here}"
        message = f"The pipeline was saved with {versions}: its steps may behave differently."
        warnings.warn(message, UserWarning, stacklevel=3)


def _read_arrays(archive: Archive, document: dict[str, Any], mapped: memory_maps.mmap | None) -> list[np.ndarray]:
    names = [f"arrays/{number}.npy" for number in range(len(document["arrays"]))]
    if set(archive.entries) != {"manifest.json", "model.json", *names}:
        raise malformed("its arrays are not those that the model refers to")
    return [archive.array(name, each, mapped) for name, each in zip(names, document["arrays"], strict=True)]


def _metadata(document: dict[str, Any]) -> dict[str, Any]:
    metadata = Decoder([]).decode(document["metadata"])
    if type(metadata) is not dict:
        raise malformed("its metadata is not a dict")
    return metadata


def _document(archive: Archive, *, check_arrays: bool = False) -> dict[str, Any]:
    """The contents of ``model.json``, after comparing checksums: its own, and those of the arrays if wanted."""
    sums = _parsed(archive.text("manifest.json"), "manifest.json").get("sha256")
    text = archive.text("model.json")
    if not isinstance(sums, dict) or set(sums) != set(archive.entries) - {"manifest.json"}:
        raise malformed("its manifest does not list its entries")
    for name in archive.entries if check_arrays else ["model.json"]:
        if name != "manifest.json" and sums[name] != archive.digest(name):
            raise ModelFileError(f"The model file is damaged: the checksum of {name} is wrong.")
    document = _parsed(text, "model.json")
    if document.get("format") != _FORMAT_NAME or type(document.get("version")) is not int or document["version"] < 1:
        raise ModelFileError("This is not a frugalsvm model file: model.json does not say so.")
    if document["version"] > FORMAT_VERSION:
        raise ModelFileError(
            f"The model file has version {document['version']}, and this frugalsvm ({__version__}) reads versions up "
            f"to {FORMAT_VERSION}: it was written by a newer one."
        )
    unknown = sorted(set(document) - {"format", "version", *_ENTRIES})
    if unknown:
        name = unknown[0][:40]
        raise ModelFileError(f"The model file has {name!r}, which this frugalsvm ({__version__}) cannot read.")
    missing = _ENTRIES - set(document)
    if missing or not isinstance(document["arrays"], list):
        raise malformed(f"model.json lacks {sorted(missing) or 'its arrays'}")
    return document


def _parsed(text: bytes, name: str) -> dict[str, Any]:
    with file_errors(f"{name} cannot be parsed"):
        document = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_unique)
    if type(document) is not dict:
        raise malformed(f"{name} is not an object")
    return document


def _refuse_constant(text: str) -> None:
    raise malformed(f"{text} is not JSON")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise malformed("a name occurs twice in a JSON object")
    return found


# --- describing -------------------------------------------------------------------------------------------------


def describe(path: str | os.PathLike) -> ModelInfo:
    """Tell what is in a model file, without loading its arrays.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    ModelInfo
        Name of the estimator, its parameters, metadata, versions of libraries and sizes.

    Raises
    ------
    ModelFileError
        If the file is not a model file, or what describes it is damaged; arrays are not checked.
    """
    with open(path, "rb") as file:
        archive = Archive(file)
        document = _document(archive)
    with file_errors("it does not describe a model"):
        root = document["model"]
        name, cls = root["object"], class_named(root["object"]).cls
        state = with_new_names(cls, root["state"])
        parameters = parameter_names(cls) or [key for key in state if not key.startswith("_")]
        arrays = [f"<array of {each['dtype']}, shape {tuple(each['shape'])}>" for each in document["arrays"]]
        in_short = Describer(arrays).decode
        return ModelInfo(
            estimator=name,
            parameters={key: in_short(state[key]) for key in parameters if key in state},
            metadata=_metadata(document),
            versions={str(key): str(value) for key, value in document["libraries"].items()},
            format_version=document["version"],
            file_bytes=archive.n_bytes,
            arrays=document["arrays"],
        )
