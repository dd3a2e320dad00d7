"""Files with right checksums and wrong contents: an error of ours, or a model that predicts finite scores."""

import warnings

import numpy as np
import pytest
from mutating import Mutator
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import RBFSampler
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, Normalizer, StandardScaler
from support import blobs

from frugalsvm import (
    ASSETClassifier,
    ASSETOneClassSVM,
    ASSETRegressor,
    AutoSVC,
    BPAClassifier,
    BSGDClassifier,
    BSGDOneClassSVM,
    BSGDRegressor,
    BudgetedPerceptron,
    IncrementalSVC,
    KernelSum,
    KernelTerm,
    LASVMClassifier,
    LocalSVC,
    LocalSVR,
    TrackingSVC,
    TVMClassifier,
)
from frugalsvm.conformal import ConformalClassifier, ConformalDetector, ConformalRegressor
from frugalsvm.persist import ModelFileError, load, save
from frugalsvm.pipelines import ColumnEncoder, MissingValueFiller, StreamPipeline

SEED = {"gamma": 0.3, "random_state": 0}
BSGD = BSGDClassifier(budget=10, **SEED)
ONE_CLASS = BSGDOneClassSVM(budget=10, window=20, **SEED)
SUM = KernelSum([KernelTerm("rbf", columns=[0, 2]), KernelTerm("poly", weight=0.1, gamma=0.5, degree=2)])
LEARNERS = {
    "bsgd": BSGD,
    "bsgd-averaged": BSGDClassifier(budget=10, average=True, **SEED),
    "bsgd-project": BSGDClassifier(maintenance="project", budget=10, **SEED),
    "bsgd-unlimited": BSGDClassifier(budget=None, **SEED),
    "linear": BSGDClassifier(maintenance="remove", budget=10, kernel="linear", **SEED),
    "perceptron": BudgetedPerceptron("random", 10, **SEED),
    "perceptron-tightest": BudgetedPerceptron("tightest", 10, **SEED),
    "projectron": BudgetedPerceptron("projectron", 10, **SEED),
    "bpa": BPAClassifier("nn", budget=10, **SEED),
    "lasvm": LASVMClassifier(cache_size=0.05, **SEED),
    "lasvm-biased": LASVMClassifier("lasvm", cache_size=0.05, **SEED),
    "tracking": TrackingSVC(cache_size=0.05, **SEED),
    "incremental": IncrementalSVC(gamma=0.3, cache_size=0.05),
    "tvm": TVMClassifier(10, **SEED),
    "asset": ASSETClassifier(n_components=16, **SEED),
    "asset-sum": ASSETClassifier(n_components=16, kernel=SUM, random_state=0),
    "asset-waiting": ASSETClassifier(n_components=200, **SEED),
    "fourier": ASSETClassifier("fourier", 16, solver="asset*", **SEED),
    "structured": ASSETClassifier("fourier", 70, structured=True, **SEED),
    "regressor": ASSETRegressor(n_components=16, **SEED),
    "regressor-quantiles": ASSETRegressor(loss="pinball", quantile=[0.1, 0.9], n_components=16, **SEED),
    "asset-one-class": ASSETOneClassSVM(n_components=16, **SEED),
    "bsgd-one-class": ONE_CLASS,
    "bsgd-regressor": BSGDRegressor(budget=10, **SEED),
    "bsgd-platt": BSGDClassifier(budget=10, calibrate="platt", **SEED),
    "lasvm-isotonic": LASVMClassifier(cache_size=0.05, calibrate="isotonic", **SEED),
    "asset-isotonic": ASSETClassifier(n_components=16, calibrate="isotonic", **SEED),
    "pipeline": StreamPipeline(BSGD, warmup_rows=50, calibrate=True),
    "pipeline-held": StreamPipeline(BSGD, warmup_rows=500),
    "pipeline-map": StreamPipeline(BSGD, warmup_rows=50, feature_map=RBFSampler(n_components=6, random_state=0)),
    "pipeline-soft": StreamPipeline(BSGD, warmup_rows=50, scale="soft"),
    "far": BSGD,  # from zero: rows are relative to an origin
    "far-lasvm": LASVMClassifier(cache_size=0.05, **SEED),
    "far-asset": ASSETClassifier(n_components=16, **SEED),
    "factors": BSGDClassifier(budget=10, metric=np.array([1.0, 0.0, 2.0]), **SEED),
    "directions": BSGDClassifier(budget=10, metric=np.array([[1.0, 0.0, 2.0], [0.0, 1.0, 1.0]]), **SEED),
    "directions-lasvm": LASVMClassifier(cache_size=0.05, metric=np.array([[1.0, 0.0, 2.0]]), **SEED),
    "directions-asset": ASSETClassifier(n_components=16, metric=np.array([[1.0, 0.0, 2.0]]), **SEED),
    "pipeline-metric": StreamPipeline(BSGDClassifier(budget=10, metric=np.ones(3), **SEED), warmup_rows=50),
    "pipeline-detector": StreamPipeline(ONE_CLASS, warmup_rows=50),
    "pipeline-detector-held": StreamPipeline(ONE_CLASS),
    "pipeline-targets-held": StreamPipeline(BSGDRegressor(budget=10, **SEED)),
    "pipeline-filled": StreamPipeline(BSGD, warmup_rows=50, impute="median"),
    "pipeline-indicated": StreamPipeline(BSGD, warmup_rows=50, impute=MissingValueFiller(indicator=True)),
    "auto": AutoSVC(kernel="rbf", n_components=8, metric=None, random_state=0),
    "auto-cells": AutoSVC(kernel="rbf", metric=None, random_state=0),
    "local": LocalSVC(cell_size=9, n_trees=2, **SEED),
    "local-isotonic": LocalSVC(cell_size=30, kernel="rbf", calibrate="isotonic", dtype="float64", **SEED),
    "far-local": LocalSVC(cell_size=9, **SEED),
    "directions-local": LocalSVC(cell_size=9, metric=np.array([[1.0, 0.0, 2.0]]), **SEED),
    "regressor-local": LocalSVR(cell_size=9, n_trees=2, **SEED),
    "bytes-local": LocalSVC(cell_size=15, budget="1500B", **SEED),
    "sklearn": make_pipeline(StandardScaler(), BSGD),
    "sklearn-imputer": make_pipeline(SimpleImputer(), MinMaxScaler(), Normalizer(), BSGD),
    "pipeline-text": StreamPipeline(BSGD, warmup_rows=50, encoder=ColumnEncoder()),
    "pipeline-means": StreamPipeline(BSGD, warmup_rows=50, encoder=ColumnEncoder("target", cardinality_threshold=2)),
    "conformal": ConformalClassifier(BSGD, by_class=True, window=20),
    "conformal-alarms": ConformalDetector(BSGDOneClassSVM(budget=10, window=20, **SEED), window=20),
    "regressor-conformal": ConformalRegressor(BSGDRegressor(budget=10, **SEED), window=20),
}
QUICK = (
    "bsgd",
    "bsgd-platt",
    "asset-isotonic",
    "perceptron",
    "asset",
    "asset-sum",
    "pipeline",
    "pipeline-text",
    "pipeline-means",
    "factors",
    "directions",
    "local",
    "regressor-local",
    "bytes-local",
)
SEVERAL = (
    "bsgd",
    "bsgd-platt",
    "lasvm-isotonic",
    "bsgd-averaged",
    "perceptron",
    "bpa",
    "lasvm",
    "incremental",
    "tvm",
    "asset",
    "pipeline",
)
LOCAL = ("local", "local-isotonic", "far-local", "directions-local", "regressor-local", "bytes-local")
ONLY_FITTED = (*LOCAL, "sklearn", "sklearn-imputer", "auto", "auto-cells", "asset-one-class")
CONFORMAL = ("conformal", "conformal-alarms", "regressor-conformal")
FITTED = ("asset", "regressor", "regressor-quantiles", *CONFORMAL, *ONLY_FITTED)  # by `fit`
CASES = [(name, 2, "partial_fit") for name in LEARNERS if name not in ONLY_FITTED]
CASES += [(name, 3, "partial_fit") for name in SEVERAL]
CASES += [(name, 2, "fit") for name in FITTED]
CASES += [("local", 3, "fit"), ("bytes-local", 3, "fit")]
OPTIONS = ({}, {"caches": True}, {"for_prediction": True})


