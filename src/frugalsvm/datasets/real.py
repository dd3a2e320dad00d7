"""Real data sets by name: from a folder on this machine, or downloaded once and kept there."""

import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import DTypeLike, NDArray

from frugalsvm.datasets._digest import digest
from frugalsvm.datasets._download import DatasetMismatchError, DatasetUnavailableError
from frugalsvm.datasets._download import download as _download
from frugalsvm.datasets._sources import SOURCES, Source

if TYPE_CHECKING:
    from sklearn.utils import Bunch


Arrays = dict[str, NDArray]

_ENVIRONMENT_VARIABLE = "FRUGALSVM_DATA"
_SPLITS = ("train", "test")


def list_datasets() -> list[str]:
    """Name the data sets that `fetch` knows.

    Returns
    -------
    names : list of str
        Sorted names.

    Examples
    --------
    >>> from frugalsvm.datasets import list_datasets
    >>> list_datasets()[:4]
    ['a9a', 'ad_http', 'ad_mammography', 'ad_satellite']
    """
    return sorted(SOURCES)


def get_data_home(data_home: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder in which data sets are looked for and kept.

    Parameters
    ----------
    data_home : path-like or None, default=None
        A folder of your choice. None stands for the folder that the environment variable ``FRUGALSVM_DATA``
        names or, without it, for the cache folder of the operating system (``$XDG_CACHE_HOME/frugalsvm`` or
        ``~/.cache/frugalsvm`` on Linux).

    Returns
    -------
    folder : pathlib.Path
        The folder, which need not exist.

    Examples
    --------
    >>> from frugalsvm.datasets import get_data_home
    >>> get_data_home("my_data").name
    'my_data'
    """
    chosen = data_home or os.environ.get(_ENVIRONMENT_VARIABLE)
    return Path(chosen).expanduser() if chosen else _cache_folder()


def fetch(
    name: str,
    *,
    data_home: str | os.PathLike[str] | None = None,
    download: bool = True,
    mirror: str | None = None,
    dtype: DTypeLike | None = np.float32,
) -> "Bunch":
    """Get a real data set, from this machine if it is there, else from its public source.

    The set is looked for as ``<name>.npz`` in the folder given by `get_data_home`. If it is not there, the
    original files are downloaded, converted, and kept in that folder under that name. In both cases the
    sha256 of the arrays is compared with the known one, so that everybody works on the same examples. No more
    than 64 MB of an original file are read, and 512 MB of what it decompresses to.

    Parameters
    ----------
    name : str
        One of `list_datasets`.
    data_home : path-like or None, default=None
        Folder of the data sets, see `get_data_home`.
    download : bool, default=True
        Whether the network may be used.
    mirror : str or None, default=None
        Address of a folder that holds the original files, to be used instead of their public addresses. With
        ``file://`` it can be a folder on disk, for a machine without network.
    dtype : {numpy.float32, numpy.float64} or None, default=numpy.float32
        Type of the features; single precision holds every value of these sets exactly. None keeps the type of
        the file, often a small integer type: less memory, but arithmetic on it overflows without warning.

    Returns
    -------
    data : `sklearn.utils.Bunch`
        With the attributes

        X_train, X_test : {ndarray, CSR matrix} of shape (n_samples, n_features)
            Features. Unscaled, in the order of the source. ``X_test`` only if the set has a standard split.
        y_train, y_test : ndarray of shape (n_samples,), int64 or float64
            Labels, as whole numbers; of a set for regression, the target, as real numbers.
        name, DESCR : str
            Name and description, with source and license.
        filename : str
            The file that was read.

    Raises
    ------
    DatasetUnavailableError
        If the set is not on this machine and cannot be downloaded. The message says where to put it by hand.
    DatasetMismatchError
        If the file on this machine, or the files of the source, have other contents than expected. Nothing is
        kept then.

    See Also
    --------
    load : The same as a pair ``X, y``.

    Notes
    -----
    A file in the folder is a numpy archive with the arrays ``X_train`` and ``y_train`` and, if the set has a
    standard split, ``X_test`` and ``y_test``. Sparse features are stored as the four arrays ``X_train_data``,
    ``X_train_indices``, ``X_train_indptr`` and ``X_train_shape``, likewise for the test examples.

    The sets for regression are elevators, kin40k, pol and protein, split as in the public copy that they come from,
    since the originals have no standard split; those for anomaly detection, with label 1 for anomalies, start
    with ``ad_``.

    The public addresses could not be tried when they were written down: only for shuttle, ad_shuttle and phoneme
    is it known that the files of the source give exactly the expected arrays. A source that has moved or changed
    leads to one of the errors above, never to wrong data.

    Examples
    --------
    >>> from frugalsvm.datasets import fetch
    >>> fetch("a9a").X_train.shape  # doctest: +SKIP
    (32561, 123)
    >>> fetch("a10a")
    Traceback (most recent call last):
        ...
    ValueError: unknown data set 'a10a'; choose one of: a9a, ad_http, ...
    """
    from sklearn.utils import Bunch

    source = _source(name, mirror)
    path = get_data_home(data_home) / f"{name}.npz"
    if path.is_file():
        arrays = _read_file(path)
        _verify(arrays, source, path)
    elif download:
        arrays = _download_to(path, source)
    else:
        raise DatasetUnavailableError(f"{path} does not exist, and download=False. {_advice(path, source)}").of(name)
    parts: dict[str, Any] = {}
    for split in _splits_of(arrays):
        parts[f"X_{split}"] = _features(arrays, split, dtype)
        parts[f"y_{split}"] = _target(arrays[f"y_{split}"])
    return Bunch(**parts, name=name, DESCR=_describe(name, arrays), filename=str(path))


def load(
    name: str,
    split: Literal["all", "train", "test"] = "all",
    *,
    data_home: str | os.PathLike[str] | None = None,
    download: bool = True,
    mirror: str | None = None,
    dtype: DTypeLike | None = np.float32,
) -> tuple[Any, NDArray]:
    """Get the examples of a real data set as a pair ``X, y``.

    Parameters
    ----------
    name : str
        One of `list_datasets`.
    split : {"all", "train", "test"}, default="all"
        Which examples. ``"all"`` puts the test examples after the training examples. A set without a standard
        split has training examples only.
    data_home, download, mirror, dtype
        As in `fetch`.

    Returns
    -------
    X : {ndarray, CSR matrix} of shape (n_samples, n_features)
        Features.
    y : ndarray of shape (n_samples,), int64 or float64
        Labels, or the target of a set for regression.

    Examples
    --------
    >>> from frugalsvm.datasets import load
    >>> X, y = load("usps", "test")  # doctest: +SKIP
    >>> X.shape  # doctest: +SKIP
    (2007, 256)
    """
    if split not in ("all", *_SPLITS):
        raise ValueError(f"split must be 'all', 'train' or 'test', got {split!r}")
    data = fetch(name, data_home=data_home, download=download, mirror=mirror, dtype=dtype)
    if split == "test" and "X_test" not in data:
        raise ValueError(f"the data set {name!r} has no test examples")
    if split == "all" and "X_test" in data:
        return _stacked(data.X_train, data.X_test), np.concatenate([data.y_train, data.y_test])
    chosen = "train" if split == "all" else split
    return data[f"X_{chosen}"], data[f"y_{chosen}"]


def _source(name: str, mirror: str | None) -> Source:
    if name not in SOURCES:
        raise ValueError(f"unknown data set {name!r}; choose one of: {', '.join(list_datasets())}")
    return SOURCES[name] if mirror is None else SOURCES[name].served_from(mirror)


def _cache_folder() -> Path:
    if sys.platform == "win32":
        parent = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        parent = "~/Library/Caches"
    else:
        parent = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(parent).expanduser() / "frugalsvm"


def _read_file(path: Path) -> Arrays:
    # A damaged archive can fail in many ways, and none of their messages names the file.
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {key: archive[key] for key in archive.files}
    except Exception as error:
        raise DatasetMismatchError(f"{path} is not a readable numpy archive: {error}") from error


def _verify(arrays: Mapping[str, NDArray], source: Source, origin: object) -> None:
    found = digest(arrays, any_row_order=source.any_row_order, decimals=source.decimals)
    if found != source.sha256:
        raise DatasetMismatchError(
            f"{origin} has unexpected contents: the sha256 of its arrays should be {source.sha256}, but is {found}"
        )


def _download_to(path: Path, source: Source) -> Arrays:
    try:
        files = {
            name: _download(urls, source.max_bytes, source.file_sha256.get(name)) for name, urls in source.urls.items()
        }
    except DatasetUnavailableError as error:
        words = f"could not download {path.stem}: {error}. {_advice(path, source)}"
        raise DatasetUnavailableError(words).of(path.stem) from error
    origin = " and ".join(urls[0] for urls in source.urls.values())
    # Any exception: a server may answer with anything, such as a page saying that the file has moved.
    try:
        arrays = source.parse(files)
    except Exception as error:
        raise DatasetMismatchError(f"{origin} could not be read: {type(error).__name__}: {error}") from error
    _verify(arrays, source, origin)
    _write_file(path, arrays)
    return arrays


def _write_file(path: Path, arrays: Arrays) -> None:
    """Write arrays so that other processes see the whole file or none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.stem}-") as folder:
        unfinished = Path(folder) / path.name
        np.savez_compressed(unfinished, **arrays)  # type: ignore[arg-type]
        unfinished.replace(path)


