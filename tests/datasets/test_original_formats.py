"""Readers of the formats of original files, and digests of what was read."""

import gzip
import shutil
import subprocess
from functools import partial

import numpy as np
import pytest
from original_formats import small_arrays, table_text, tarred_bz2, unix_compressed

from frugalsvm.datasets import (
    _parsers,
    _unix_compress,
)
from frugalsvm.datasets._digest import digest

pytestmark = pytest.mark.usefixtures("no_settings_from_outside")


class TestDigest:
    def test_sees_types_shapes_names_and_values(self):
        X, y = np.arange(6, dtype=np.float32).reshape(3, 2), np.arange(3, dtype=np.int8)
        variants = [
            {"X_train": X, "y_train": y},
            {"X_train": X.astype(np.float64), "y_train": y},
            {"X_train": X.reshape(2, 3), "y_train": y},
            {"X_test": X, "y_test": y},
            {"X_train": X + 1, "y_train": y},
        ]
        assert len({digest(arrays) for arrays in variants}) == len(variants)

    def test_ignores_memory_layout_and_order_of_names(self):
        X, y = np.arange(6, dtype=np.int16).reshape(3, 2), np.arange(3, dtype=np.int8)
        other = {"y_train": y, "X_train": np.asfortranarray(X).astype(">i2")}
        assert digest({"X_train": X, "y_train": y}) == digest(other)

    def test_any_row_order_keeps_features_and_label_together(self):
        arrays = small_arrays("phoneme")
        order = np.random.default_rng(0).permutation(12)
        shuffled = {name: array[order] for name, array in arrays.items()}
        swapped = arrays | {"y_train": arrays["y_train"][order]}
        assert digest(shuffled, any_row_order=True) == digest(arrays, any_row_order=True)
        assert digest(shuffled) != digest(arrays)
        assert digest(swapped, any_row_order=True) != digest(arrays, any_row_order=True)

    def test_decimals(self):
        X, y = np.array([[0.124, -0.001]], dtype=np.float32), np.array([1], dtype=np.int8)
        near, far = {"X_train": X * 0.999, "y_train": y}, {"X_train": X + 0.01, "y_train": y}
        two = partial(digest, any_row_order=True, decimals=2)
        assert two({"X_train": X, "y_train": y}) == two(near) != two(far)


class TestUnixCompress:
    @pytest.fixture
    def text(self):
        return table_text(np.random.default_rng(0).integers(0, 60, (3000, 9)))

    @pytest.mark.parametrize("clear_every", [None, 50, 255, 256, 257, 3000])
    def test_undoes_the_encoder(self, text, clear_every):
        assert _unix_compress.decompress(unix_compressed(text, clear_every=clear_every)) == text

    def test_full_table(self):
        content = np.random.default_rng(0).integers(0, 256, 100_000, dtype=np.uint8).tobytes()
        assert _unix_compress.decompress(unix_compressed(content)) == content

    @pytest.mark.parametrize("clear_every", [None, 257, 3000])
    def test_encoder_of_these_tests_is_the_real_one(self, text, clear_every):
        if shutil.which("gzip") is None:
            pytest.skip("needs gzip, which reads such files too")
        compressed = unix_compressed(text, clear_every=clear_every)
        run = subprocess.run(["gzip", "-dc"], input=compressed, capture_output=True, check=True)
        assert run.stdout == text

    @pytest.mark.parametrize(
        "content",
        [
            b"",
            b"\x1f\x8b\x08",
            b"\x1f\x9d\x91" + b"\xff" * 20,
            b"\x1f\x9d\x9f" + b"a" * 20,
            b"\x1f\x9d\x90a\xfe\xff",
        ],
    )
    def test_refuses_damaged_files(self, content):
        with pytest.raises(ValueError, match=r"damaged|not a file|not supported"):
            _unix_compress.decompress(content)


def test_repeated_feature_with_two_values_is_an_error():
    content = tarred_bz2(train=b"1 3:0.5 3:0.25\n", test=b"")
    with pytest.raises(ValueError, match="feature 3"):
        _parsers.read_svmlight_with_duplicates({"a": content}, archive="a", train="train", test="test", n_features=3)


def test_masks_of_another_length_are_an_error():
    files = {"table.gz": gzip.compress(b"1,2\n3,4\n"), "masks.gz": gzip.compress(b"0,1\n")}
    with pytest.raises(ValueError, match=r"masks.gz has 1 rows, table.gz has 2"):
        _parsers.read_masked_table(files, table="table.gz", masks="masks.gz")


def test_classes_that_are_no_part_of_an_anomaly_set_are_left_out():
    parts = {"X_train": np.arange(4)[:, None], "y_train": np.array([1, 4, 7, 1])}
    parts |= {"X_test": np.arange(4, 6)[:, None], "y_test": np.array([4, 2])}
    arrays = _parsers.as_anomalies({}, read=lambda files: parts, anomalies=(2, 7), without=(4,))
    assert sorted(arrays) == ["X_train", "y_train"]
    assert arrays["X_train"].ravel().tolist() == [0, 2, 3, 5]
    assert arrays["y_train"].tolist() == [0, 1, 0, 1]