def data_for(name, n_classes):
    X, y = blobs(90, 3, n_classes, seed=1)
    if name.startswith("far"):
        X = (X + 1e4).astype(np.float32)
    if name in ("pipeline-filled", "pipeline-indicated"):
        X[::7, 1] = np.nan
    if name in ("pipeline-text", "pipeline-means"):
        return (lambda part: (X[part], {"color": np.array(["red", "green", "blue"], object)[y[part]]})), y
    if name == "pipeline-targets-held":
        return (lambda part: X[part]), X[:, :2]
    return (lambda part: X[part]), X[:, 0] if name.startswith("regressor") else y


def predicted(model, X):
    """Scores, or predictions of a regressor."""
    scores = model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)
    if hasattr(model, "predict_proba"):
        assert np.isfinite(model.predict_proba(X)).all()
    assert len(model.predict(X)) == len(scores)
    return scores


def undeclared(model):
    """Attributes that ``_saved`` says nothing about, of a model and of what is in it."""
    state, saved = vars(model), type(model)._saved
    known = {*saved.required, *saved.optional, *model._get_param_names()}
    within = [undeclared(each) for each in state.values() if hasattr(each, "_saved")]
    return {f"{type(model).__name__}.{key}" for key in state if key not in known}.union(*within)


def attack(name, n_classes, method, n, folder):
    """Mutants of a model; returns how many were refused, loaded, and taught."""
    X, y = data_for(name, n_classes)
    model = clone(LEARNERS[name])
    getattr(model, method)(X(slice(60)), y[:60])
    assert not name.startswith("far") or not model._origin.is_zero
    if not name.startswith("sklearn"):
        assert not undeclared(model)  # what is new there needs a line in `_saved`
    n_refused = n_taught = 0
    for number, options in enumerate(OPTIONS):
        if name.endswith("-held") and "for_prediction" in options:
            continue
        path = folder / "model.frugal"
        save(model, path, **options)
        mutator = Mutator(path.read_bytes(), seed=[number, n, n_classes, *name.encode()])
        for _ in range(n):
            content, what = mutator.mutant()
            path.write_bytes(content)
            mutant, reason = _loaded(path)
            if mutant is None:
                assert "\n" not in reason
                n_refused += 1
            else:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    n_taught += _use(mutant, X, y, f"{name} {n_classes} {options}: {what}")
    return n_refused, n_taught


