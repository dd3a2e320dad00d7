"""Getting the files of a data set from the network."""

from __future__ import annotations

import logging
from collections.abc import Iterable

logger = logging.getLogger(__name__)

_TIMEOUT_SECONDS = 60


class DatasetUnavailableError(OSError):
    """The data set is neither on this machine nor could it be downloaded."""


class DatasetMismatchError(ValueError):
    """The contents of a data set are not the expected ones."""


def download(urls: Iterable[str]) -> bytes:
    """Return the content of the first address that answers.

    Parameters
    ----------
    urls : iterable of str
        Addresses of the same file.

    Returns
    -------
    content : bytes
        The whole file.

    Raises
    ------
    DatasetUnavailableError
        If no address answers; the message gives the reason for each.
    """
    reasons = []
    for url in urls:
        try:
            return _read(url)
        except OSError as error:
            logger.info("no answer from %s: %s", url, error)
            reasons.append(f"{url}: {error}")
    raise DatasetUnavailableError("; ".join(reasons))


def _read(url: str) -> bytes:
    # Imported here because it costs more time than everything else in this package.
    from http.client import HTTPException
    from urllib.request import Request, urlopen

    logger.info("downloading %s", url)
    # Some servers turn away the default agent of the standard library.
    request = Request(url, headers={"User-Agent": "frugalsvm"})
    try:
        with urlopen(request, timeout=_TIMEOUT_SECONDS) as response:
            return response.read()
    except HTTPException as error:
        # Among them a connection that broke off in the middle of the file.
        raise OSError(f"{type(error).__name__}: {error}") from error
