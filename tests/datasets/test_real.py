"""The real data sets: files of the data folder, read and verified."""

import hashlib
import sys

import numpy as np
import pytest
import scipy.io
import scipy.sparse
from original_formats import (
    ALL_NAMES,
    FACTS,
    LARGE,
    SPLITS,
    assert_holds,
    class_last,
    data_section,
    original_files,
    small_arrays,
    table_text,
    write_files,
)

from frugalsvm.datasets import (
    DatasetMismatchError,
    fetch,
    get_data_home,
    list_datasets,
    load,
)
from frugalsvm.datasets._digest import digest
from frugalsvm.datasets._sources import SOURCES

pytestmark = pytest.mark.usefixtures("no_settings_from_outside")


def test_names():
    assert list_datasets() == ALL_NAMES


class TestFile:
    @pytest.fixture
    def home(self, tmp_path, small, no_network):
        for name in ("letter", "elec2", "reuters_money_fx"):
            np.savez(tmp_path / f"{name}.npz", **small(name))
        return tmp_path

    def test_environment_variable_names_the_folder(self, home, monkeypatch):
        monkeypatch.setenv("FRUGALSVM_DATA", str(home))
        data = fetch("elec2")
        assert data.filename == str(home / "elec2.npz")
        assert data.name == "elec2"
        assert "Harries" in data.DESCR
        assert "12 train" in data.DESCR

    def test_argument_wins_over_environment_variable(self, home, monkeypatch, tmp_path):
        monkeypatch.setenv("FRUGALSVM_DATA", str(tmp_path / "elsewhere"))
        assert len(fetch("elec2", data_home=home).y_train) == 12

    def test_types(self, home):
        data = fetch("letter", data_home=home)
        assert data.X_train.dtype == data.X_test.dtype == np.float32
        assert data.y_train.dtype == data.y_test.dtype == np.int64
        assert fetch("letter", data_home=home, dtype=np.float64).X_train.dtype == np.float64
        assert fetch("letter", data_home=home, dtype=None).X_train.dtype == np.uint8
        assert fetch("reuters_money_fx", data_home=home, dtype=np.float64).X_train.dtype == np.float64

    def test_targets_of_regression_stay_real_numbers(self, small, tmp_path):
        arrays = small("pol")
        np.savez(tmp_path / "pol.npz", **arrays)
        for split in SPLITS:
            _, y = load("pol", split, data_home=tmp_path)
            assert y.dtype == np.float64
            np.testing.assert_array_equal(y, arrays[f"y_{split}"])

    def test_sparse_features(self, home):
        data = fetch("reuters_money_fx", data_home=home)
        assert scipy.sparse.issparse(data.X_train)
        assert data.X_train.format == "csr"
        assert data.X_train.has_canonical_format
        assert data.X_test.shape == (7, 8315)

    @pytest.mark.parametrize("name", ["letter", "reuters_money_fx"])
    def test_load_picks_a_split(self, home, name):
        data = fetch(name, data_home=home)
        X, y = load(name, data_home=home)
        assert X.shape == (19, data.X_train.shape[1])
        assert (X[:12] != data.X_train).sum() == 0
        assert (X[12:] != data.X_test).sum() == 0
        np.testing.assert_array_equal(y, np.concatenate([data.y_train, data.y_test]))
        assert load(name, "train", data_home=home)[0].shape[0] == 12
        assert load(name, "test", data_home=home)[0].shape[0] == 7

    def test_load_without_a_split(self, home):
        assert len(load("elec2", data_home=home)[1]) == 12
        assert len(load("elec2", "train", data_home=home)[1]) == 12
        with pytest.raises(ValueError, match="no test examples"):
            load("elec2", "test", data_home=home)

    def test_unknown_split(self, home):
        with pytest.raises(ValueError, match="split"):
            load("elec2", "validation", data_home=home)

    def test_unknown_name(self):
        with pytest.raises(ValueError, match="choose one of: a9a"):
            fetch("iris")

    def test_wrong_contents(self, home):
        path = home / "elec2.npz"
        arrays = small_arrays("elec2")
        np.savez(path, **(arrays | {"y_train": 1 - arrays["y_train"]}))
        with pytest.raises(DatasetMismatchError) as info:
            fetch("elec2", data_home=home)
        assert str(path) in str(info.value)
        assert SOURCES["elec2"].sha256 in str(info.value)
        assert path.exists()

    def test_damaged_file(self, home):
        (home / "elec2.npz").write_bytes(b"PK\x03\x04 damaged")
        with pytest.raises(DatasetMismatchError, match=r"elec2\.npz"):
            fetch("elec2", data_home=home)

    def test_pickles_are_not_opened(self, home):
        np.savez(home / "elec2.npz", X_train=np.array([{}], dtype=object))
        with pytest.raises(DatasetMismatchError, match="pickle"):
            fetch("elec2", data_home=home)


