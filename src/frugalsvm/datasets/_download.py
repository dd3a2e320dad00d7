"""Getting the files of a data set from the network."""

import hashlib
import logging
from collections.abc import Iterable
from typing import Any, Self

logger = logging.getLogger(__name__)

_TIMEOUT_SECONDS = 60
_CHUNK_BYTES = 2**20


class DatasetUnavailableError(OSError):
    """The data set is neither on this machine nor could it be downloaded."""

    dataset: str | None = None  # its name

    def of(self, dataset: str) -> Self:
        """The same error with the name of the data set."""
        self.dataset = dataset
        return self


class DatasetMismatchError(ValueError):
    """The contents of a data set are not the expected ones."""


def download(urls: Iterable[str], max_bytes: int, sha256: str | None = None) -> bytes:
    """Return the content of the first address that answers with the right file.

    No more than ``max_bytes`` are read: what is larger is not the file. Raises DatasetMismatchError if addresses
    answer, but none with the right file, and DatasetUnavailableError, with the reasons, if none answers.
    """
    reasons, mismatches = [], []
    for url in urls:
        try:
            content = _read(url, max_bytes)
            if sha256 is not None and (found := hashlib.sha256(content).hexdigest()) != sha256:
                raise DatasetMismatchError(f"the sha256 of the file should be {sha256}, but is {found}")
            return content
        except DatasetMismatchError as error:
            logger.info("another file at %s: %s", url, error)
            mismatches.append(f"{url}: {error}")
        except OSError as error:
            logger.info("no answer from %s: %s", url, error)
            reasons.append(f"{url}: {error}")
    if mismatches:
        raise DatasetMismatchError("; ".join(mismatches + reasons))
    raise DatasetUnavailableError("; ".join(reasons))


def _read(url: str, max_bytes: int) -> bytes:
    # Imported here because it costs more time than everything else in this package.
    from http.client import HTTPException
    from urllib.request import Request, urlopen

    logger.info("downloading %s", url)
    # Some servers turn away the default agent of the standard library.
    request = Request(url, headers={"User-Agent": "frugalsvm"})
    try:
        with urlopen(request, timeout=_TIMEOUT_SECONDS) as response:
            return _limited(response, max_bytes)
    except HTTPException as error:
        # Among them a connection that broke off in the middle of the file.
        raise OSError(f"{type(error).__name__}: {error}") from error


def _limited(response: Any, max_bytes: int) -> bytes:
    """Read a response piece by piece: a server may send more than it announced, or never stop."""
    from http.client import IncompleteRead

    length = response.headers.get("Content-Length") or ""
    announced = int(length) if length.isdecimal() else None
    if announced is not None and announced > max_bytes:
        raise DatasetMismatchError(f"the file has {announced} bytes, and at most {max_bytes} are expected")
    pieces, n_bytes = [], 0
    while piece := response.read(_CHUNK_BYTES):
        n_bytes += len(piece)
        if n_bytes > max_bytes:
            raise DatasetMismatchError(f"the file has more than the {max_bytes} bytes that are expected at most")
        pieces.append(piece)
    content = b"".join(pieces)
    if announced is not None and n_bytes < announced:
        raise IncompleteRead(content, announced - n_bytes)
    return content
