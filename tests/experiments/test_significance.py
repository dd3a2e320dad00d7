"""Verdicts with error bars, against independent computations."""

import numpy as np
import pytest
from scipy import stats

from experiments.printed import Printed, Trials, read_printed
from experiments.protocol import PAPERS, folder_of
from experiments.results import Cell
from experiments.significance import RATE, discoveries, evidence_of, judge

SAME = Trials(repetitions=5, theirs=2000, ours=2000)


def test_two_spreads_are_compared_as_in_welchs_test():
    values = [90.1, 90.9, 89.5, 90.4]
    found = evidence_of(values, Printed(91.2, 0.4, 0.0, SAME))
    expected = stats.ttest_ind_from_stats(np.mean(values), np.std(values, ddof=1), 4, 91.2, 0.4, 5, equal_var=False)
    assert found.difference / found.error == pytest.approx(expected.statistic)
    assert found.p_value == pytest.approx(expected.pvalue)


def test_two_fixed_results_are_compared_as_two_proportions():
    """Without scatter on either side test rows are what is left to chance."""
    found = evidence_of([90.0], Printed(92.0, 0.0, 0.0, SAME))
    error = 100 * np.sqrt(0.9 * 0.1 / 2000 + 0.92 * 0.08 / 2000)
    assert found.error == pytest.approx(error)
    assert found.freedom == np.inf
    assert found.p_value == pytest.approx(2 * stats.norm.sf(2.0 / error))
    assert evidence_of([90.0, 90.0], Printed(92.0, None, 0.0, SAME)) == found


def test_without_a_printed_spread_theirs_scatters_like_ours():
    values = [60.0, 80.0, 70.0]
    found = evidence_of(values, Printed(75.0, None, 0.0, SAME))
    assert found.error**2 == pytest.approx(100.0 / 3 + 100.0 / 5 + 75 * 25 / 2000)
    assert 2 < found.freedom < 2.2


def test_other_test_rows_are_a_reason_to_differ():
    values, theirs, ours = [90.0, 90.2], 91 * 9 / 2000, 90.1 * 9.9 / 2000
    errors = {}
    for name, more in {"same": {}, "other": {"same": False}, "redrawn": {"same": False, "redrawn": True}}.items():
        errors[name] = evidence_of(values, Printed(91.0, 0.1, 0.0, SAME._replace(**more))).error ** 2
    assert errors["other"] == pytest.approx(errors["same"] + theirs + ours)
    assert errors["redrawn"] == pytest.approx(errors["same"] + theirs)


def test_rounding_is_a_reason_to_differ():
    exact, rounded = (evidence_of([90.0], Printed(92.0, 0.0, rounding, SAME)) for rounding in (0.0, 0.5))
    assert rounded.error**2 == pytest.approx(exact.error**2 + 0.5**2 / 3)


def test_nothing_is_said_where_nothing_is_known():
    assert evidence_of([90.0], Printed(92.0, 0.1)) is None
    assert evidence_of([], Printed(92.0, 0.1, 0.005, SAME)) is None


@pytest.mark.parametrize("seed", range(20))
def test_discoveries_are_those_of_scipy(seed):
    rng = np.random.default_rng(seed)
    p_values = rng.random(rng.integers(1, 60)) ** rng.integers(1, 6)
    p_values[rng.random(len(p_values)) < 0.2] = 0.01  # ties
    expected = stats.false_discovery_control(p_values, method="bh") <= RATE
    assert discoveries(p_values.tolist()) == expected.tolist()


def test_no_cells_no_discoveries():
    assert discoveries([]) == []


def test_one_cell_more_that_is_looked_at_asks_for_more_evidence():
    assert discoveries([0.04]) == [True]
    assert discoveries([0.04, 0.9]) == [False, False]
    assert discoveries([0.04, 0.03]) == [True, True]


def test_chance_alone_is_hardly_ever_found():
    """Of a thousand pages on which nothing differs, about 5 % say of any cell that it does."""
    rng = np.random.default_rng(0)
    pages = [discoveries(rng.random(100).tolist()) for _ in range(1000)]
    assert 30 <= sum(map(any, pages)) <= 70


def test_cells_get_findings_in_the_direction_that_is_better():
    clear, unclear = [80.0, 80.1, 79.9], [90.1, 90.9, 89.5]
    printed = Printed(90.0, 0.2, 0.005, SAME)
    cells = [
        Cell(clear, printed),
        Cell(clear, printed, lower_is_better=True),
        Cell(unclear, printed),
        Cell(clear, printed, counted=False),
        Cell(clear, printed, part=True),
        Cell([], printed),
    ]
    judge(cells)
    assert [cell.finding for cell in cells] == ["worse", "better", "alike", "", "", ""]
    assert [cell.p_value is None for cell in cells] == [False, False, False, True, True, True]


def test_a_paper_without_deviations_can_be_taken_to_have_none():
    values, printed = [80.0, 84.0, 82.0, 81.0], Printed(84.0, None, 0.05, SAME)
    lenient, harsh = (evidence_of(values, printed, their_scatter=scatter) for scatter in (True, False))
    assert harsh.error < lenient.error
    known = Printed(84.0, 0.5, 0.05, SAME)
    assert evidence_of(values, known) == evidence_of(values, known, their_scatter=False)


def test_how_the_paper_tested_is_read_from_its_protocol(tmp_path):
    (tmp_path / "printed.csv").write_text(
        "experiment,row,column,mean,spread\nt1,LIBSVM,usps 100,95,\nt1,Adult,LIBSVM,84,\nt2,x,y,1,\n"
    )
    (tmp_path / "protocol.toml").write_text(
        "[printed]\nrepetitions = 5\n[printed.data]\nusps = { theirs = 2007, ours = 2000 }\n"
        "Adult = { theirs = 9, ours = 8, same = false, repetitions = 1 }\n"
    )
    trials = {key: number.trials for key, number in read_printed(tmp_path / "printed.csv").items()}
    assert trials == {
        ("t1", "LIBSVM", "usps 100"): Trials(5, 2007, 2000),
        ("t1", "Adult", "LIBSVM"): Trials(1, 9, 8, same=False),
        ("t2", "x", "y"): None,
    }


def test_all_printed_accuracies_say_how_they_were_tested():
    unknown = {"phoneme-48", "CCAT", "Average"}
    for paper in PAPERS:
        for (experiment, row, column), number in read_printed(folder_of(paper) / "printed.csv").items():
            if unknown.isdisjoint({row, column, column.split()[0]}) and experiment != "lasvm-table1":
                assert number.trials is not None, (experiment, row, column)