class TestDataHome:
    def test_follows_the_operating_system(self, monkeypatch, tmp_path):
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
        monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
        monkeypatch.setattr(sys, "platform", "linux")
        assert get_data_home() == tmp_path / "xdg" / "frugalsvm"
        monkeypatch.delenv("XDG_CACHE_HOME")
        assert get_data_home() == tmp_path / ".cache" / "frugalsvm"
        monkeypatch.setattr(sys, "platform", "darwin")
        assert get_data_home() == tmp_path / "Library" / "Caches" / "frugalsvm"
        monkeypatch.setattr(sys, "platform", "win32")
        assert get_data_home() == tmp_path / "local" / "frugalsvm"

    def test_choices(self, monkeypatch, tmp_path):
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.setenv("FRUGALSVM_DATA", "~/data")
        assert get_data_home() == tmp_path / "data"
        assert get_data_home("~/other") == tmp_path / "other"


def skip_without(folder, name):
    if not (folder / f"{name}.npz").exists():
        pytest.skip(f"{name} is not in the folder of data sets")


class TestSharedFiles:
    """The real files, where they are at hand."""

    @pytest.mark.parametrize("name", ALL_NAMES)
    def test_file_has_the_digest_of_the_table(self, name, shared_data, monkeypatch, no_network):
        skip_without(shared_data, name)
        monkeypatch.setenv("FRUGALSVM_DATA", str(shared_data))
        data = fetch(name, dtype=None)
        n_train, n_test, n_features, n_classes = FACTS[name]
        assert data.X_train.shape == (n_train, n_features)
        assert data.y_train.shape == (n_train,)
        assert len(np.unique(data.y_train)) == n_classes
        assert ("X_test" in data) == (n_test > 0)
        if n_test:
            assert data.X_test.shape == (n_test, n_features)
            assert data.y_test.shape == (n_test,)

    @pytest.mark.parametrize("name", sorted(set(ALL_NAMES) - LARGE))
    def test_comes_through_the_format_of_the_source_unchanged(self, name, shared_data, mirror, tmp_path):
        address, folder = mirror
        skip_without(shared_data, name)
        with np.load(shared_data / f"{name}.npz") as stored_arrays:
            arrays = {key: stored_arrays[key] for key in stored_arrays}
        write_files(folder, original_files(name, arrays))
        assert_holds(fetch(name, data_home=tmp_path, mirror=address), arrays)

    @pytest.mark.slow
    @pytest.mark.parametrize("name", sorted(LARGE))
    def test_large_one_comes_through_unchanged(self, name, shared_data, mirror, tmp_path):
        self.test_comes_through_the_format_of_the_source_unchanged(name, shared_data, mirror, tmp_path)

    def test_banana_digest_allows_for_the_last_digit(self, shared_data):
        with np.load(shared_data / "banana.npz") as stored_arrays:
            arrays = {key: stored_arrays[key] for key in stored_arrays}
        source = SOURCES["banana"]
        up = np.nextafter(arrays["X_train"], np.float32(np.inf))
        down = np.nextafter(arrays["X_train"], np.float32(-np.inf))
        for X in (up, down):
            found = digest(arrays | {"X_train": X}, any_row_order=True, decimals=source.decimals)
            assert found == source.sha256

    def test_original_text_of_shuttle_and_phoneme(self, shared_data):
        # Checksums that other projects publish for the files of the sources.
        def sha256(content):
            return hashlib.sha256(content).hexdigest()

        with np.load(shared_data / "shuttle.npz") as arrays:
            assert sha256(table_text(class_last(arrays, "train"))).startswith("87b24ee9fb5137e1")
            assert sha256(table_text(class_last(arrays, "test"))).startswith("f776934a628d9b94")
        with np.load(shared_data / "phoneme.npz") as arrays:
            X, y = arrays["X_train"], arrays["y_train"]
        names = ["Aa", "Ao", "Dcl", "Iy", "Sh"]
        header = ["@relation phoneme"]
        for name, low, high in zip(names, X.min(axis=0), X.max(axis=0), strict=True):
            header.append(f"@attribute {name} real [{low!s}, {high!s}]")
        header += ["@attribute Class {0, 1}", f"@inputs {', '.join(names)}", "@outputs Class"]
        text = data_section("\n".join(header), X, y.astype(str), ",").replace(b"\r", b"")
        assert sha256(text).startswith("fe7e701fc5b4a142")
