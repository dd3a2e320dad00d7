"""Distinct labels of many rows, and which of them are classes."""

import numpy as np
import pytest

from frugalsvm.estimators.labels import classes_in, distinct_labels

CODES = np.random.default_rng(0).integers(5, size=10_000)
TEXT = np.array(["red", "green", "blue", "a long name", ""])


@pytest.mark.parametrize(
    "y",
    [
        CODES, CODES.astype(np.int8) - 3, CODES > 2, CODES.astype(np.float32), TEXT[CODES], TEXT.astype(object)[CODES],
        np.sort(TEXT[CODES]), TEXT[CODES[:3]], np.where(np.arange(10_000) == 77, "rare", TEXT[CODES]),
        np.arange(10_000).astype(str),
    ],
)  # fmt: skip
def test_distinct_labels_are_those_of_numpy(y):
    expected = np.unique(y)
    for found in (distinct_labels(y), classes_in(np.concatenate([y, y, y]))):
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == expected.dtype


@pytest.mark.parametrize(
    ("labels", "error", "words"),
    [
        ([0.0, 1.0, 0.5], ValueError, "continuous"),
        ([0.0, 1.0, np.nan], ValueError, "NaN"),
        (np.array([1, "a"] * 20, object), ValueError, "y has text and other labels, such as 'a' and 1"),
        (np.array(["a", 1] * 20, object), ValueError, "y has text and other labels, such as 'a' and 1"),
        (
            np.array([0, 1] * 20, object),
            ValueError,
            "Unknown label type: y has whole numbers as objects, such as 0: pass",
        ),
        (np.array(["a", None, "b", np.nan], object), ValueError, "2 labels are missing, the first in row 1"),
        (np.array([np.nan, "a"], object), ValueError, "1 label is missing, the first in row 0"),
        (np.array([True, False, None], object), ValueError, "1 label is missing, the first in row 2"),
        (np.array([{}, {}], object), ValueError, "unknown"),
        (np.array([b"a", b"b"] * 20), TypeError, "bytes"),
    ],
)
def test_what_is_no_class_is_refused(labels, error, words):
    with pytest.raises(error, match=words):
        classes_in(np.asarray(labels))


def test_scikit_learn_warns_of_labels_that_are_nearly_all_different():
    with pytest.warns(UserWarning, match="greater than 50%"):
        classes_in(np.arange(30).astype(str))
