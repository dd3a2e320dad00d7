"""Models that several threads use at once: predictions are those of one thread, and nothing that is learned is lost."""

import copy
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.base import clone

from frugalsvm import (
    BPAClassifier,
    BSGDClassifier,
    BSGDOneClassSVM,
    BSGDRegressor,
    BudgetedPerceptron,
    IncrementalSVC,
    LASVMClassifier,
    LocalSVC,
    load,
    save,
)
from frugalsvm._locks import exclusively, sharing
from frugalsvm.checks import check_learning_in_threads, check_predicting_in_threads
from frugalsvm.conformal import ConformalClassifier, ConformalDetector, ConformalRegressor
from frugalsvm.pipelines import StreamingScaler, StreamPipeline
from frugalsvm.stream_search import StreamTuner

SEED = {"gamma": 0.5, "random_state": 0}
BSGD = BSGDClassifier(budget=20, **SEED)


def pipeline(estimator, **options):
    return StreamPipeline(estimator, warmup_rows=64, **options)


REGRESSOR = BSGDRegressor(budget=20, standardize=False, epsilon=0.1, **SEED)
# Other estimators by themselves are in test_checks.py.
MODELS = {
    "bsgd": BSGD,
    "lasvm": LASVMClassifier(cache_size=1, **SEED),
    "local": LocalSVC(cell_size=50, n_jobs=2, **SEED),
    "pipeline": pipeline(BSGD, calibrate=True),
    "pipeline-experts": pipeline(BSGDClassifier(budget=20, half_life="auto", **SEED)),
    "pipeline-bpa": pipeline(BPAClassifier("nn", budget=20, **SEED)),
    "pipeline-growing": pipeline(BPAClassifier("nn", None, **SEED)),
    "pipeline-regressor": pipeline(REGRESSOR),
    "pipeline-novelty": pipeline(BSGDOneClassSVM(budget=20, **SEED)),
    "pipeline-held": StreamPipeline(BSGD, warmup_rows=1000),
    "tuner": StreamTuner([BSGD, BudgetedPerceptron("random", 20, **SEED)], min_rows=200),
    "conformal": ConformalClassifier(pipeline(BSGD)),
    "conformal-regressor": ConformalRegressor(pipeline(REGRESSOR)),
    "conformal-novelty": ConformalDetector(pipeline(BSGDOneClassSVM(budget=20, **SEED))),
}
NO_SCORES = ("conformal", "conformal-regressor", "conformal-novelty")  # to compare: their own tests have thresholds


@pytest.mark.parametrize("name", MODELS)
def test_predicting(name):
    check_predicting_in_threads(MODELS[name])


@pytest.mark.parametrize("name", [name for name in MODELS if name not in (*NO_SCORES, "tuner")])
def test_learning(name):
    check_learning_in_threads(MODELS[name])


X = np.random.default_rng(0).normal(size=(400, 3))
Y = (X[:, 0] * X[:, 1] > 0).astype(int)


def in_threads(function, n_times=8):
    with ThreadPoolExecutor(n_times) as pool:
        return list(pool.map(function, range(n_times)))


@pytest.mark.parametrize("name", ["pipeline", "pipeline-growing", "pipeline-held"])
def test_single_rows_are_all_learned(name):
    model = clone(MODELS[name]).partial_fit(X, Y)

    def learn(k):
        for x, y in zip(X[k::8], Y[k::8], strict=True):
            model.learn_one_row(x, y)

    in_threads(learn)
    assert model.flush().estimator_.t_ == 2 * len(X)


def test_scores_of_conformal_models_are_all_taken():
    model = clone(MODELS["conformal"]).partial_fit(X, Y)
    before = model._reservoirs[0].counts[0]["n_rows"]
    in_threads(lambda k: [model.learn_one_row(x, y) for x, y in zip(X[k::8], Y[k::8], strict=True)])
    assert model._reservoirs[0].counts[0]["n_rows"] - before == len(X)
    assert model.estimator_.estimator_.t_ == 2 * len(X)


