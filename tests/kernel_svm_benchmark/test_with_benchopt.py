"""The benchmark as benchopt runs it: every solver on a few rows, and numbers that are those of direct calls."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.svm import SVC

from frugalsvm import BSGDClassifier

pytest.importorskip("benchopt.benchmark", reason="benchopt is not installed (pip install 'frugalsvm[benchopt]')")

from benchopt.benchmark import Benchmark
from benchopt.utils.run_context import RunContext

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks" / "benchopt_kernel_svm"
N_ROWS = 320  # parts of a pass are whole


@pytest.fixture(scope="module")
def benchmark_folder():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of benchopt itself
        return Benchmark(FOLDER)


def class_named(classes, name):
    return next(cls for cls in classes if cls.name == name)


@pytest.fixture(scope="module")
def objective(benchmark_folder):
    dataset = class_named(benchmark_folder.get_datasets(), "simulated")
    dataset = dataset.get_instance(kind="noisy checkerboard", n_rows=N_ROWS)
    objective = benchmark_folder.get_benchmark_objective().get_instance()
    RunContext().set_run_context(objective, dataset, "none", repetition=0, base_seed=0)
    assert objective._set_dataset(dataset) == (False, None)
    return objective


def ready_solver(benchmark_folder, objective, name, **parameters):
    solver = class_named(benchmark_folder.get_solvers(), name).get_instance(**parameters)
    RunContext().set_run_context(objective, objective._dataset, solver, repetition=0, base_seed=0)
    assert solver._set_objective(objective) == (False, None)
    return solver


SOLVERS = {
    "BSGD": {"maintenance": "merge", "budget": 20},
    "BSGD-post": {"budget": 20},
    "BPA": {"budget": 20},
    "perceptron": {"strategy": "forgetron", "budget": 20},
    "TVM": {"budget": 20},
    "LASVM": {"variant": "g"},
    "tracking": {},
    "incremental": {},
    "ASSET-newton": {"n_components": 20},
    "ASSET-online": {"n_components": 20},
    "SVC": {},
    "Nystroem-LinearSVC": {"n_components": 20},
    "SGD": {"feature_map": "fourier", "n_components": 20},
}


@pytest.mark.slow  # a minute of compilation where none of it is in the cache
@pytest.mark.parametrize("name", SOLVERS)
def test_every_solver_learns_and_is_seen_as_it_predicts(name, benchmark_folder, objective):
    solver = ready_solver(benchmark_folder, objective, name, **SOLVERS[name])
    solver.run_once(0.01 if solver.sampling_strategy == "tolerance" else 16)
    result = solver.get_result()
    measured = objective.evaluate_result(**result)
    X, y = objective.X, objective.y
    rows = solver.map.transform(X) if hasattr(solver, "map") else X
    assert measured["train_error"] == pytest.approx(np.mean(solver.model.predict(rows) != y), abs=1 / N_ROWS)
    assert measured["train_error"] < 0.5
    assert measured["n_vectors"] == len(result["coefficients"]) > 0
    assert np.isinf(measured["value"]) == ("offsets" in result)


def test_all_solvers_are_tested(benchmark_folder):
    assert {cls.name for cls in benchmark_folder.get_solvers()} == set(SOLVERS)


def test_numbers_are_those_of_direct_calls(benchmark_folder, objective):
    solver = ready_solver(benchmark_folder, objective, "SVC")
    solver.run_once(1e-6)
    measured = objective.evaluate_result(**solver.get_result())
    X, y, C, gamma = (objective.get_objective()[name] for name in ("X", "y", "C", "gamma"))
    direct = SVC(C=C, gamma=gamma, tol=1e-6).fit(X, y)
    X_test, y_test = objective.test
    dual = np.abs(direct.dual_coef_).sum() - 0.5 * (direct.dual_coef_ @ _kernel(direct, gamma) @ direct.dual_coef_.T)
    assert measured["primal"] == pytest.approx(float(dual.squeeze()), rel=1e-4)  # the gap of the optimum is zero
    assert measured["value"] == pytest.approx(measured["primal"] / (C * N_ROWS))
    assert measured["test_error"] == pytest.approx(1 - direct.score(X_test, y_test), abs=2e-3)
    # No other model has a smaller value.
    solver = ready_solver(benchmark_folder, objective, "BSGD", maintenance="merge", budget=50)
    solver.run_once(32)
    assert objective.evaluate_result(**solver.get_result())["value"] > measured["value"]


def _kernel(model, gamma):
    from sklearn.metrics.pairwise import rbf_kernel

    return rbf_kernel(model.support_vectors_, gamma=gamma)


def test_an_online_run_is_partial_fit_on_all_parts(benchmark_folder, objective):
    solver = ready_solver(benchmark_folder, objective, "BSGD", maintenance="merge", budget=20)
    solver.run_once(16)
    X, y = solver.X, solver.y
    direct = BSGDClassifier(budget=20, alpha=solver.alpha, gamma=solver.gamma)
    for part in np.random.default_rng(solver.seed).permutation(16)[::-1]:
        rows = slice(part * N_ROWS // 16, (part + 1) * N_ROWS // 16)
        direct.partial_fit(X[rows], y[rows], classes=[-1, 1])
    np.testing.assert_allclose(solver.get_result()["coefficients"], direct.dual_coef_[0])
    assert solver.alpha == pytest.approx(1 / (10.0 * N_ROWS))


def test_what_cannot_be_had_or_would_take_hours_is_skipped(benchmark_folder, objective):
    skip, reason = objective.skip(reason="it is not here")
    assert (skip, reason) == (True, "it is not here")
    skip, reason = objective.skip(X=np.zeros((3, 1)), y=np.array([0, 1, 2]))
    assert skip
    assert "two classes" in reason
    svc = class_named(benchmark_folder.get_solvers(), "SVC").get_instance()
    assert svc.skip(None, np.zeros(10), 1.0, 1.0) == (False, None)
    skip, reason = svc.skip(None, np.zeros(100_000), 1.0, 1.0)
    assert skip
    assert "30000 rows" in reason


def test_runs_end_at_sixteen_passes_or_a_small_tolerance(benchmark_folder):
    ends = {"BSGD": (128, 256), "LASVM": (128, 256), "SVC": (1e-4, 1e-5)}
    for name, (goes_on, is_last) in ends.items():
        solver = class_named(benchmark_folder.get_solvers(), name).get_instance()
        criterion = solver._stopping_criterion.get_runner_instance(max_runs=100, solver=solver)
        assert not criterion.check_convergence([{"stop_val": goes_on}])[0]
        assert criterion.check_convergence([{"stop_val": is_last}])[0]
