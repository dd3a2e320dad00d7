"""How far a fit has come: the line, scikit-learn's callbacks, and that watching changes nothing."""

import importlib.util
import re

import numpy as np
import pytest

from frugalsvm import ASSETClassifier, ASSETRegressor, BSGDClassifier, LASVMClassifier, LocalSVC, TVMClassifier
from frugalsvm.datasets import make_checkerboard

has_callbacks = pytest.mark.skipif(
    importlib.util.find_spec("sklearn.callback") is None, reason="this scikit-learn has no callbacks"
)
MODELS = {
    "bsgd": lambda **more: BSGDClassifier(budget=30, gamma=3.0, max_iter=2, random_state=0, **more),
    "calibrated": lambda **more: BSGDClassifier(budget=30, gamma=3.0, calibrate="platt", random_state=0, **more),
    "lasvm": lambda **more: LASVMClassifier(C=1.0, gamma=3.0, random_state=0, **more),
    "tvm": lambda **more: TVMClassifier(budget=10, gamma=3.0, random_state=0, **more),
    "asset": lambda **more: ASSETClassifier(n_components=30, gamma=3.0, random_state=0, **more),
    "local": lambda **more: LocalSVC(gamma=3.0, C=1.0, cell_size=100, n_trees=2, random_state=0, **more),
}


@pytest.fixture(scope="module")
def rows():
    return make_checkerboard(9000, random_state=0)


class Recorder:
    """A callback that counts."""

    def __init__(self, last=None):
        self.events, self._last = [], last

    def setup(self, estimator, context):
        self.events.append("setup")

    def teardown(self, estimator, context):
        self.events.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.events.append("begin")

    def on_fit_task_end(self, estimator, context):
        self.events.append("end")
        return self._last is not None and self.events.count("end") >= self._last


@pytest.mark.parametrize("name", MODELS)
def test_watching_changes_nothing(rows, capsys, name):
    X, y = rows
    silent, watched = MODELS[name]().fit(X, y), MODELS[name](verbose=1).fit(X, y)
    np.testing.assert_array_equal(silent.decision_function(X), watched.decision_function(X))
    out, err = capsys.readouterr()
    assert not out
    assert err.startswith(f"{type(silent).__name__}: ")


def test_line_of_rows(rows, capsys):
    X, y = rows
    BSGDClassifier(budget=30, gamma=3.0, verbose=1, random_state=0).fit(X, y)
    last = capsys.readouterr().err.strip().splitlines()[-1]
    assert re.fullmatch(
        r"BSGDClassifier: 100%, 9,000 of 9,000 rows, [\d,]+ rows/s, 0\.0 s left, gradient error [\d.e-]+", last
    )


def test_line_of_steps(rows, capsys):
    X, y = rows
    ASSETRegressor(n_components=20, gamma=3.0, verbose=1, random_state=0).fit(X, y)
    last = capsys.readouterr().err.strip().splitlines()[-1]
    assert re.fullmatch(r"ASSETRegressor: \d+ steps, [\d.]+ s, objective \S+ on [\d,]+ rows, \S+ of it in reach", last)


def test_line_of_cells(rows, capsys):
    MODELS["local"](verbose=1, n_jobs=2).fit(*rows)
    last = capsys.readouterr().err.strip().splitlines()[-1]
    assert re.fullmatch(r"LocalSVC: 100%, 180 of 180 cells, [\d,]+ cells/s, 0\.0 s left", last)


def test_verbose_is_a_number(rows):
    with pytest.raises(ValueError, match="verbose"):
        BSGDClassifier(verbose="yes").fit(*rows)
    with pytest.raises(ValueError, match="verbose"):
        ASSETClassifier(verbose=-1).fit(*rows)
    with pytest.raises(ValueError, match="verbose"):
        LocalSVC(verbose="yes").fit(*rows)


@has_callbacks
@pytest.mark.parametrize("name", MODELS)
def test_callbacks(rows, name):
    recorder = Recorder()
    MODELS[name]().set_callbacks(recorder).fit(*rows)
    assert recorder.events[:2] == ["setup", "begin"]
    assert recorder.events[-1] == "teardown"
    assert recorder.events.count("begin") == recorder.events.count("end") >= 2


@has_callbacks
def test_callbacks_go_home_after_an_error(rows):
    recorder, (X, _) = Recorder(), rows
    model = BSGDClassifier().set_callbacks(recorder)
    with pytest.raises(ValueError, match="two classes"):
        model.fit(X, np.zeros(len(X)))
    assert recorder.events == ["setup", "begin", "teardown"]
    assert not any(name.startswith("_callback") for name in vars(model))


@has_callbacks
def test_a_callback_ends_a_fit_early(rows):
    X, y = rows
    model = BSGDClassifier(budget=30, gamma=3.0, random_state=0).set_callbacks(Recorder(last=1)).fit(X, y)
    assert 0 < model.t_ < len(X)
    assert model.predict(X).shape == y.shape


@has_callbacks
def test_a_callback_sees_a_model_that_predicts(rows):
    X, y = rows

    class Scores(Recorder):
        def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
            if fitted_estimator is not None:
                self.events.append(fitted_estimator.score(X, y))

    scores = Scores()
    BSGDClassifier(budget=30, gamma=3.0, random_state=0).set_callbacks(scores).fit(X, y)
    assert sum(isinstance(each, float) and each > 0.5 for each in scores.events) >= 3
