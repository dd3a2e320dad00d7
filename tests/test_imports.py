"""What an import brings with it: a program that uses one estimator should not wait for what it never asks for."""

import json
import os
import subprocess
import sys
from types import ModuleType

import pytest

from frugalsvm._homes import ESTIMATORS
from frugalsvm._scikit_learn import deferred

OTHERS = {"dask", "distributed", "matplotlib", "onnx", "onnxruntime", "pyarrow", "rich", "river", "torch", "typer"}
LARGE = {"pandas", "scipy.optimize", "scipy.stats"}
PARTS_OF_SKLEARN = {"sklearn.metrics", "sklearn.model_selection", "sklearn.preprocessing", "sklearn.svm"}
NUMERICAL = {"numba", "numpy", "scipy", "sklearn"}

FIT_AND_PREDICT = """
import numpy as np
from frugalsvm import BSGDClassifier
X = np.random.default_rng(0).normal(size=(20, 2))
model = BSGDClassifier(budget=5, random_state=0).fit(X, X[:, 0] > 0)
model.predict(X)
"""
COMMAND_LINE = """
import sys
from frugalsvm.cli import main
sys.argv = ["frugalsvm", "--help"]
sys.stdout, results = sys.stderr, sys.stdout
try:
    main()
except SystemExit:
    sys.stdout = results
"""


def modules_after(code):
    """The modules that a new process has imported after some code."""
    # Interpreted, since nothing else is of interest here, and compiling takes a while
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    code = f"{code}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return set(json.loads(run.stdout))


def test_the_package_alone_imports_nothing_numerical():
    assert not modules_after("import frugalsvm") & (NUMERICAL | OTHERS | LARGE)


def test_all_estimators_import_what_they_need_only():
    names = [*ESTIMATORS, "load", "pipelines"]
    assert not modules_after(f"from frugalsvm import {', '.join(names)}") & (OTHERS | LARGE | PARTS_OF_SKLEARN)


@pytest.mark.parametrize("first", ["frugalsvm.persist", "frugalsvm.pipelines"])
def test_it_does_not_matter_which_package_is_the_first(first):
    assert not modules_after(f"import {first}") & LARGE


def test_fit_and_predict_import_what_they_need_only():
    assert not modules_after(FIT_AND_PREDICT) & (OTHERS | LARGE | PARTS_OF_SKLEARN)


def test_commands_import_what_they_need_only():
    names = ["commands.train", "commands.train_auto", "commands.train_stream", "commands.predict", "words.outcome"]
    code = "\n".join(f"import frugalsvm.cli.{name}" for name in names)
    assert not modules_after(code) & (OTHERS - {"rich", "typer"} | LARGE | PARTS_OF_SKLEARN)


def test_the_help_of_the_command_line_imports_nothing_numerical():
    assert not modules_after(COMMAND_LINE) & (NUMERICAL | LARGE)


# --- modules that are imported when they are used ---------------------------------------------------------------


@pytest.fixture
def module(tmp_path, monkeypatch):
    """The name of a module that can be imported, and was not."""
    (tmp_path / "some_module.py").write_text("answer = 42\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield "some_module"
    sys.modules.pop("some_module", None)


def test_a_deferred_module_is_imported_when_it_is_used_after_all(module):
    with deferred((module,)):
        import some_module as early
    assert module not in sys.modules
    assert early.answer == 42
    import some_module

    assert sys.modules[module] is some_module is not early
    assert some_module.answer == 42


def test_a_deferred_module_that_is_used_at_once(module):
    with deferred((module,)):
        from some_module import answer

        assert answer == 42
        assert module in sys.modules
    assert module in sys.modules


def test_a_module_that_is_there_already_stays(module):
    import some_module

    with deferred((module,)):
        assert sys.modules[module] is some_module
    assert sys.modules[module] is some_module


def test_a_module_that_is_not_installed_cannot_be_imported():
    with deferred(("no_such_module",)), pytest.raises(ModuleNotFoundError):
        import no_such_module  # noqa: F401


def failing_import(module):
    with deferred((module,)):
        assert isinstance(sys.modules[module], ModuleType)
        raise OSError("no disk")


def test_after_an_error_nothing_stands_for_the_module(module):
    with pytest.raises(OSError, match="no disk"):
        failing_import(module)
    assert module not in sys.modules


def test_what_scikit_learn_would_have_imported_is_there_when_it_is_used():
    code = "import frugalsvm.estimators, scipy; print(int(scipy.stats.mode([1, 2, 2]).mode))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "2\n"