def _advice(path: Path, source: Source) -> str:
    return (
        f"You can put {path.name} into {path.parent} by hand, or name the folder that holds it by data_home "
        f"or the environment variable {_ENVIRONMENT_VARIABLE}. Or put the original files "
        f"({', '.join(source.urls)}) into a folder and give it as mirror='file:///...'."
    )


def _splits_of(arrays: Mapping[str, NDArray]) -> list[str]:
    return [split for split in _SPLITS if f"y_{split}" in arrays]


def _features(arrays: Mapping[str, NDArray], split: str, dtype: DTypeLike | None) -> Any:
    if f"X_{split}" in arrays:
        X: Any = arrays[f"X_{split}"]
    else:
        from scipy.sparse import csr_matrix

        parts = tuple(arrays[f"X_{split}_{part}"] for part in ("data", "indices", "indptr"))
        X = csr_matrix(parts, shape=tuple(arrays[f"X_{split}_shape"].tolist()))
    return X if dtype is None else X.astype(dtype, copy=False)


def _target(stored: NDArray) -> NDArray:
    """Classes as whole numbers in which sums do not overflow, targets of regression as they are."""
    return stored if stored.dtype.kind == "f" else stored.astype(np.int64)


def _stacked(X_train: Any, X_test: Any) -> Any:
    if isinstance(X_train, np.ndarray):
        return np.concatenate([X_train, X_test])
    from scipy.sparse import vstack

    return vstack([X_train, X_test], format="csr")


def _describe(name: str, arrays: Mapping[str, NDArray]) -> str:
    source = SOURCES[name]
    n_rows = ", ".join(f"{len(arrays[f'y_{split}'])} {split}" for split in _splits_of(arrays))
    addresses = "\n".join(f"    {url}" for urls in source.urls.values() for url in urls)
    return (
        f"{name}: {source.title}\n\n"
        f"Examples: {n_rows}\n{source.remark}\n"
        f"License: {source.license}\n"
        f"Source:\n{addresses}\n"
    )
