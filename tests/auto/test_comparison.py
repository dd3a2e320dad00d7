"""Ways to learn compared by the same rows: accuracies with paired leads, costs, and which to take; nothing learns."""

import numpy as np
import pytest

from frugalsvm.auto.comparison import (
    Candidate,
    Learned,
    OutOfTime,
    compare,
    lead_of,
    recommended,
    table_rows,
    verdict,
)
from frugalsvm.streams.batch import Batch


class Guess:
    """Predicts 1 in a share of the rows."""

    def __init__(self, share):
        self.share = share

    def predict(self, X):
        return (X[:, 0] < self.share).astype(int)


def candidate(name, share, *, seconds=1.0, n_bytes=1000, exponent=1.0):
    def learn(rows, limit):
        if share is None:
            raise OutOfTime
        return Learned(Guess(share), {"algorithm": name}, seconds, 0.5, exponent, n_bytes)

    return Candidate(name, "for a test", learn)


ROWS = Batch(np.random.default_rng(0).random((4000, 1)), np.ones(4000, int))


def compared(*candidates, rows=ROWS, n_rows=8000):
    return compare(list(candidates), rows, n_rows, [10.0] * len(candidates), seed=0)


class TestComparison:
    def test_a_quarter_judges(self):
        found = compared(candidate("one", 0.9), candidate("two", 0.5, seconds=3.0, exponent=2.0))
        assert (found.n_learned, found.n_judges) == (3000, 1000)
        one, two = found.results
        assert abs(one.accuracy - 0.9) < 0.04
        assert one.seconds == 1.5
        np.testing.assert_allclose(two.whole_seconds, 0.5 + 3.0 * (8000 / 3000) ** 2)

    def test_few_rows_all_judge(self):
        few = Batch(ROWS.X[:900], ROWS.y[:900])
        assert compared(candidate("one", 0.9), rows=few).n_judges == 900

    def test_a_lead_is_paired(self):
        one, two = compared(candidate("one", 0.9), candidate("two", 0.5)).results
        lead, difference = lead_of(one, two), one.is_right.astype(int) - two.is_right
        np.testing.assert_allclose(lead, (difference.mean(), difference.std() / np.sqrt(1000)))
        assert lead.is_more_than_chance
        assert not lead_of(two, one).is_more_than_chance
        assert not lead_of(one, one).is_more_than_chance

    def test_who_is_not_better_by_more_than_chance_is_not_taken(self):
        better = compared(candidate("auto", 0.5), candidate("bsgd", 0.9))
        assert recommended(better.results).name == "bsgd"
        assert "bsgd is better than auto by" in verdict(better, "train")[0]
        level = compared(candidate("auto", 0.9), candidate("bsgd", 0.902))
        assert recommended(level.results).name == "auto"
        assert "does not improve on `train`" in verdict(level, "train")[0]
        same = compared(candidate("auto", 0.9), candidate("bsgd", 0.9))
        assert "leads by 0.00 points (standard error 0.00), which is no more than chance" in verdict(same, "train")[0]
        worse = compared(candidate("auto", 0.9), candidate("bsgd", 0.5))
        assert recommended(worse.results).name == "auto"
        assert "auto leads by" in verdict(worse, "train")[0]
        assert "there is nothing to improve" in verdict(worse, "train")[1]
        several = compared(candidate("auto", 0.5), candidate("bsgd", 0.9), candidate("bsgd", 0.8))
        assert "Over the next, bsgd (for a test), it leads by" in verdict(several, "train")[1]

    def test_cheaper_ones_are_named(self):
        found = compared(candidate("auto", 0.9, seconds=100.0), candidate("bsgd", 0.9))
        assert "bsgd is not behind, and 84 times faster to train." in verdict(found, "train")

    def test_who_has_no_time_is_told_of(self):
        found = compared(candidate("auto", 0.9), candidate("lasvm", None))
        assert [result.name for result in found.results] == ["auto"]
        assert "lasvm (for a test) is left out: it was not done within its 10 s" in found.notes[0]
        assert verdict(found, "train") == ["There is nothing to compare auto with."]
        with pytest.raises(OutOfTime, match="too short to compare anything"):
            compared(candidate("auto", None))

    def test_the_table(self):
        rows = table_rows(compared(candidate("auto", 0.5), candidate("bsgd", 0.9)), 8000)
        assert [row["algorithm"] for row in rows] == ["bsgd", "auto"]
        assert rows[0]["points behind"] == "-"
        assert "±" in rows[1]["points behind"]
        assert rows[0]["training, 8,000 rows"] == "3.2 s"
