"""Curves: what is noted along a stream, and how it is drawn."""

import numpy as np
import pytest
from sklearn.linear_model import SGDClassifier
from sklearn.svm import SVC

from frugalsvm import ASSETClassifier, ASSETRegressor, BSGDClassifier
from frugalsvm.datasets import make_checkerboard
from frugalsvm.pipelines import StreamPipeline
from frugalsvm.plots import (
    AccuracyCurveDisplay,
    ErrorVsSupportDisplay,
    TimeCurveDisplay,
    TraceDisplay,
    record_stream,
)


def legend_texts(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


def new_model(budget=20):
    return BSGDClassifier(budget=budget, gamma=5.0, alpha=1e-3, random_state=0)


@pytest.fixture(scope="module")
def board():
    return make_checkerboard(1000, random_state=0)


@pytest.fixture(scope="module")
def batches(board):
    X, y = board
    return [(X[start : start + 100], y[start : start + 100]) for start in range(0, 1000, 100)]


@pytest.fixture(scope="module")
def history(batches):
    return record_stream({"small": new_model(5), "large": new_model(50)}, batches)


# --- recording ------------------------------------------------------------------------------------------------


def test_every_batch_is_predicted_before_it_is_learned(history, batches):
    model, right = new_model(50), [0]
    model.partial_fit(*batches[0])
    for X, y in batches[1:]:
        right.append(int((model.predict(X) == y).sum()))
        model.partial_fit(X, y)
    np.testing.assert_array_equal(history["large"]["n_right"], right)
    np.testing.assert_array_equal(history["large"]["n_tested"], [0] + 9 * [100])
    np.testing.assert_array_equal(history["large"]["examples"], np.arange(100, 1001, 100))
    assert history["large"]["gradient_error_"][-1] == model.gradient_error_
    assert history["large"]["n_terms"][-1] == len(model.support_vectors_) == 50
    assert history["large"]["model_bytes"][-1] == model.model_bytes_
    assert (np.diff(history["large"]["seconds"]) > 0).all()
    assert "duality_gap_" not in history["large"]


def test_rehearsing_changes_nothing_but_the_time(batches):
    plain, rehearsed = new_model(), new_model()
    record_stream(plain, batches, rehearse=False)
    record_stream(rehearsed, batches, rehearse=True)
    np.testing.assert_array_equal(plain.dual_coef_, rehearsed.dual_coef_)
    assert rehearsed.t_ == 1000


def test_fitted_models_are_tested_from_the_first_batch_on(batches):
    fitted = new_model().fit(*batches[0])
    notes = record_stream(fitted, batches[1:])["BSGDClassifier"]
    assert notes["n_tested"][0] == 100


def test_test_examples_are_predicted_after_every_batch(batches, board):
    model = new_model()
    notes = record_stream(model, batches, test=board)["BSGDClassifier"]
    assert notes["test_accuracy"][-1] == pytest.approx(model.score(*board))
    display = AccuracyCurveDisplay.from_history({"a": notes})
    np.testing.assert_array_equal(display.values["a"], notes["test_accuracy"])


def test_classes_are_passed_and_pipelines_that_wait_have_no_size_yet(batches):
    models = [SGDClassifier(random_state=0), StreamPipeline(new_model(), warmup_rows=250)]
    noted = record_stream(models, batches, classes=[-1, 1])
    assert list(noted) == ["SGDClassifier", "StreamPipeline"]
    assert "n_terms" not in noted["SGDClassifier"]
    np.testing.assert_array_equal(np.isnan(noted["StreamPipeline"]["n_terms"]), [True, True] + 8 * [False])


def test_weights_of_batches_are_learned_with(batches):
    from frugalsvm.streams import Batch

    X, y = batches[0]
    model, expected = new_model(), new_model()
    weights = np.where(np.arange(100) < 50, 1.0, 0.0)
    record_stream(model, [Batch(X, y, weights, 0, None)])
    expected.partial_fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(model.dual_coef_, expected.dual_coef_)


def test_streams_that_cannot_be_followed_are_refused(batches):
    with pytest.raises(TypeError, match="SVC has no partial_fit"):
        record_stream(SVC(), batches)
    with pytest.raises(TypeError, match="ASSETRegressor is a regressor"):
        record_stream(ASSETRegressor(), batches)
    with pytest.raises(ValueError, match="no batches: was it read before"):
        record_stream(new_model(), iter(()))
    with pytest.raises(ValueError, match=r"a single pair is \[\(X, y\)\]"):
        record_stream(new_model(), batches[0])
    with pytest.raises(ValueError, match="There is no estimator"):
        record_stream({}, batches)


# --- accuracy -------------------------------------------------------------------------------------------------


def test_accuracy_so_far_and_of_a_window(history):
    right = history["large"]["n_right"]
    display = AccuracyCurveDisplay.from_history(history)
    np.testing.assert_array_equal(display.examples["large"], np.arange(200, 1001, 100))
    np.testing.assert_allclose(display.values["large"], np.cumsum(right[1:]) / np.arange(100, 901, 100))
    moving = AccuracyCurveDisplay.from_history(history, window=250, metric="error")
    np.testing.assert_allclose(moving.values["large"][-1], 1 - right[-2:].sum() / 200)
    smaller_than_a_batch = AccuracyCurveDisplay.from_history(history, window=10)
    np.testing.assert_allclose(smaller_than_a_batch.values["large"], right[1:] / 100)
    assert legend_texts(display) == ["small", "large"]
    assert [moving.ax_.get_ylabel(), display.ax_.get_ylabel()] == ["Error", "Accuracy"]
    np.testing.assert_array_equal(display.lines_[1].get_ydata(), display.values["large"])


def test_from_stream_learns_and_draws(batches):
    model = new_model()
    display = AccuracyCurveDisplay.from_stream({"one": model}, iter(batches), xscale="log", color="k")
    assert model.t_ == 1000
    assert display.ax_.get_xscale() == "log"
    assert display.lines_[0].get_color() == "k"
    assert len(display.values["one"]) == 9


def test_several_runs_have_a_band_of_one_standard_deviation():
    runs = np.array([[0.5, 0.8], [0.7, 1.0]])
    display = AccuracyCurveDisplay({"a": [10, 20]}, {"a": runs}).plot()
    np.testing.assert_allclose(display.lines_[0].get_ydata(), [0.6, 0.9])
    heights = display.bands_[0].get_paths()[0].vertices[:, 1]
    spread = np.std([0.5, 0.7], ddof=1)
    assert heights.min() == pytest.approx(0.6 - spread)
    assert heights.max() == 1.0  # no accuracy is above one
    assert AccuracyCurveDisplay({"a": [10, 20]}, {"a": runs[0]}).plot().bands_ == []


def test_runs_of_a_list_become_rows(history):
    display = AccuracyCurveDisplay.from_history([history, history, history])
    assert display.values["small"].shape == (3, 9)
    assert len(display.bands_) == 2


def test_curves_that_do_not_fit_are_refused(history, batches):
    with pytest.raises(ValueError, match="metric must be one of 'accuracy', 'error', not 'f1'"):
        AccuracyCurveDisplay.from_history(history, metric="f1")
    with pytest.raises(ValueError, match="window must be a number"):
        AccuracyCurveDisplay.from_history(history, window=0)
    with pytest.raises(ValueError, match="'one' was never tested"):
        AccuracyCurveDisplay.from_stream({"one": new_model()}, batches[:1])
    with pytest.raises(ValueError, match="the same names"):
        AccuracyCurveDisplay({"a": [1]}, {"b": [1]})
    with pytest.raises(ValueError, match=r"'a' has examples of shape \(2,\) and values of shape \(3,\)"):
        AccuracyCurveDisplay({"a": [1, 2]}, {"a": [1, 2, 3]})
    shorter = {name: {key: values[1:] for key, values in notes.items()} for name, notes in history.items()}
    with pytest.raises(ValueError, match="different numbers of examples"):
        AccuracyCurveDisplay.from_history([history, shorter])
    with pytest.raises(ValueError, match="what record_stream returns"):
        AccuracyCurveDisplay.from_history([])


def test_numbers_on_the_axes_are_compact():
    display = AccuracyCurveDisplay({"a": [0, 20_000]}, {"a": [0.5, 0.75]}).plot()
    written = display.ax_.xaxis.get_major_formatter()
    assert [written(value, 0) for value in (0, 5000, 20_000)] == ["0", "5k", "20k"]
    assert display.ax_.yaxis.get_major_formatter()(0.625, 0) == "62.5%"


# --- time -----------------------------------------------------------------------------------------------------


def test_exponents_are_fitted_and_written_in_the_legend():
    n = np.array([10, 100, 1000, 10_000])
    seconds = {"square": 1e-6 * n**2.0, "late": np.array([5.0, 5.0, 10.0, 100.0])}
    display = TimeCurveDisplay({"square": n, "late": n}, seconds, fit_from=1000).plot()
    assert display.exponents["square"] == pytest.approx(2.0)
    assert display.exponents["late"] == pytest.approx(1.0)
    assert legend_texts(display) == ["square ($n^{2.00}$)", "late ($n^{1.00}$)"]
    assert (display.ax_.get_xscale(), display.ax_.get_yscale()) == ("log", "log")
    alone = TimeCurveDisplay({"one": [10]}, {"one": [1.0]}).plot()
    assert np.isnan(alone.exponents["one"])
    assert legend_texts(alone) == ["one"]


def test_fits_are_timed_on_growing_samples(board):
    model = new_model()
    display = TimeCurveDisplay.from_estimators({"a": model}, *board, sizes=[400, 100, 200], n_runs=2)
    np.testing.assert_array_equal(display.examples["a"], [100, 200, 400])
    assert display.seconds["a"].shape == (2, 3)
    assert (display.seconds["a"] > 0).all()
    assert not hasattr(model, "classes_")
    doubled = TimeCurveDisplay.from_estimators({"a": model}, *board)
    np.testing.assert_array_equal(doubled.examples["a"], [125, 250, 500, 1000])
    with pytest.raises(ValueError, match="from 1 to 1000"):
        TimeCurveDisplay.from_estimators({"a": model}, *board, sizes=[2000])


def test_times_of_a_stream(history, batches):
    display = TimeCurveDisplay.from_history(history)
    np.testing.assert_array_equal(display.seconds["small"], history["small"]["seconds"])
    assert TimeCurveDisplay.from_stream(new_model(), batches).examples["BSGDClassifier"][-1] == 1000


# --- traces ---------------------------------------------------------------------------------------------------


def test_traces_are_found_and_drawn(history):
    display = TraceDisplay.from_history(history)
    assert display.trace == "gradient error"
    assert (display.ax_.get_yscale(), display.ax_.get_ylabel()) == ("log", "Gradient error")
    timed = TraceDisplay.from_history([history, history], against="seconds")
    assert timed.ax_.get_xlabel() == "Seconds of learning"
    np.testing.assert_allclose(timed.x["small"], history["small"]["seconds"])
    assert len(timed.bands_) == 2


def test_any_number_of_a_model_can_be_traced(batches):
    display = TraceDisplay.from_stream(new_model(30), batches, trace="n_updates_", yscale="linear")
    assert display.ax_.get_ylabel() == "N updates"
    assert (np.diff(display.values["BSGDClassifier"]) > 0).any()


def test_values_without_a_logarithm_leave_a_gap():
    display = TraceDisplay({"a": [1, 2, 3]}, {"a": [0.0, 2.0, 1.0]}, trace="gap").plot()
    np.testing.assert_array_equal(display.lines_[0].get_xdata(), [2, 3])
    np.testing.assert_array_equal(display.values["a"], [0, 2, 1])
    with pytest.raises(ValueError, match=r"No gap is above zero: draw it with plot\(yscale='linear'\)"):
        TraceDisplay({"a": [1]}, {"a": [-1.0]}, trace="gap").plot()
    assert TraceDisplay({"a": [1]}, {"a": [-1.0]}).plot(yscale="linear").lines_[0].get_ydata()[0] == -1


def test_traces_that_are_missing_are_named(history):
    with pytest.raises(ValueError, match=r"'small' has no 'duality_gap_'; it has \['gradient_error_'\]"):
        TraceDisplay.from_history(history, trace="duality_gap_")
    other = {**history, "small": {key: history["small"][key] for key in ("examples", "seconds")}}
    with pytest.raises(ValueError, match="no trace that all models have"):
        TraceDisplay.from_history(other)
    with pytest.raises(ValueError, match="against must be one of"):
        TraceDisplay.from_history(history, against="hours")


# --- sizes ----------------------------------------------------------------------------------------------------


def test_models_are_measured_by_vectors_and_by_bytes(board):
    X, y = board
    models = {
        "BSGD": [new_model(budget).fit(X, y) for budget in (40, 10)],
        "ASSET": ASSETClassifier(feature_map="fourier", n_components=32, gamma=5.0, random_state=0).fit(X, y),
    }
    display = ErrorVsSupportDisplay.from_estimators(models, X, y)
    np.testing.assert_array_equal(display.sizes["BSGD"], [40, 10])
    np.testing.assert_array_equal(display.sizes["ASSET"], [32])
    assert display.errors["BSGD"][1] == pytest.approx(1 - models["BSGD"][1].score(X, y))
    assert display.ax_.get_xscale() == "log"
    assert display.ax_.get_xlabel() == "Support vectors or features"
    np.testing.assert_array_equal(display.lines_[0].lines[0].get_xdata(), [10, 40])
    svc = SVC().fit(X, y)
    in_bytes = ErrorVsSupportDisplay.from_estimators({"a": models["BSGD"], "SVC": svc}, X, y, size="bytes")
    assert in_bytes.sizes["a"][0] == models["BSGD"][0].model_bytes_
    assert in_bytes.sizes["SVC"][0] == svc.support_vectors_.nbytes + svc.dual_coef_.nbytes
    assert in_bytes.ax_.xaxis.get_major_formatter()(2048, 0) == "2 KB"


def test_models_of_one_size_are_averaged():
    display = ErrorVsSupportDisplay({"a": [10, 20, 10]}, {"a": [0.2, 0.1, 0.4]}).plot(yscale="log")
    np.testing.assert_allclose(display.lines_[0].lines[0].get_ydata(), [0.3, 0.1])
    (bars,) = display.lines_[0].lines[2]
    low, high = bars.get_segments()[0][:, 1]
    assert high - low == pytest.approx(2 * np.std([0.2, 0.4], ddof=1))
    assert display.ax_.get_yscale() == "log"
    assert not ErrorVsSupportDisplay({"a": [10, 20]}, {"a": [0.2, 0.1]}).plot().lines_[0].has_yerr


def test_sizes_that_cannot_be_drawn_are_refused(board):
    X, y = board
    with pytest.raises(ValueError, match="not above zero"):
        ErrorVsSupportDisplay({"a": [0, 1]}, {"a": [0.1, 0.2]})
    with pytest.raises(ValueError, match="size must be one of 'terms', 'bytes', not 'seconds'"):
        ErrorVsSupportDisplay.from_estimators({}, X, y, size="seconds")
    with pytest.raises(TypeError, match="must be a dict"):
        ErrorVsSupportDisplay.from_estimators([SVC()], X, y)
    with pytest.raises(ValueError, match="SGDClassifier has neither support vectors nor features"):
        ErrorVsSupportDisplay.from_estimators({"a": SGDClassifier().fit(X, y)}, X, y)
