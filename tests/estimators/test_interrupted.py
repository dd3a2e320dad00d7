"""Learning that fails in the middle: the model is as it was, arrays included, and goes on learning rightly."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from support import blobs

from frugalsvm import (
    ASSETClassifier,
    ASSETRegressor,
    BSGDClassifier,
    BSGDRegressor,
    BudgetedPerceptron,
    LASVMClassifier,
    TrackingSVC,
    TVMClassifier,
)
from frugalsvm.budgeted import sgd
from frugalsvm.dual import online
from frugalsvm.estimators.unchanged import LONG_BATCH
from frugalsvm.exact import tvm
from frugalsvm.lowrank import epochs
from frugalsvm.pipelines import StreamPipeline

X, Y = blobs(1200, 5, 2, seed=0)
FIRST, LONG, SHORT = slice(300), slice(300, 300 + LONG_BATCH + 44), slice(300, 340)
BLOCK = 32

ESTIMATORS = {
    "bsgd": BSGDClassifier(budget=20, random_state=0),
    "unlimited": BSGDClassifier(budget=None, random_state=0),
    "projection": BSGDClassifier(budget=20, maintenance="project", random_state=0),
    "perceptron": BudgetedPerceptron(budget=20, random_state=0),
    "forgetron": BudgetedPerceptron("forgetron", budget=20, random_state=0),
    "lasvm": LASVMClassifier(random_state=0),
    "tracking": TrackingSVC(random_state=0),
    "tvm": TVMClassifier(budget=20, random_state=0),
    "asset": ASSETClassifier(n_components=16, random_state=0),
    "regressor": ASSETRegressor(n_components=16, random_state=0),
    "bsgd-regressor": BSGDRegressor(budget=20, random_state=0),
}


@pytest.fixture(params=ESTIMATORS)
def model(request):
    return clone(ESTIMATORS[request.param]).partial_fit(X[FIRST], Y[FIRST])


@pytest.fixture
def interrupted(monkeypatch):
    """A function that lets the compiled runners learn one block, so many calls later, and then interrupts them."""

    def interrupt(after=0):
        left = [after]
        for module, name, position in ((sgd, "run", 2), (online, "_run", 2), (tvm, "_run", 2), (epochs, "learn", 5)):
            monkeypatch.setattr(module, name, _one_block(getattr(module, name), position, left))

    return interrupt


def _one_block(run, position, left):
    """The argument at ``position`` has an entry for each row: labels, or their order."""

    def one_block(*arguments):
        if left[0] > 0:
            left[0] -= 1
            return run(*arguments)
        run(*(each[:BLOCK] if k == position else each for k, each in enumerate(arguments)))
        raise KeyboardInterrupt

    return one_block


def published(model):
    """All numbers that a model tells: scores, counters, certificates."""
    names = [name for name in dir(model) if name.endswith("_") and not name.startswith("_") and name != "duality_gap_"]
    values = {name: getattr(model, name) for name in names}
    if hasattr(model, "decision_function"):
        values["scores"] = model.decision_function(X)
    values["predictions"] = model.predict(X)
    return {name: value for name, value in values.items() if isinstance(value, np.ndarray | np.number | int | float)}


def assert_same(model, before):
    after = published(model)
    assert after.keys() == before.keys()
    for name, value in before.items():
        np.testing.assert_array_equal(after[name], value, err_msg=name)


def assert_goes_on(model, twin):
    """Both learn on and come to the same model."""
    later = slice(700, 1000)
    np.testing.assert_allclose(
        model.partial_fit(X[later], Y[later]).predict(X), twin.partial_fit(X[later], Y[later]).predict(X)
    )
    assert model.t_ == twin.t_


def test_long_batch(model, interrupted, monkeypatch):
    twin, before = pickle.loads(pickle.dumps(model)), published(model)
    interrupted()
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X[LONG], Y[LONG])
    assert_same(model, before)
    monkeypatch.undo()
    assert_goes_on(model, twin)


def test_interruption_did_change_arrays(model, interrupted, monkeypatch):
    """Without copies this would go wrong: the test above tests something."""
    monkeypatch.setattr("frugalsvm.estimators.unchanged.LONG_BATCH", 10**9)
    t = model.t_
    interrupted()
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X[LONG], Y[LONG])
    assert model.t_ > t


def test_warm_start(model, interrupted, monkeypatch):
    if not hasattr(model, "warm_start"):
        pytest.skip("fit begins anew")
    model.set_params(warm_start=True, max_iter=2)
    twin, before = pickle.loads(pickle.dumps(model)), published(model)
    interrupted(after=1)  # in the second pass
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[SHORT], Y[SHORT])
    assert_same(model, before)
    monkeypatch.undo()
    assert_goes_on(model, twin)


def test_fit_anew(model, interrupted):
    if hasattr(model, "solver"):
        model.set_params(solver="asset")  # Newton steps make new arrays
    before = published(model)
    interrupted()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[LONG], Y[LONG])
    assert_same(model, before)


def test_short_batches_are_learned_without_copies():
    model = clone(ESTIMATORS["bsgd"]).fit(X[FIRST], Y[FIRST])
    state = model.state
    assert model.partial_fit(X[SHORT], Y[SHORT]).state is state
    assert model.partial_fit(X[LONG], Y[LONG]).state is not state


@pytest.mark.parametrize("n_rows", [40, 400])
def test_a_store_that_has_grown(n_rows, interrupted, monkeypatch):
    """Kernel values that are kept are at other places then. Of a short batch, what filled the store stays learned."""
    rows, labels = blobs(2000, 5, 2, seed=1)
    n_slots, n_first = online.FIRST_SLOTS, online.FIRST_SLOTS - 14
    model, twin = (LASVMClassifier("full").partial_fit(rows[:n_first], labels[:n_first]) for _ in range(2))
    if n_rows <= LONG_BATCH:
        twin.partial_fit(rows[n_first:n_slots], labels[n_first:n_slots])
    batch = slice(n_first, n_first + n_rows)
    interrupted(after=1)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(rows[batch], labels[batch])
    monkeypatch.undo()
    for _ in range(2):
        assert model.t_ == twin.t_
        np.testing.assert_allclose(model.decision_function(X), twin.decision_function(X), rtol=1e-6, atol=1e-9)
        model.partial_fit(rows[1500:], labels[1500:])
        twin.partial_fit(rows[1500:], labels[1500:])


def test_new_classes(interrupted):
    model = BSGDClassifier(budget=20, new_classes="grow", random_state=0).fit(X[FIRST], Y[FIRST])
    before = published(model)
    interrupted()
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X[SHORT], np.full(40, 7))
    assert_same(model, before)


@pytest.mark.parametrize("name", ["bsgd", "lasvm", "tvm", "asset"])
def test_pipeline(name, interrupted):
    model = StreamPipeline(clone(ESTIMATORS[name]), warmup_rows=100, calibrate=True)
    model.partial_fit(X[FIRST], Y[FIRST])
    before, slope = published(model.estimator_), model.slope_
    interrupted()
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X[LONG], Y[LONG])
    assert_same(model.estimator_, before)
    assert model.slope_ == slope


def test_pipeline_that_learns_a_batch_in_parts(interrupted, monkeypatch):
    """The first part was learned, and the scaler renewed, when the second one fails."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(6000, X.shape[1]))
    labels = (rows[:, 0] * rows[:, 1] > 0).astype(int)
    rows[2000:] += 1000.0
    model = StreamPipeline(clone(ESTIMATORS["bsgd"])).partial_fit(rows[:2000], labels[:2000])
    before, statistics = published(model.estimator_), pickle.dumps(vars(model.scaler_))
    calls = []
    monkeypatch.setattr(type(model.scaler_), "become", _counted(type(model.scaler_).become, calls))
    interrupted(after=1)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(rows[2000:], labels[2000:])
    assert len(calls) == 1
    assert_same(model.estimator_, before)
    assert pickle.dumps(vars(model.scaler_)) == statistics


def _counted(function, calls):
    def counted(*arguments):
        calls.append(arguments)
        return function(*arguments)

    return counted
