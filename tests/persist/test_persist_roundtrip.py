"""Saved and loaded models predict the same, and continue bit for bit, for every estimator."""

import json
from importlib import import_module

import numpy as np
import pytest
from make_version_files import FOLDER, version_rows
from sklearn.base import clone
from support import blobs

import frugalsvm
from frugalsvm import (
    ASSETClassifier,
    ASSETRegressor,
    BPAClassifier,
    BSGDClassifier,
    BSGDRegressor,
    BudgetedPerceptron,
    IncrementalSVC,
    LASVMClassifier,
    StreamTuner,
    TrackingSVC,
    TVMClassifier,
)
from frugalsvm._stored import fields_of, stored_under
from frugalsvm.persist import FORMAT_VERSION, describe, load, save
from frugalsvm.persist.legacy import name_today
from frugalsvm.persist.registry import HOMES
from frugalsvm.pipelines import StreamPipeline

SEED = {"random_state": 0}
MODELS = {
    "bsgd": BSGDClassifier(budget=10, gamma=0.3, **SEED),
    "perceptron": BudgetedPerceptron("random", 10, gamma=0.3, **SEED),
    "bpa": BPAClassifier(budget=10, gamma=0.3, **SEED),
    "asset": ASSETClassifier(n_components=16, gamma=0.3, **SEED),
    "fourier": ASSETClassifier("fourier", 16, gamma=0.3, solver="asset*", average=50, **SEED),
    "structured": ASSETClassifier("fourier", 70, gamma=0.3, structured=True, **SEED),
    "factors": ASSETClassifier(n_components=16, gamma=0.3, metric=np.array([1.0, 0.0, 2.0]), **SEED),
    "directions": BSGDClassifier(budget=10, gamma=0.3, metric=np.array([[1.0, 0.0, 2.0], [0.0, 1.0, 1.0]]), **SEED),
    "tuner": StreamTuner(BSGDClassifier(budget=10, gamma=0.3, **SEED), {"alpha": [1e-4, 1e-2]}, **SEED),
}
RARE = {  # each compiles for long
    "bsgd-averaged": BSGDClassifier(budget=10, gamma=0.3, average=True, **SEED),
    "projectron": BudgetedPerceptron("projectron", 10, gamma=0.3, **SEED),
    "lasvm": LASVMClassifier(gamma=0.3, clean_every=50, max_idle=20, **SEED),
    "tracking": TrackingSVC(gamma=0.3, **SEED),
    "incremental": IncrementalSVC(gamma=0.3),
    "tvm": TVMClassifier(10, gamma=0.3, **SEED),
    **{f"lasvm-{variant}": LASVMClassifier(variant, gamma=0.3, **SEED) for variant in ("nc", "i", "full", "lasvm")},
    "lasvm-directions": LASVMClassifier(gamma=0.3, metric=np.array([[1.0, 0.0, 2.0]]), **SEED),
    "lasvm-tiny-cache": LASVMClassifier(gamma=0.3, cache_size=1e-3, **SEED),
    "tracking-averaged": TrackingSVC(gamma=0.3, average=True, cached=True, **SEED),
    **{f"bsgd-{how}": BSGDClassifier(maintenance=how, budget=10, gamma=0.3, **SEED) for how in ("remove", "project")},
    "bsgd-unlimited": BSGDClassifier(budget=None, gamma=0.3, **SEED),
    "bsgd-ball": BSGDClassifier("norma", budget=10, gamma=0.3, alpha=0.01, eta0=0.5, radius=2.0, **SEED),
    **{
        f"perceptron-{strategy}": BudgetedPerceptron(strategy, 10, gamma=0.3, **SEED)
        for strategy in ("stop", "forgetron", "budget", "tighter", "tightest", "projectron++", "silk")
    },
    **{f"bpa-{variant}": BPAClassifier(variant, budget=10, gamma=0.3, **SEED) for variant in ("nn", "projecting")},
    "linear": BSGDClassifier(maintenance="remove", budget=10, kernel="linear", **SEED),
}


def same_file(first, second, folder):
    """Whether two models are equal in every bit of their state."""
    for number, model in enumerate((first, second)):
        save(model, folder / f"{number}.frugal", caches=True)
    return (folder / "0.frugal").read_bytes() == (folder / "1.frugal").read_bytes()


