"""Robust scaling in plain numpy, written for reading: statistics of one feature from all its values, and clipping."""

import numpy as np


def statistics(values, clip=3.0, *, soft=False):
    """Center, scale and limit of one feature."""
    values = np.asarray(values, np.float64)
    center = np.median(values)
    distance = np.abs(values - center)
    different = distance[distance > 0]
    if not different.size:
        return center, 1.0, clip
    unit = np.median(different)
    scale = np.sqrt(np.mean(np.minimum(distance, 6 * unit) ** 2))
    return center, scale, clip * scale if soft else max(clip * scale, 2 * unit)


def bent(values):
    """Values of a feature with a long tail of large values, made symmetric, up to an offset and a scale."""
    values = np.asarray(values, np.float64)
    start = np.quantile(values, 0.02, method="inverted_cdf")
    room = np.median(values) - start or np.median(values[values > start]) - start
    beyond = np.maximum(values - start, 0.0)
    return np.where(values > start, beyond / (1 + beyond / room), values - start)


def softly_clipped(distance, limit):
    """One distance: as it is up to two thirds of the limit, which it approaches beyond."""
    knee, room, size = 2 * limit / 3, limit / 3, abs(distance)
    if size <= knee:
        return distance
    rest = (size - knee) / room
    return np.sign(distance) * (knee + room * rest / (1 + rest))


def scaled(values, learned, clip=3.0, *, soft=False):
    """Values of one feature, with the statistics of those that were learned."""
    center, scale, limit = statistics(learned, clip, soft=soft)
    distances = np.asarray(values, np.float64) - center
    if soft:
        return np.array([softly_clipped(each, limit) for each in distances]) / scale
    return np.clip(distances, -limit, limit) / scale


def rank(values, value):
    """The share of values that are less, where ties count half."""
    return (np.mean(values < value) + np.mean(values <= value)) / 2
