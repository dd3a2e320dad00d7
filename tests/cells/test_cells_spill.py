"""Rows on disk come back part by part, in the order in which they came, and nothing is left behind."""

import numpy as np
import pytest

from frugalsvm.cells.spill import Spill, check_space


def spilled(rows, parts, n_buffered, folder, step=97):
    spill = Spill(5, rows.shape[1], rows.dtype, n_buffered, folder)
    for start in range(0, len(rows), step):
        spill.add(rows[start : start + step], parts[start : start + step])
    spill.finish()
    return spill


@pytest.mark.parametrize("n_buffered", [1, 64, 100, 1000, 5000])
def test_rows_by_part_in_their_order(tmp_path, n_buffered):
    rng = np.random.default_rng(0)
    rows, parts = rng.normal(size=(1000, 3)).astype(np.float32), rng.choice([0, 1, 2, 4], size=1000)
    with spilled(rows, parts, n_buffered, tmp_path) as spill:
        for part in range(5):
            np.testing.assert_array_equal(spill.part(part), rows[parts == part])
        mapped = spill.mapped(tmp_path)
    assert list(tmp_path.iterdir()) == []
    np.testing.assert_array_equal(mapped, rows[np.argsort(parts, kind="stable")])
    assert type(mapped) is np.ndarray


def test_files_are_gone_after_an_error(tmp_path):
    rows, parts = np.ones((300, 2)), np.zeros(300, np.int64)
    with pytest.raises(KeyboardInterrupt), spilled(rows, parts, 100, tmp_path):
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_refused_before(tmp_path):
    check_space(1, None)
    with pytest.raises(ValueError, match="pass another folder"):
        check_space(2**60, tmp_path)
