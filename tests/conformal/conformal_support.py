"""Shares in windows of rows, and streams row by row in small batches."""

import numpy as np

WINDOW, BURN_IN = 5_000, 1_000


def shares_in_windows(is_hit, window=WINDOW, burn_in=BURN_IN):
    """The share in every window of consecutive rows, wherever it begins after the burn-in."""
    total = np.concatenate([[0], np.cumsum(is_hit[burn_in:])])
    return (total[window:] - total[:-window]) / window


def label_is_in(sets, classes, y):
    return sets[np.arange(len(y)), np.searchsorted(classes, y)]


def number_is_in(intervals, y):
    return (intervals[:, 0] <= y) & (y <= intervals[:, 1])
