"""Machine code ahead of time: what is run, in which order, by which process; and that a second time finds it all."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import frugalsvm
from frugalsvm._homes import AUTOMATIC, ESTIMATORS
from frugalsvm.cli.app import app
from frugalsvm.cli.catalogue import CATALOGUE
from frugalsvm.compiling.functions import INTERPRETED
from frugalsvm.exceptions import ParameterError
from frugalsvm.warming import RECIPES
from frugalsvm.warming.ahead import _waves
from frugalsvm.warming.origin import machine_code
from frugalsvm.warming.recipes import KINDS, SHARED
from frugalsvm.warming.workers import Task, Workers, outcome_of

DENSE64 = KINDS[0]


@pytest.fixture
def interpreted(monkeypatch):
    """The processes compile nothing, which would take a while."""
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")


# --- what is run ------------------------------------------------------------------------------------------------


def test_there_is_a_recipe_for_every_estimator_and_algorithm():
    assert {recipe.estimator for recipe in RECIPES.values()} - {""} == {*ESTIMATORS, *AUTOMATIC}
    assert set(CATALOGUE) <= set(RECIPES)


def tasks_of(waves):
    return [task for wave in waves for group in wave for task in group]


def test_every_recipe_and_kind_is_run_once():
    tasks = tasks_of(_waves(RECIPES, ["float64", "float32"], sparse=True))
    assert len(tasks) == len(set(tasks))
    assert set(tasks) == {Task(n, kind) for n, recipe in {**SHARED, **RECIPES}.items() for kind in recipe.kinds}


def test_sparse_rows_and_other_types_on_demand():
    kinds = {kind for _, kind in tasks_of(_waves(RECIPES, ["float32"], sparse=False))}
    assert {(kind.dtype, kind.is_sparse) for kind in kinds} == {("float32", False)}


def test_no_two_processes_compile_the_same():
    for wave in _waves(RECIPES, ["float64", "float32"], sparse=True):
        owners = {}
        for i, group in enumerate(wave):
            for name, kind in group:
                recipe = {**SHARED, **RECIPES}[name]
                what = (recipe.family or name, kind.dtype if recipe.is_by_dtype else None)
                assert owners.setdefault(what, i) == i


def test_what_others_need_comes_first_then_the_longest():
    shared, others = _waves(RECIPES, ["float64"], sparse=False)
    assert {task.name for group in shared for task in group} == set(SHARED)
    seconds = [sum(RECIPES[task.name].seconds for task in group) for group in others]
    assert seconds == sorted(seconds, reverse=True)
    (alone,) = _waves({"asset": RECIPES["asset"]}, ["float64"], sparse=False)
    assert {task.name for group in alone for task in group} == {"asset"}


# --- running ----------------------------------------------------------------------------------------------------


def test_a_task_that_fails_tells_why():
    outcome = outcome_of(Task("bsgd", (*DENSE64[:1], 1, False)))  # one class only
    assert outcome.n_compiled == 0
    assert outcome.error.startswith("ValueError: ")


def test_a_process_that_ends_tells_its_code(interpreted):
    with Workers(1) as workers:
        workers._workers[0].process.kill()
        (outcome,) = workers.outcomes_of([[Task("perceptron", DENSE64)]])
    assert "ended with code -9" in outcome.error


def test_an_error_ends_everything(interpreted, monkeypatch):
    broken = RECIPES["perceptron"]._replace(kinds=(DENSE64._replace(n_classes=1),))
    monkeypatch.setitem(RECIPES, "perceptron", broken)
    with pytest.raises(RuntimeError, match="perceptron could not be compiled: ValueError"):
        frugalsvm.warm_up("perceptron", n_jobs=1)


def test_names_of_algorithms_and_of_classes(interpreted):
    told = []
    result = frugalsvm.warm_up(["bpa", "BudgetedPerceptron"], dtypes="float64", n_jobs=2, on_done=told.append)
    assert told[0].name == "prediction"
    assert (
        {each.name for each in result.algorithms} == {each.name for each in told} == {"prediction", "bpa", "perceptron"}
    )
    assert result.n_compiled == 0
    assert result.folder is None  # interpreted code is not kept


@pytest.mark.parametrize("wrong", [{"algorithms": "svc"}, {"dtypes": ["int8"]}, {"n_jobs": 0}])
def test_wrong_parameters_are_named(wrong):
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        frugalsvm.warm_up(**wrong)


def test_a_script_may_begin_with_it(interpreted, tmp_path):
    script = tmp_path / "install.py"
    script.write_text("import frugalsvm\nprint(frugalsvm.warm_up('text', n_jobs=2).n_compiled)\n")
    run = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert run.stdout == "0\n"


@pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")
def test_a_second_time_finds_everything():
    first, second = (frugalsvm.warm_up("ASSETRegressor", dtypes="float64", n_jobs=1) for _ in range(2))
    assert second.n_compiled == 0
    assert first.folder == second.folder
    assert machine_code().wheel or list(Path(first.folder).rglob("*.nbc"))


# --- the command ------------------------------------------------------------------------------------------------


def run(*arguments, code=0):
    result = CliRunner().invoke(app, ["warm-up", *arguments])
    assert result.exit_code == code, (result.output, result.exception)
    return result.output


def test_the_command_tells_of_each_algorithm_and_of_all(interpreted):
    *lines, last = run("perceptron", "--jobs", "1").splitlines()
    assert [line.split()[0] for line in lines] == ["prediction", "perceptron"]
    assert all("was there" in line for line in lines)
    assert last.startswith("Everything was there")
    assert last.endswith("machine code is not kept on disk here.")


def test_the_command_in_json_and_quiet(interpreted):
    told = json.loads(run("text", "--json"))
    assert [each["name"] for each in told["algorithms"]] == ["text"]
    assert told["n_compiled"] == 0
    assert run("text", "--quiet") == ""


def test_the_command_names_what_it_does_not_know():
    assert "svc" in run("svc", code=3)
