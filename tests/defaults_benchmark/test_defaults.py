"""Defaults stay good: every public estimator is measured, and none is worse than it was by more than its spread."""

import re

import pytest

from benchmarks import defaults
from benchmarks.defaults import allowed_loss, kept_results, measured
from benchmarks.defaults_cases import CASES, PUBLIC, RAW_TABLES, tables_folder
from frugalsvm.datasets import DatasetUnavailableError


def test_every_public_estimator_is_measured():
    words = {word for case in CASES.values() for word in re.findall(r"\w+", case.method)}
    assert set(PUBLIC) <= words


def test_all_cases_are_kept():
    assert kept_results().keys() == CASES.keys()


def test_what_may_be_lost():
    assert allowed_loss([0.9, 0.93, 0.91]) == pytest.approx(0.03)
    assert allowed_loss([0.9, 0.9, 0.9]) == defaults.SMALLEST_SPREAD


@pytest.fixture
def run(monkeypatch, capsys):
    def made(*arguments):
        monkeypatch.setattr("sys.argv", ["defaults", *arguments])
        ended = 0
        try:
            defaults.main()
        except SystemExit as end:
            ended = end.code
        return ended, capsys.readouterr().out

    return made


def test_a_worse_default_ends_with_an_error(run, monkeypatch, tmp_path):
    name = next(iter(CASES))
    monkeypatch.setattr(defaults, "KEPT", tmp_path / "kept.json")
    monkeypatch.setattr(defaults, "_results", lambda names, options: [(name, scores, 1.0)])
    scores = [0.9, 0.91, 0.92]
    assert run("--keep")[0] == 0
    assert kept_results() == {name: scores}
    scores = [0.89, 0.9, 0.91]
    assert run()[0] == 0
    scores = [0.87, 0.88, 0.89]
    ended, told = run()
    assert ended == 1
    assert re.search(r"worse by more than their spread: \[", told)


@pytest.mark.slow
@pytest.mark.parametrize("name", list(CASES))
def test_defaults_are_as_good_as_they_were(name, real_data):
    kept = kept_results()[name]
    if any(name.endswith(f"table {table}") for table in RAW_TABLES) and not tables_folder().is_dir():
        pytest.skip("the raw tables are not here")
    try:
        score = measured(name, seed=0)
    except DatasetUnavailableError as error:
        pytest.skip(str(error))
    assert score >= kept[0] - allowed_loss(kept)