def test_rows_of_a_tuner_are_all_learned():
    model = clone(MODELS["tuner"]).partial_fit(X, Y)
    in_threads(lambda k: model.partial_fit(X[k::8], Y[k::8]))
    assert model.t_ == 2 * len(X)


def test_rows_of_a_scaler_are_all_taken():
    scaler = StreamingScaler("standard").partial_fit(X)
    in_threads(lambda k: [scaler.partial_fit(x[None]) for x in X[k::8]])
    assert scaler.n_seen_ == 2 * len(X)


@pytest.mark.parametrize("name", ["bsgd", "lasvm", "pipeline", "pipeline-experts"])
def test_predictions_beside_learning_are_those_before_or_after_a_batch(name):
    """The batch has all labels turned around: a mixture of both models would be seen."""
    model = clone(MODELS[name]).partial_fit(X, Y)
    after = copy.deepcopy(model).partial_fit(X, 1 - Y).decision_function(X)
    before = model.decision_function(X)
    started, found = threading.Event(), []

    def ask():
        while len(found) < 200:
            found.append(model.decision_function(X))
            started.set()

    thread = threading.Thread(target=ask)
    thread.start()
    started.wait()
    model.partial_fit(X, 1 - Y)
    thread.join()
    assert all(np.array_equal(each, before) or np.array_equal(each, after) for each in found)
    assert np.array_equal(found[-1], after)


def test_unlearning_beside_learning():
    model = IncrementalSVC(gamma=0.5, cache_size=1).partial_fit(X[:80], Y[:80])
    in_threads(lambda k: model.unlearn([k]) if k % 2 else model.partial_fit(X[80 + k : 82 + k], Y[80 + k : 82 + k]))
    assert model.n_examples_ == 80 + 4 * 2 - 4


def test_a_file_is_written_between_two_batches(tmp_path):
    model = clone(BSGD).partial_fit(X, Y)
    path, is_done = tmp_path / "model.frugal", threading.Event()

    def write():
        save(model, path)
        is_done.set()

    with exclusively(model):
        thread = threading.Thread(target=write)
        thread.start()
        assert not is_done.wait(0.05)
    thread.join()
    assert np.array_equal(load(path).decision_function(X), model.decision_function(X))


def test_locks_are_not_copied():
    model = clone(MODELS["pipeline"]).partial_fit(X, Y)
    with exclusively(model):  # copies are free nevertheless
        copies = [clone(model), copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))]
    for each in copies[1:]:
        assert each._lock is not model._lock
        assert np.array_equal(each.decision_function(X), model.decision_function(X))
    assert "_lock" not in vars(model)


# --- the lock -----------------------------------------------------------------------------------------------------


def test_a_model_may_predict_while_it_learns_in_the_same_thread():
    model = clone(BSGD).partial_fit(X, Y)
    with exclusively(model), exclusively(model):
        assert model.score(X, Y) > 0.5
        model.partial_fit(X, Y)
    assert in_threads(lambda _: model.score(X, Y)) == [model.score(X, Y)] * 8


def test_a_thread_that_predicts_cannot_learn():
    model = clone(BSGD).partial_fit(X, Y)
    with sharing(model), pytest.raises(RuntimeError, match="same thread"):
        model.partial_fit(X, Y)
    model.partial_fit(X, Y)


def test_readers_that_come_later_let_a_writer_go_first():
    model, order = clone(BSGD).partial_fit(X, Y), []

    def write():
        with exclusively(model):
            order.append("learned")

    def read():
        with sharing(model):
            order.append("predicted")

    writer, reader = threading.Thread(target=write), threading.Thread(target=read)
    with sharing(model):
        writer.start()
        while model._lock._writer is None:  # it waits for this thread
            pass
        reader.start()
        assert order == []
    writer.join()
    reader.join()
    assert order == ["learned", "predicted"]