def _loaded(path):
    try:
        return load(path), None
    except ModelFileError as error:
        return None, str(error)


def _use(model, X, y, what):
    """Predict with a mutant that was loaded, and teach it; returns whether it could be taught."""
    try:
        scores = predicted(model, X(slice(60, 70)))
    except NotFittedError:
        return False
    except Exception as error:
        raise AssertionError(f"{what}: {type(error).__name__}: {error}") from error
    assert np.isfinite(scores).all(), what
    # Pipelines of scikit-learn do not learn on, nor do cells in a number of bytes.
    learns = getattr(model, "partial_fit", model.fit) if getattr(model, "memory", None) is None else model.fit
    if hasattr(model, "row_ids_"):
        learns = model.partial_fit
    try:
        learns(X(slice(60, 90)), y[60:])
    except ValueError:
        return False
    except Exception as error:
        raise AssertionError(f"{what}: {type(error).__name__}: {error}") from error
    return True


@pytest.mark.parametrize("name", QUICK)
def test_some_mutants(name, tmp_path):
    method = "fit" if name in ONLY_FITTED else "partial_fit"
    n_refused, n_taught = attack(name, 2, method, 15, tmp_path)
    assert n_refused > 15
    assert n_taught > 0


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(map(str, case)))
def test_many_mutants(case, tmp_path):
    """Together more than 5 000."""
    assert attack(*case, 60, tmp_path)[0] > 60
