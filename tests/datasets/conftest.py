"""What tests of the real data sets share: a server on this machine, and small data sets in place of real ones."""

import socket
from dataclasses import replace
from functools import partial

import pytest
from local_server import QuietHandler, serving
from original_formats import small_arrays

from frugalsvm.datasets._digest import digest
from frugalsvm.datasets._sources import SOURCES


@pytest.fixture
def no_settings_from_outside(monkeypatch):
    monkeypatch.delenv("FRUGALSVM_DATA", raising=False)
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.fixture
def mirror(tmp_path):
    """Serve a folder; yields the address and the folder."""
    folder = tmp_path / "served"
    folder.mkdir()
    server, address = serving(partial(QuietHandler, directory=folder))
    yield address, folder
    server.shutdown()
    server.server_close()


@pytest.fixture
def closed_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}"


@pytest.fixture
def no_network(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("the network was used")

    monkeypatch.setattr("urllib.request.urlopen", refuse)


@pytest.fixture
def small(monkeypatch):
    """Make the table expect the small version of a data set; returns its arrays."""

    def expect(name):
        arrays = small_arrays(name)
        source = SOURCES[name]
        sha256 = digest(arrays, any_row_order=source.any_row_order, decimals=source.decimals)
        parse = source.parse
        if name == "letter":
            parse = partial(parse, n_train=len(arrays["y_train"]))
        monkeypatch.setitem(SOURCES, name, replace(source, sha256=sha256, parse=parse, file_sha256={}))
        return arrays

    return expect
