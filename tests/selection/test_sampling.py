"""Which rows take part in a comparison."""

import numpy as np
import pytest

from frugalsvm.selection.task import FEW, random_order, sampled

LABELS = np.repeat([0, 1, 2], [900, 85, 15])


@pytest.fixture
def order():
    return random_order(LABELS, len(LABELS), np.random.default_rng(0))


def test_an_order_has_every_row_once(order):
    assert sorted(order) == list(range(len(LABELS)))
    assert (order != random_order(LABELS, len(LABELS), np.random.default_rng(1))).any()


def test_the_first_rows_have_classes_in_proportion(order):
    assert np.abs(np.bincount(LABELS[order[:200]], minlength=3) - [180, 17, 3]).max() <= 2


def test_samples_keep_a_few_rows_of_rare_classes(order):
    index = sampled(order, LABELS, 100)
    assert np.bincount(LABELS[index]).min() >= FEW
    assert set(order[:100]) <= set(index)
    assert len(index) < 125


def test_without_labels_samples_are_the_first_rows():
    assert len(sampled(random_order(None, 10, np.random.default_rng(0)), None, 4)) == 4