def assert_goes_on(model, n_classes, folder):
    """A copy made in the middle of a stream predicts the same, and is the same model at its end."""
    X, labels = blobs(160, 3, n_classes, seed=1)
    y = np.array(["ant", "bee", "cow"])[labels]
    model = clone(model).partial_fit(X[:90], y[:90], classes=np.unique(y))
    save(model, folder / "model.frugal", caches=True)
    copy = load(folder / "model.frugal")
    np.testing.assert_array_equal(copy.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(copy.predict(X), model.predict(X))
    for each in (model, copy):
        each.partial_fit(X[90:130], y[90:130]).partial_fit(X[130:], y[130:])
    assert same_file(model, copy, folder)
    np.testing.assert_array_equal(copy.decision_function(X), model.decision_function(X))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", MODELS)
def test_every_estimator_goes_on_bit_for_bit(name, n_classes, tmp_path):
    assert_goes_on(MODELS[name], n_classes, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", RARE)
def test_every_variant_goes_on_bit_for_bit(name, n_classes, tmp_path):
    assert_goes_on(RARE[name], n_classes, tmp_path)


def test_every_estimator_of_the_package_is_tested():
    homes = ("frugalsvm.estimators.", "frugalsvm.stream_search.")
    estimators = {name for name, home in HOMES.items() if home.startswith(homes)}
    estimators -= {"LocalSVC", "LocalSVR"}  # see test_local_files.py and test_local_changes.py
    classifiers = {type(model).__name__ for model in (*MODELS.values(), *RARE.values())}
    assert classifiers | {"ASSETOneClassSVM", "ASSETRegressor", "BSGDOneClassSVM", "BSGDRegressor"} == estimators
    learn_on = {name for name in frugalsvm.__all__ if hasattr(getattr(frugalsvm, name), "partial_fit")}
    learn_on -= {"LocalSVC", "LocalSVR"}
    assert estimators == learn_on | {"ASSETOneClassSVM"}


# How files of version 1 name parts
PARTS_OF_VERSION_1 = """
asset.fourier.DenseFourier asset.fourier.StructuredFourier asset.losses.EpsilonInsensitive asset.losses.Hinge
asset.losses.SquaredEpsilonInsensitive asset.losses.SquaredHinge asset.nystroem.Nystroem asset.subgradient.RobustStep
asset.subgradient.StrongStep asset.subgradient.SubgradientState budgeted.ball.Ball budgeted.ball.Everywhere
budgeted.bpa.ProjectOnAll budgeted.bpa.ProjectOnNeighbour budgeted.bpa.ProjectOnNewcomer budgeted.maintenance.Merge
budgeted.maintenance.Remove budgeted.neighbours.Neighbours budgeted.perceptrons.Forget
budgeted.perceptrons.RemoveRandom budgeted.perceptrons.RemoveWeakest budgeted.perceptrons.Stop
budgeted.policy.Unlimited budgeted.projection.Freeze budgeted.projection.Project budgeted.projection.Span
budgeted.projectron.Projectron budgeted.self_scored.RemoveConfident budgeted.self_scored.RemoveHarmless
budgeted.self_scored.SelfScores budgeted.sgd.Parts core.cache.KernelRows core.expansion.Expansion core.kernels.Linear
core.kernels.Poly core.kernels.RBF core.losses.BinaryHinge core.losses.MultiClassHinge core.origin.Origin
core.schedules.Implicit core.schedules.Norma core.schedules.PassiveAggressive core.schedules.Pegasos
core.schedules.Perceptron dual.biased.Biased dual.learn.Machine dual.online.Online dual.state.Dual
dual.tracking.Tracking estimators._asset_steps.Steps estimators._machines.Machine estimators._pairs.Examples
estimators._predictor.Predictor exact.machine.Machine exact.state.Exact exact.twins.Twins
pipelines.calibration.Calibration pipelines.rows.Rows pipelines.sampling.RowSample pipelines.watching.RangeWatch
"""


def test_every_part_is_declared():
    """Parts that files of version 1 name are still known, and all arrays of parts have a type and a shape."""
    for home in HOMES.values():
        import_module(home)
    for name in PARTS_OF_VERSION_1.split():
        declared = stored_under(name_today(name))
        assert declared is not None, name
        fields = fields_of(declared.cls)
        bare = {each for each, field in fields.items() if field.hint in (np.ndarray, np.ndarray | None)}
        bare -= {each for each, field in fields.items() if field.element is not None}
        assert bare <= set(declared.checked_within) <= set(fields), name


class TestRegressor:
    def test_goes_on(self, tmp_path):
        X, _ = blobs(100, 3, 2, seed=2)
        model = ASSETRegressor(n_components=16, gamma=0.3, random_state=0).partial_fit(X[:60], X[:60, 0])
        save(model, tmp_path / "model.frugal")
        copy = load(tmp_path / "model.frugal")
        for each in (model, copy):
            each.partial_fit(X[60:], X[60:, 0])
        assert same_file(model, copy, tmp_path)

    @pytest.mark.parametrize("options", [{}, {"loss": "pinball", "quantile": [0.1, 0.9]}], ids=["one", "several"])
    def test_a_budgeted_one_goes_on(self, options, tmp_path):
        X, _ = blobs(100, 3, 2, seed=2)
        model = BSGDRegressor(budget=10, gamma=0.3, random_state=0, **options).partial_fit(X[:60], 100 * X[:60, 0])
        save(model, tmp_path / "model.frugal")
        copy = load(tmp_path / "model.frugal")
        np.testing.assert_array_equal(copy.predict(X), model.predict(X))
        for each in (model, copy):
            each.partial_fit(X[60:], 100 * X[60:, 0])
        assert same_file(model, copy, tmp_path)
        save(model, tmp_path / "small.frugal", for_prediction=True)
        small = load(tmp_path / "small.frugal")
        np.testing.assert_allclose(small.predict(X), model.predict(X), rtol=1e-12)
        with pytest.raises(ValueError, match="cannot learn more rows"):
            small.partial_fit(X, X[:, 0])

    def test_path_of_a_fit(self, tmp_path):
        X, _ = blobs(100, 3, 2, seed=2)
        model = ASSETRegressor(n_components=16, gamma=0.3, C=[0.1, 1.0], random_state=0).fit(X, X[:, 0])
        save(model, tmp_path / "model.frugal")
        copy = load(tmp_path / "model.frugal")
        np.testing.assert_array_equal(copy.predict(X), model.predict(X))
        assert copy.C_ == model.C_
        assert copy.C == [0.1, 1.0]
        np.testing.assert_array_equal(copy.path_["objective"], model.path_["objective"])


@pytest.fixture(scope="module")
def data():
    return blobs(160, 3, 2, seed=1)


class TestForms:
    def test_unfitted(self, tmp_path):
        model = BSGDClassifier(budget="64KB", radius=float("inf"), class_weight={0: 1.0, np.int64(1): 2})
        save(model, tmp_path / "model.frugal")
        copy = load(tmp_path / "model.frugal")
        assert copy.get_params() == model.get_params()
        assert not hasattr(copy, "classes_")

    def test_generator_as_parameter(self, tmp_path, data):
        X, y = data
        model = BSGDClassifier(budget=10, gamma=0.3, random_state=np.random.RandomState(3)).fit(X, y)
        save(model, tmp_path / "model.frugal")
        copy = load(tmp_path / "model.frugal")
        assert same_file(model.fit(X, y), copy.fit(X, y), tmp_path)

    @pytest.mark.parametrize("name", ["bsgd", "asset"])
    def test_memory_mapped(self, name, tmp_path, data):
        X, y = data
        path = tmp_path / "model.frugal"
        model = clone(MODELS[name]).partial_fit(X[:90], y[:90])
        save(model, path)
        saved = path.read_bytes()
        copy = load(path, mmap=True)
        np.testing.assert_array_equal(copy.decision_function(X), model.decision_function(X))
        for each in (model, copy):  # what is learned stays in memory
            each.partial_fit(X[90:], y[90:])
        assert same_file(model, copy, tmp_path)
        assert path.read_bytes() == saved

    @pytest.mark.parametrize("n_first", [50, 120])
    def test_pipelines(self, n_first, tmp_path, data):
        """Also while the first rows wait for the scaler."""
        X, y = data
        model = StreamPipeline(clone(MODELS["bsgd"]), warmup_rows=100, calibrate=True)
        model.partial_fit(X[:n_first], y[:n_first], classes=[0, 1])
        save(model, tmp_path / "model.frugal")
        copy = load(tmp_path / "model.frugal")
        for each in (model, copy):
            each.partial_fit(X[n_first:], y[n_first:])
        np.testing.assert_array_equal(copy.predict_proba(X), model.predict_proba(X))
        assert same_file(model, copy, tmp_path)

    @pytest.mark.parametrize(
        "name", ["lasvm", *(pytest.param(n, marks=pytest.mark.slow) for n in ("incremental", "tvm"))]
    )
    def test_without_caches(self, name, tmp_path, data):
        X, y = data
        model = clone(RARE[name]).partial_fit(X[:90], y[:90])
        save(model, tmp_path / "whole.frugal", caches=True)
        save(model, tmp_path / "small.frugal")
        assert (tmp_path / "small.frugal").stat().st_size < (tmp_path / "whole.frugal").stat().st_size
        copy = load(tmp_path / "small.frugal")
        np.testing.assert_array_equal(copy.decision_function(X), model.decision_function(X))
        for each in (model, copy):
            each.partial_fit(X[90:], y[90:])
        np.testing.assert_allclose(copy.decision_function(X), model.decision_function(X), atol=1e-6)


def test_files_of_all_versions_stay_readable():
    X, y = version_rows()
    for version in range(1, FORMAT_VERSION + 1):
        path = FOLDER / f"version{version}.frugal"
        answers = json.loads(path.with_suffix(".json").read_text())
        model = load(path)
        assert model.predict(X).tolist() == answers["predicted"]
        np.testing.assert_allclose(model.decision_function(X), answers["scores"], rtol=1e-5)
        assert model.class_weight == {"left": 2.0}
        assert model.random_state.randint(10**6) == np.random.RandomState(5).randint(10**6)
        assert model.partial_fit(X, y).t_ == 80
        about = describe(path)
        assert about.format_version == version
        assert about.metadata["examples"] == 40
