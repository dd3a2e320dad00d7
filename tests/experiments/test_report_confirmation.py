"""First results beside their confirmation, and two rules for what is worse."""

from statistics import stdev

import pytest
from markupsafe import Markup
from report_support import EXPERIMENTS, install

from experiments.printed import Printed, Trials
from experiments.report import write_report
from experiments.report.confirmation import Confirmation, confirmations, pairs_of
from experiments.report.counting import Findings, counted_cells
from experiments.report.gathering import ShownExperiment, ShownPaper, gather
from experiments.results import Cell, Experiment, Table
from experiments.tasks import Task

PRINTED = Printed(90.0, 0.5, 0.005, Trials(repetitions=5, theirs=1000, ours=1000))


def shown(**cells):
    """A paper with one table of one row."""
    table = Table("Accuracies", ["ours"], list(cells), {("ours", name): cell for name, cell in cells.items()})
    experiment = ShownExperiment("one-table", "Table", 1, 1, 0.0, [], [], [table])
    return [ShownPaper("one", "One paper", Markup(""), [experiment])]


@pytest.fixture
def pairs():
    first = shown(
        lucky=Cell([92.0, 92.2], PRINTED),
        unlucky=Cell([88.0, 88.2], PRINTED),
        fixed=Cell([91.0, 91.0], PRINTED),
        error=Cell([89.0], PRINTED, lower_is_better=True),
        seconds=Cell([3.0], PRINTED, counted=False),
        missing=Cell([], PRINTED),
        alone=Cell([90.0], PRINTED),
    )
    again = shown(
        lucky=Cell([89.0, 89.2], PRINTED),
        unlucky=Cell([89.4, 89.6], PRINTED),
        fixed=Cell([91.0, 91.0], PRINTED),
        error=Cell([88.0], PRINTED, lower_is_better=True),
        seconds=Cell([1.0], PRINTED, counted=False),
        missing=Cell([90.0], PRINTED),
        alone=Cell([], PRINTED),
    )
    return pairs_of(first, again), first


def test_cells_with_both_results_are_paired(pairs):
    assert [pair.column for pair in pairs[0]] == ["lucky", "unlucky", "fixed", "error"]
    assert [pair.change for pair in pairs[0]] == pytest.approx([-3.0, 1.4, 0.0, 1.0])


def test_shares_and_the_regression_to_the_mean(pairs):
    found = confirmations(*pairs)
    (every,) = found["all"]
    assert (every.first_percent, every.again_percent, every.both_percent) == (75.0, 75.0, 50.0)
    assert every.change == pytest.approx(-0.15)
    assert every.error == pytest.approx(stdev([-3.0, 1.4, 0.0, 1.0]) / 2)
    assert every.n_alike == 1
    assert [pair.column for pair in every.turned] == ["lucky", "unlucky"]
    assert [one.title for one in found["papers"]] == ["One paper"]
    assert {one.title: one.change for one in found["states"]} == pytest.approx({"better": -2 / 3, "worse": 1.4})
    assert Confirmation("one", every.pairs[:1]).error is None


def test_nothing_to_pair():
    papers = shown(a=Cell([], PRINTED))
    assert confirmations(pairs_of(papers, papers), papers) == {"all": [], "papers": [], "states": []}


def test_findings_are_counted():
    cells = [Cell([1.0], finding=word) for word in ("better", "alike", "alike", "worse", "")]
    found = Findings.of(cells)
    assert (found, found.looked_at, found.percent_worse) == (Findings(1, 2, 1), 4, 25.0)
    assert Findings().percent_worse is None


def _judged(monkeypatch, tmp_path):
    """A store and a paper whose accuracy is clearly worse; its second repetition differs in the confirmation."""
    plan = [Task("report_support:nothing", {"value": 80}, seed) for seed in range(3)]

    def show(outcome):
        values = [result["value"] for _, result in outcome if result is not None]
        return [Table("Accuracies", ["a"], ["x"], {("a", "x"): Cell(values, PRINTED)})]

    store = install(monkeypatch, tmp_path, [Experiment("invented-table", "T", lambda profile, choices: plan, show)])
    for seed, value in ((0, 80.1), (1, 80.2), (2, 80.0), (10_000, 80.5), (10_001, 80.3), (10_002, 80.4)):
        store.put(Task("report_support:nothing", {"value": 80}, seed), {"value": value}, 1.0)
    return store


def test_gathering_judges_all_cells_together(monkeypatch, tmp_path):
    store = _judged(monkeypatch, tmp_path)
    for profile, mean, finding in (("full", 80.1, "worse"), ("confirm", 80.4, "worse"), ("quick", 80.1, "")):
        (cell,) = counted_cells(gather(store, profile))
        assert (cell.mean, cell.finding) == (pytest.approx(mean), finding)


@pytest.mark.parametrize("profile", ["full", "confirm", "quick"])
def test_the_page_opens_with_both_rules_and_the_confirmation(monkeypatch, tmp_path, profile):
    write_report(_judged(monkeypatch, tmp_path), profile, tmp_path / "report.html")
    words = " ".join((tmp_path / "report.html").read_text().split())
    assert '<th scope="row">first results</th><td>1</td><td>0</td><td>0</td> <td>1</td><td>0.0 %</td>' in words
    assert '<th scope="row">confirmation</th><td>1</td>' in words
    assert "Of 1 cells that have both" in words
    assert "+0.300" in words
    assert ("↓ worse, p = " in words) == (profile != "quick")


def test_figures_have_no_confirmation(monkeypatch, tmp_path):
    store = install(monkeypatch, tmp_path)
    (paper,) = gather(store, "confirm")
    assert [experiment.name for experiment in paper.experiments] == ["invented-table"]
    assert gather(install(monkeypatch, tmp_path, EXPERIMENTS[1:]), "confirm") == []
