"""``python -m experiments`` as a person uses it, on an invented paper."""

import json

import pytest
from report_support import BROKEN, install

from experiments.command import main
from experiments.results import Experiment
from experiments.tasks import Task


@pytest.fixture
def store(monkeypatch, tmp_path):
    """The store of the invented paper, with two of its three results."""
    return install(monkeypatch, tmp_path)


def call(*arguments):
    """The exit code, or the sentence instead of it."""
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    return stop.value.code


def test_list_says_how_much_is_done(store, capsys):
    assert call("list", "--store", store.folder) == 0
    shown = capsys.readouterr().out
    assert "invented-table" in shown
    assert shown.count("2 of 3") == 2


def test_run_computes_what_is_missing_and_records_choices(store, tmp_path, capsys):
    assert call("run", "invented-table", "--store", store.folder) == 0
    assert "1 choices of hyper-parameters recorded" in capsys.readouterr().out.replace("\n", " ")
    assert json.loads((tmp_path / "chosen.json").read_text()) == {"banana 100": {"tuned": {"alpha": 0.1}}}
    assert call("list", "--store", store.folder) == 0
    assert capsys.readouterr().out.count("3 of 3") == 2


def test_tune_chooses_again(store, tmp_path):
    (tmp_path / "chosen.json").write_text('{"banana 100": {"tuned": {"alpha": 7}}, "usps": {}}')
    assert call("run", "--store", store.folder) == 0
    assert json.loads((tmp_path / "chosen.json").read_text())["banana 100"] == {"tuned": {"alpha": 7}}
    assert call("run", "invented", "--tune", "--store", store.folder) == 0
    assert json.loads((tmp_path / "chosen.json").read_text()) == {"banana 100": {"tuned": {"alpha": 0.1}}, "usps": {}}


def test_an_unknown_name_gets_the_known_ones(store):
    sentence = "There is no experiment 'invented-tabel'; there are invented-table, invented-figure."
    assert call("run", "invented-tabel") == sentence


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["run", "--jobs", "0"], "'0' is no number of processes"),
        (["run", "--jobs", "two"], "'two' is no number of processes"),
        (["run", "--profile", "fast"], "invalid choice: 'fast'"),
        (["show"], "invalid choice: 'show'"),
        ([], "required"),
    ],
)
def test_wrong_arguments_get_a_sentence(arguments, sentence, capsys):
    assert call(*arguments) == 2
    assert sentence in capsys.readouterr().err


def test_a_failure_is_shown_with_its_error_and_its_exit_code(monkeypatch, tmp_path, capsys):
    plan = [Task("core_support:refusal", {}, names={"data": "banana"}), Task("core_support:square", {"value": 3})]
    broken = Experiment("invented-table", "Table 1", lambda profile, choices: plan, list)
    store = install(monkeypatch, tmp_path, [broken])
    assert call("run", "--store", store.folder) == 1
    assert "ValueError: no rows [/of] this [kind]" in capsys.readouterr().out
    assert store.get(plan[1]) == {"square": 9, "seed": 0}


def test_a_stop_by_hand_says_that_the_work_is_kept(monkeypatch, tmp_path, capsys):
    plan = [Task("core_support:interruption", {})]
    store = install(monkeypatch, tmp_path, [Experiment("invented-table", "T", lambda profile, choices: plan, list)])
    assert call("run", "--store", store.folder) == 130
    assert "goes on from here" in capsys.readouterr().out


def test_report_writes_the_page_and_says_where(store, tmp_path, capsys):
    output = tmp_path / "new" / "report.html"
    assert call("report", "--store", store.folder, "--output", output, "--profile", "full") == 0
    assert "report is in" in capsys.readouterr().out
    assert "Profile <strong>full</strong>" in output.read_text()


def test_report_of_something_broken_is_written_and_says_so(monkeypatch, tmp_path, capsys):
    store = install(monkeypatch, tmp_path, BROKEN)
    assert call("report", "--store", store.folder, "--output", tmp_path / "report.html") == 1
    assert "not shown: invented-table could not be shown" in capsys.readouterr().out
    assert (tmp_path / "report.html").exists()


@pytest.mark.parametrize("jobs", [1, 2])
def test_each_missing_data_set_is_named_once(monkeypatch, tmp_path, capsys, jobs):
    def plan(profile, choices):
        sets = [Task("core_support:no_data", {"data": name}, seed) for name in ("usps", "a9a") for seed in range(3)]
        choosing = Task("core_support:no_data", {"data": "usps", "what": "choice"})
        return [*sets, Task("core_support:no_data", {"data": "usps"}, 9, needs=choosing)]

    install(monkeypatch, tmp_path, [Experiment("invented-table", "Table 1", plan, lambda outcome: [])])
    assert call("run", "--store", tmp_path / "store", "--jobs", jobs) == 0  # the report is made of what there is
    told = " ".join(capsys.readouterr().out.split())
    assert told.count("No data: usps, for 5 results: could not download usps: no network") == 1
    assert told.count("usps: no network") == told.count("a9a: no network") == 1
    assert "Traceback" not in told


def test_cost_is_told_before_anything_is_run(store, capsys):
    assert call("cost", "invented-table", "--store", store.folder) == 0
    assert "2 of 4 results are to be computed: about" in capsys.readouterr().out  # one, and the search that it needs
    assert call("run", "invented-table", "--store", store.folder) == 0
    assert "2 of 4 results are to be computed: about" in capsys.readouterr().out
    assert call("cost", "invented-table", "--store", store.folder) == 0
    assert "nothing to compute" in capsys.readouterr().out


def test_what_is_kept_is_found_without_the_folder(store, tmp_path, capsys):
    assert call("keep", "--store", store.folder) == 0
    assert "invented, full: 2 of 2 results" in capsys.readouterr().out
    assert call("list", "--store", tmp_path / "none", "--profile", "full") == 0
    assert capsys.readouterr().out.count("2 of 3") == 2
    assert call("cost", "--store", tmp_path / "none", "--again") == 0
    assert "4 of 4 results are to be computed" in capsys.readouterr().out


def test_a_confirmation_chooses_nothing(store):
    assert "--tune chooses parameters, which a confirmation must not" in call("run", "--tune", "--confirm")
