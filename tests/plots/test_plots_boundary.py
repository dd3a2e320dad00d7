"""Decision boundaries: the numbers that are drawn, and what is drawn of them."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer, StandardScaler
from sklearn.svm import SVC

from frugalsvm import ASSETClassifier, ASSETRegressor, BSGDClassifier, IncrementalSVC, TVMClassifier
from frugalsvm.pipelines import StreamPipeline
from frugalsvm.plots import DecisionBoundaryDisplay

draw = DecisionBoundaryDisplay.from_estimator


def legend_texts(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


@pytest.fixture(scope="module")
def two():
    return make_blobs(200, centers=[(-1, 0), (1, 0)], cluster_std=0.7, random_state=0)


@pytest.fixture(scope="module")
def three():
    return make_blobs(240, centers=[(-2, 0), (2, 0), (0, 3)], cluster_std=0.8, random_state=1)


@pytest.fixture(scope="module")
def model(two):
    return BSGDClassifier(budget=15, gamma=1.0, alpha=1e-3, random_state=0).fit(*two)


def test_response_is_the_decision_function_on_the_grid(model, two):
    X, y = two
    display = draw(model, X, y=y, grid_resolution=30)
    assert display.response.shape == (30, 30)
    rows = np.column_stack([display.xx0[4], display.xx1[4]])
    np.testing.assert_allclose(display.response[4], model.decision_function(rows), rtol=1e-6)
    assert display.xx0.min() < X[:, 0].min()
    assert display.xx0.max() > X[:, 0].max()
    assert len(display.ax_.collections) == 2 + 2 + 2  # shades and lines, examples and vectors of each class
    np.testing.assert_array_equal(display.lines_[0].levels, [-1, 0, 1])
    assert legend_texts(display) == ["class 0", "class 1", "15 support vectors"]
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("Feature 1", "Feature 2")
    assert len(display.figure_.axes) == 2  # with the bar of colours


def test_without_examples_the_vectors_give_the_range(model):
    display = draw(model, grid_resolution=20)
    low, high = model.support_vectors_.min(axis=0), model.support_vectors_.max(axis=0)
    assert display.xx1.min() == pytest.approx(low[1] - 0.05 * (high[1] - low[1]))
    assert display.X is None
    positive = model.dual_coef_[0] > 0
    np.testing.assert_array_equal(display.vectors.places, positive)


def test_lines_are_only_those_that_exist(two):
    X, y = two
    faint = BSGDClassifier(budget=5, gamma=1.0, alpha=1e4, learner="pegasos", random_state=0).fit(X, y)
    assert np.abs(faint.decision_function(X)).max() < 1
    display = draw(faint, X, grid_resolution=40, plot_points=0)
    np.testing.assert_array_equal(display.lines_[0].levels, [0])


def test_examples_are_taken_evenly_and_at_most_as_many_as_asked(model, two):
    X, y = two
    display = draw(model, X, y=y, plot_points=50, grid_resolution=10)
    assert display.X.shape == (50, 2)
    np.testing.assert_array_equal(display.X[[0, -1]], X[[0, -1]])
    np.testing.assert_array_equal(display.y[[0, -1]], y[[0, -1]])
    assert draw(model, X, y=y, plot_points=0, grid_resolution=10).X.shape == (0, 2)


def test_options_reach_the_artists(model):
    display = draw(model, grid_resolution=10, levels=[-2, 0, 2], vector_kw={"s": 77}, colorbar=False, legend=False)
    np.testing.assert_array_equal(display.surface_.levels, [-2, 0, 2])
    assert display.ax_.collections[-1].get_sizes()[0] == 77
    assert len(display.figure_.axes) == 1
    assert display.ax_.get_legend() is None
    plain = display.plot(show_vectors=False)
    assert len(plain.ax_.collections) == 2


def test_given_axes_are_used(model):
    from matplotlib.figure import Figure

    ax = Figure().subplots()
    display = draw(model, grid_resolution=10, ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure


@pytest.mark.parametrize("estimator", [IncrementalSVC(gamma=0.5), SVC(gamma=0.5)], ids=lambda e: type(e).__name__)
def test_classes_of_vectors_are_those_of_the_examples(three, estimator):
    X, y = three
    fitted = estimator.fit(X, y)
    display = draw(fitted, X, y=y, grid_resolution=20)
    for point, place in zip(display.vectors.points, display.vectors.places, strict=True):
        assert y[np.abs(X - point).sum(axis=1).argmin()] == place
    assert len(display.surface_) == len(display.lines_) == 3
    assert legend_texts(display)[:3] == ["class 0", "class 1", "class 2"]


def test_regions_are_the_predicted_classes(three):
    X, y = three
    fitted = SVC(gamma=0.5).fit(X, np.array(["a", "b", "c"])[y])
    display = draw(fitted, X, grid_resolution=15)
    rows = np.column_stack([display.xx0.ravel(), display.xx1.ravel()])
    chosen = display.classes[display.response.argmax(axis=2)].ravel()
    np.testing.assert_array_equal(chosen, fitted.predict(rows))


def test_vectors_of_pipelines_are_shown_in_the_units_of_the_input(two):
    X, y = two
    far = 1000 * X + 300
    streamed = StreamPipeline(BSGDClassifier(budget=200, gamma=1.0, maintenance="remove"), warmup_rows=100)
    batch = make_pipeline(StandardScaler(), SVC(gamma=1.0))
    for pipeline in (streamed.partial_fit(far, y), batch.fit(far, y)):
        points = draw(pipeline, far, grid_resolution=10).vectors.points
        distance = np.abs(points[:, None] - far[None]).sum(axis=2).min(axis=1)
        assert distance.max() < 0.01  # each is one of the examples


def test_rows_that_are_held_back_are_refused(two):
    X, y = two
    held = StreamPipeline(BSGDClassifier(), warmup_rows=1000).partial_fit(X, y)
    with pytest.raises(ValueError, match=r"200 rows are held back: call flush\(\)"):
        draw(held, X)


def test_twins_have_the_class_of_most_of_their_examples(two):
    fitted = TVMClassifier(12, gamma=1.0).fit(*two)
    display = draw(fitted, grid_resolution=10)
    assert legend_texts(display)[-1] == f"{len(fitted.twin_vectors_)} twin vectors"
    np.testing.assert_array_equal(display.vectors.places, fitted.twin_weights_.argmax(axis=1))


def test_landmarks_have_no_class_and_fourier_features_no_vectors(two):
    X, y = two
    landmarks = draw(ASSETClassifier(n_components=9, gamma=1.0, random_state=0).fit(X, y), grid_resolution=10)
    assert legend_texts(landmarks)[-1] == "9 landmarks"
    assert len(landmarks.ax_.collections) == 3  # shades, lines, all landmarks
    fourier = ASSETClassifier(feature_map="fourier", n_components=16, gamma=1.0, random_state=0).fit(X, y)
    assert legend_texts(draw(fourier, X, grid_resolution=10))[-1] == "no vectors: Fourier features"
    with pytest.raises(ValueError, match="which range to draw: give X"):
        draw(fourier)


def test_steps_without_a_way_back_and_other_classifiers_have_no_vectors(two, three):
    X, y = two
    one_way = make_pipeline(QuantileTransformer(n_quantiles=20), KNeighborsClassifier(3)).fit(X, y)
    assert legend_texts(draw(one_way, X, grid_resolution=10))[-1] == "no vectors: KNeighborsClassifier"
    X, y = three
    neighbours = KNeighborsClassifier(3).fit(X, y)
    display = draw(neighbours, X, grid_resolution=10)
    rows = np.column_stack([display.xx0.ravel(), display.xx1.ravel()])
    np.testing.assert_array_equal(display.response.argmax(axis=2).ravel(), neighbours.predict(rows))


def test_names_of_columns_label_the_axes(two):
    pandas = pytest.importorskip("pandas")
    X, y = two
    frame = pandas.DataFrame(X, columns=["width", "height"])
    display = draw(SVC().fit(frame, y), frame, grid_resolution=10)
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("width", "height")


def test_refusals_name_what_is_wrong(model, two):
    X, y = two
    with pytest.raises(TypeError, match="ASSETRegressor is not a classifier"):
        draw(ASSETRegressor())
    with pytest.raises(ValueError, match="fitted to 3 features"):
        draw(SVC().fit(np.column_stack([X, X[:, 0]]), y), X)
    with pytest.raises(ValueError, match="rows of two features"):
        draw(model, X[:, :1])
    with pytest.raises(ValueError, match="200 rows, but y has 3 labels"):
        draw(model, X, y=y[:3])
    with pytest.raises(ValueError, match="give X, too"):
        draw(model, y=y)
    with pytest.raises(ValueError, match="grid_resolution must be an integer of at least 2, not 1"):
        draw(model, grid_resolution=1)
    with pytest.raises(ValueError, match="same grid"):
        DecisionBoundaryDisplay(xx0=np.ones((2, 2)), xx1=np.ones((2, 2)), response=np.ones((3, 2)), classes=[0, 1])
