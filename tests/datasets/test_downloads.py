"""Downloads of the real data sets, from a server on this machine."""

import hashlib
import logging
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from local_server import BreakingHandler, EndlessHandler, serving
from original_formats import ALL_NAMES, assert_holds, original_files, write_files, zipped

from frugalsvm.datasets import (
    DatasetMismatchError,
    DatasetUnavailableError,
    _parsers,
    fetch,
)
from frugalsvm.datasets._digest import digest
from frugalsvm.datasets._sources import SOURCES

pytestmark = pytest.mark.usefixtures("no_settings_from_outside")


def parse_nothing(files):
    raise AssertionError("parsed")


class TestDownload:
    @pytest.mark.parametrize("name", ALL_NAMES)
    def test_reads_the_format_of_the_source_and_keeps_the_result(self, name, mirror, small, tmp_path):
        address, folder = mirror
        arrays = small(name)
        files = original_files(name, arrays)
        assert set(files) == set(SOURCES[name].urls)
        write_files(folder, files)
        home = tmp_path / "new" / "home"

        data = fetch(name, data_home=home, mirror=address)
        assert_holds(data, arrays)
        assert [path.name for path in home.iterdir()] == [f"{name}.npz"]
        with np.load(home / f"{name}.npz") as kept:
            assert {key: kept[key].dtype for key in kept} == {key: array.dtype for key, array in arrays.items()}

        # The second time it comes from the folder.
        shutil.rmtree(folder)
        assert_holds(fetch(name, data_home=home, download=False), arrays)

    def test_all_files_of_a_set_may_be_on_disk(self, small, tmp_path):
        arrays = small("usps")
        write_files(tmp_path, original_files("usps", arrays))
        data = fetch("usps", data_home=tmp_path / "home", mirror=tmp_path.as_uri())
        assert_holds(data, arrays)

    def test_second_address_stands_in_for_the_first(self, mirror, small, tmp_path, closed_port, monkeypatch, caplog):
        address, folder = mirror
        arrays = small("dna")
        write_files(folder, original_files("dna", arrays))
        source = SOURCES["dna"]
        urls = {name: (f"{closed_port}/{name}", f"{address}/{name}") for name in source.urls}
        monkeypatch.setitem(SOURCES, "dna", replace(source, urls=urls))
        with caplog.at_level(logging.INFO, logger="frugalsvm"):
            assert_holds(fetch("dna", data_home=tmp_path), arrays)
        assert f"no answer from {closed_port}/dna.scale" in caplog.text

    def test_other_contents_are_refused_and_not_kept(self, mirror, small, tmp_path):
        address, folder = mirror
        arrays = small("satimage")
        expected = SOURCES["satimage"].sha256
        changed = arrays | {"X_test": arrays["X_test"] + 1}
        write_files(folder, original_files("satimage", changed))
        with pytest.raises(DatasetMismatchError) as info:
            fetch("satimage", data_home=tmp_path / "home", mirror=address)
        message = str(info.value)
        assert "statlog+landsat+satellite.zip" in message
        assert expected in message
        assert digest(changed) in message
        assert not list(tmp_path.glob("home/*"))

    @pytest.mark.parametrize("name", ALL_NAMES)
    def test_page_instead_of_the_file(self, name, mirror, tmp_path):
        address, folder = mirror
        write_files(folder, dict.fromkeys(SOURCES[name].urls, b"<html>The file has moved.</html>"))
        why = "sha256 of the file should be" if SOURCES[name].file_sha256 else "could not be read"
        with pytest.raises(DatasetMismatchError, match=why):
            fetch(name, data_home=tmp_path / "home", mirror=address)
        assert not list(tmp_path.glob("home/*"))

    @pytest.mark.parametrize("name", ["shuttle", "letter"])
    def test_archive_without_the_member(self, name, mirror, tmp_path):
        address, folder = mirror
        write_files(folder, dict.fromkeys(SOURCES[name].urls, zipped(Index=b"nothing here")))
        with pytest.raises(DatasetMismatchError, match="only: Index"):
            fetch(name, data_home=tmp_path, mirror=address)

    def test_connection_that_breaks_off(self, tmp_path):
        server, address = serving(BreakingHandler)
        try:
            with pytest.raises(DatasetUnavailableError, match="IncompleteRead"):
                fetch("a9a", data_home=tmp_path / "home", mirror=address)
        finally:
            server.shutdown()
            server.server_close()
        assert not list(tmp_path.glob("home/*"))

    @pytest.mark.parametrize("announces", [True, False])
    def test_files_that_are_too_large_are_not_read(self, announces, small, tmp_path, monkeypatch):
        small("a9a")
        monkeypatch.setitem(SOURCES, "a9a", replace(SOURCES["a9a"], max_bytes=10_000, parse=parse_nothing))
        server, address = serving(partial(EndlessHandler, announces))
        try:
            with pytest.raises(DatasetMismatchError, match=r"a9a: the file has .* 10000 (bytes )?(that )?are expected"):
                fetch("a9a", data_home=tmp_path / "home", mirror=address)
        finally:
            server.shutdown()
            server.server_close()

    @pytest.mark.parametrize(
        "name", ["ad_http", "covtype", "ijcnn1", "mnist", "pol", "shuttle", "reuters_money_fx", "usps"]
    )
    def test_decompressing_is_limited(self, name, mirror, small, tmp_path, monkeypatch):
        address, folder = mirror
        write_files(folder, original_files(name, small(name)))
        monkeypatch.setattr(_parsers, "MAX_BYTES", 100)
        with pytest.raises(DatasetMismatchError, match="decompressed, the file has more than 100 bytes"):
            fetch(name, data_home=tmp_path / "home", mirror=address)

    def test_known_digests_are_checked_before_parsing(self, mirror, small, tmp_path, monkeypatch):
        address, folder = mirror
        arrays = small("usps")
        files = original_files("usps", arrays)
        sums = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
        monkeypatch.setitem(SOURCES, "usps", replace(SOURCES["usps"], file_sha256=sums))
        write_files(folder, files)
        assert_holds(fetch("usps", data_home=tmp_path / "home", mirror=address), arrays)
        write_files(folder, {"zip.test.gz": files["zip.train.gz"]})
        monkeypatch.setitem(SOURCES, "usps", replace(SOURCES["usps"], parse=parse_nothing))
        with pytest.raises(DatasetMismatchError, match=f"sha256 of the file should be {sums['zip.test.gz']}"):
            fetch("usps", data_home=tmp_path / "other", mirror=address)

    def test_missing_file_on_the_server(self, mirror, tmp_path):
        with pytest.raises(DatasetUnavailableError, match="404"):
            fetch("a9a", data_home=tmp_path, mirror=mirror[0])

    def test_no_network_says_what_to_do(self, tmp_path, closed_port):
        with pytest.raises(DatasetUnavailableError) as info:
            fetch("a9a", data_home=tmp_path, mirror=closed_port)
        for hint in ("a9a.npz", str(tmp_path), "FRUGALSVM_DATA", "a9a.t", "file:///"):
            assert hint in str(info.value)

    def test_forbidden(self, tmp_path, no_network):
        with pytest.raises(DatasetUnavailableError, match="download=False"):
            fetch("a9a", data_home=tmp_path, download=False)

    def test_unfinished_files_disappear(self, mirror, small, tmp_path, monkeypatch):
        address, folder = mirror
        write_files(folder, original_files("phoneme", small("phoneme")))

        def full_disk(file, **arrays):
            Path(file).write_bytes(b"half")
            raise OSError("no space left")

        monkeypatch.setattr(np, "savez_compressed", full_disk)
        with pytest.raises(OSError, match="no space left"):
            fetch("phoneme", data_home=tmp_path / "home", mirror=address)
        assert not list(tmp_path.glob("home/*"))
