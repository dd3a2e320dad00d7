"""Printed numbers, verdicts beside them, and the protocols of profiles."""

import pytest

from experiments import protocol
from experiments.printed import Printed, read_printed, verdict
from experiments.results import Cell


@pytest.mark.parametrize(
    ("ours", "word"), [(90.1, "better"), (90.0, "better"), (89.7, "within"), (89.696, "within"), (89.6, "worse")]
)
def test_verdicts_beside_a_printed_spread(ours, word):
    assert verdict(ours, Printed(90.0, 0.3)).word == word


@pytest.mark.parametrize(("rounding", "word"), [(0.005, "worse"), (0.05, "within")])
def test_what_is_printed_with_fewer_digits_may_be_less(rounding, word):
    assert verdict(89.67, Printed(90.0, 0.3, rounding)).word == word


def test_verdicts_without_spread_and_for_times():
    assert verdict(89.6, Printed(90.0)).word == "within"
    assert verdict(89.4, Printed(90.0)).word == "worse"
    assert verdict(89.4, Printed(90.0), lower_is_better=True).word == "better"
    late = verdict(91.0, Printed(90.0, 0.5), lower_is_better=True)
    assert (late.word, late.difference) == ("worse", 1.0)


def test_cells_know_what_they_can_be_compared_with():
    assert Cell([], Printed(90.0)).verdict is None
    assert Cell([91.0]).verdict is None
    assert Cell([91.0]).spread is None
    cell = Cell([90.0, 92.0], Printed(90.0, 0.1))
    assert (cell.mean, cell.spread, cell.verdict.word) == (91.0, 1.0, "better")


@pytest.mark.parametrize(("values", "scatters"), [([88, 91], True), ([88, 89], False), ([89], False)])
def test_differences_that_another_repetition_could_undo(values, scatters):
    cell = Cell(values, Printed(90.0, 0.1))
    assert cell.verdict.word == "worse"
    assert cell.is_within_own_spread == scatters


def test_printed_numbers_are_read_and_may_not_be_there_twice(tmp_path):
    path = tmp_path / "printed.csv"
    path.write_text('experiment,row,column,mean,spread\nt1,ours,"banana 100",88.5,0.3\nt1,ours,usps,95,\n')
    assert read_printed(path) == {
        ("t1", "ours", "banana 100"): Printed(88.5, 0.3, 0.05),
        ("t1", "ours", "usps"): Printed(95.0, None, 0.5),
    }
    path.write_text(path.read_text() + "t1,ours,usps,94,\n")
    with pytest.raises(ValueError, match="twice"):
        read_printed(path)


def test_a_profile_overrules_what_all_profiles_share(tmp_path, monkeypatch):
    (tmp_path / "protocol.toml").write_text("[t1]\nrows = 10\npasses = 1\n[t1.quick]\nrows = 2\n[t1.full]\n")
    monkeypatch.setattr(protocol, "folder_of", lambda paper: tmp_path)
    assert protocol.profile_of("p", "t1", "quick") == {"rows": 2, "passes": 1, "profile": "quick"}
    assert protocol.profile_of("p", "t1", "full") == {"rows": 10, "passes": 1, "profile": "full"}
