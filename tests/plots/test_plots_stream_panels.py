"""Ages of support vectors and coverage: noted along a stream, and drawn above each other."""

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from frugalsvm import BSGDClassifier
from frugalsvm.conformal import ConformalClassifier
from frugalsvm.datasets import DriftStream
from frugalsvm.pipelines import StreamPipeline
from frugalsvm.plots import CoverageDisplay, StreamDisplay, TraceDisplay, record_stream


@pytest.fixture(scope="module")
def batches():
    stream = DriftStream("checkerboard", changes=[2_000], random_state=0, dtype=np.float64)
    return list(stream.chunks(4_000, 100))


def new_model(**params):
    return BSGDClassifier(budget=30, gamma=5.0, **params)


@pytest.fixture(scope="module")
def history(batches):
    models = {"plain": new_model(), "promising": ConformalClassifier(new_model(half_life=300), coverage=0.8)}
    return record_stream(models, batches)


def test_ages_are_those_of_the_vectors(batches):
    model = new_model(maintenance="remove")
    notes = record_stream(model, batches[:10])["BSGDClassifier"]
    ages = model.support_ages_
    assert ages.shape == (len(model.support_vectors_),)
    assert notes["median_age"][-1] == np.median(ages)
    # Nothing was merged: each vector is the example that came so many examples ago.
    X = np.concatenate([X for X, _ in batches[:10]])
    np.testing.assert_array_equal(X[len(X) - 1 - ages], model.support_vectors_)


def test_coverage_is_that_of_the_sets(batches, history):
    notes = history["promising"]
    model = ConformalClassifier(new_model(half_life=300), coverage=0.8).partial_fit(*batches[0])
    expected = [0]
    for X, y in batches[1:]:
        sets = model.test_then_train(X, y)
        expected.append(int(sets[np.arange(len(y)), np.searchsorted(model.classes_, y)].sum()))
    np.testing.assert_array_equal(notes["n_covered"], expected)
    assert set(notes["promised"]) == {0.8}
    assert "n_covered" not in history["plain"]


def test_a_promise_around_a_pipeline_is_followed_through_its_warm_up(batches):
    model = ConformalClassifier(StreamPipeline(new_model(), scale=False, warmup_rows=350))
    notes = record_stream({"one": model}, batches[:8], classes=[-1, 1])["one"]
    assert np.isnan(notes["median_age"][:3]).all()
    assert np.isfinite(notes["median_age"][3:]).all()


def test_coverage_of_a_history(history):
    display = CoverageDisplay.from_history(history, window=1_000)
    assert list(display.coverage) == ["promising"]
    assert display.promised == 0.8
    assert abs(display.coverage["promising"][-1] - 0.8) < 0.05
    several = CoverageDisplay.from_history([history, history], drifts=[2_000])
    assert len(several.bands_) == len(several.marks_) == 1


def test_histories_without_a_promise_are_refused(batches):
    history = record_stream({"bayes": GaussianNB()}, batches[:3], classes=[-1, 1])
    with pytest.raises(ValueError, match="No estimator promises"):
        CoverageDisplay.from_history(history)
    with pytest.raises(ValueError, match="has no 'median_age'"):
        TraceDisplay.from_history(history, trace="median_age")


def test_panels(history):
    display = StreamDisplay(history, window=500, drifts=[2_000]).plot()
    axes = [each.ax_ for each in display.displays_]
    assert [ax.get_ylabel() for ax in axes] == ["Accuracy", "Median age of vectors", "Coverage"]
    assert [len(ax.get_lines()) for ax in axes] == [3, 3, 3]  # two models and a drift; a model, a promise and a drift
    assert [ax.get_xlabel() for ax in axes] == ["", "", "Examples learned"]
    assert [ax.get_legend() is not None for ax in axes] == [True, False, False]


def test_panels_that_would_be_empty_are_left_out(batches):
    display = StreamDisplay.from_stream({"bayes": GaussianNB()}, batches[:5], classes=[-1, 1], window=None)
    assert len(display.displays_) == len(display.figure_.axes) == 1
