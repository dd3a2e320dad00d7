"""Importances and directions of metrics: the numbers that are drawn, and what is drawn of them."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from frugalsvm import ASSETClassifier
from frugalsvm.exceptions import ParameterError
from frugalsvm.pipelines import StreamPipeline
from frugalsvm.plots import MetricDisplay

show = MetricDisplay.from_estimator
FACTORS = np.array([0.1, 2.0, 0.0, 1.0])
MATRIX = np.array([[0.0, 3.0, -3.0, 0.0], [1.0, 0.0, 0.0, 0.0]])
NAMES = ["a", "b", "c", "d"]


def labels(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


@pytest.fixture(scope="module")
def rows():
    X = np.random.default_rng(0).normal(size=(200, 4)) * [1.0, 10.0, 0.1, 1.0]
    return X, (X[:, 0] > 0).astype(int)


def machine(metric):
    return ASSETClassifier(n_components=16, gamma=0.5, metric=metric, random_state=0)


@pytest.mark.parametrize("metric", [FACTORS, MATRIX], ids=["factors", "matrix"])
def test_importances_are_those_of_the_estimator(rows, metric):
    model = machine(metric).fit(*rows)
    display = show(model)
    np.testing.assert_allclose(display.importances, model.feature_importances_)
    bars = [bar.get_width() for bar in display.artist_]
    np.testing.assert_allclose(bars, np.sort(model.feature_importances_)[::-1])
    assert display.ax_.get_xlabel() == "Share of squared distances"


def test_directions_are_eigenvectors_in_units_of_scales():
    scales = np.array([1.0, 2.0, 0.5, 3.0])
    A = np.random.default_rng(0).normal(size=(3, 4))
    display = MetricDisplay(A, scales=scales)
    M = scales[:, None] * (A.T @ A) * scales
    values = np.linalg.eigvalsh(M)[::-1][:3]
    np.testing.assert_allclose(display.shares, values / values.sum())
    np.testing.assert_allclose(M @ display.directions.T, values * display.directions.T)
    np.testing.assert_allclose(np.diag(M) / np.trace(M), display.importances)
    assert (display.directions.max(axis=1) >= -display.directions.min(axis=1)).all()


def test_heat_map_has_a_column_for_each_direction():
    display = MetricDisplay(MATRIX, feature_names=NAMES).plot(kind="directions", n_features=3)
    expected = np.array([[0.5**0.5, 0.0], [-(0.5**0.5), 0.0], [0.0, 1.0]])
    np.testing.assert_allclose(display.artist_.get_array(), expected, atol=1e-12)
    assert labels(display.ax_.yaxis) == ["b", "c", "a"]
    assert labels(display.ax_.xaxis) == ["1\n95%", "2\n5.3%"]
    assert display.ax_.get_title() == ""
    assert not display.is_diagonal
    one = display.plot(kind="directions", n_directions=1)
    assert one.artist_.get_array().shape == (4, 1)


def test_a_diagonal_metric_says_so():
    display = MetricDisplay(FACTORS, feature_names=NAMES).plot(kind="directions", n_directions=2)
    assert display.is_diagonal
    assert display.ax_.get_title() == "Diagonal metric: each direction is one feature"
    np.testing.assert_array_equal(display.directions[:2], np.eye(4)[[1, 3]])


def test_the_rest_is_one_bar():
    display = MetricDisplay(FACTORS, feature_names=NAMES).plot(n_features=1)
    assert labels(display.ax_.yaxis) == ["b", "3 others"]
    assert [bar.get_width() for bar in display.artist_] == pytest.approx([4 / 5.01, 1.01 / 5.01])
    assert [text.get_text() for text in display.ax_.texts] == ["80%", "20%"]
    assert labels(display.plot(n_features=3).ax_.yaxis)[-1] == "1 other"


def test_names_are_those_of_the_columns(rows):
    pandas = pytest.importorskip("pandas")
    X, y = rows
    frame = pandas.DataFrame(X, columns=NAMES)
    scaled = make_pipeline(StandardScaler(), machine(FACTORS))
    search = GridSearchCV(scaled, {"assetclassifier__C": [1.0, 10.0]}, cv=2)
    streamed = StreamPipeline(machine(FACTORS), warmup_rows=100)
    for estimator in (machine(FACTORS), scaled, search, streamed):
        assert list(show(estimator.fit(frame, y)).feature_names) == NAMES
    assert list(show(scaled, feature_names=list("wxyz")).feature_names) == list("wxyz")
    rotated = make_pipeline(PCA(), machine(FACTORS)).fit(frame, y)
    assert list(show(rotated).feature_names) == ["pca0", "pca1", "pca2", "pca3"]
    assert list(show(machine(FACTORS).fit(X, y)).feature_names) == [f"Feature {i}" for i in (1, 2, 3, 4)]


def test_given_axes_and_options_reach_the_artists():
    from matplotlib.figure import Figure

    ax = Figure().subplots()
    display = MetricDisplay(MATRIX).plot(ax, color="red")
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert display.artist_[0].get_facecolor() == (1.0, 0.0, 0.0, 1.0)
    assert display.plot(kind="directions", cmap="viridis").artist_.get_cmap().name == "viridis"


def test_a_metric_of_zeros_is_drawn():
    display = MetricDisplay(np.zeros(2)).plot()
    np.testing.assert_allclose(display.importances, 0.5)


def test_refusals_name_what_is_wrong(rows):
    with pytest.raises(ValueError, match="This ASSETClassifier has no metric"):
        show(machine(None).fit(*rows))
    with pytest.raises(ParameterError, match="kind must be one of 'importances', 'directions'"):
        MetricDisplay(FACTORS).plot(kind="bars")
    with pytest.raises(ParameterError, match="n_features must be an integer of at least 1, not 0"):
        MetricDisplay(FACTORS).plot(n_features=0)
    with pytest.raises(ValueError, match="feature_names has 2 names, but the metric has 4 features"):
        MetricDisplay(FACTORS, feature_names=["a", "b"])
    with pytest.raises(ValueError, match="metric has 4 columns, but scales has the shape"):
        MetricDisplay(FACTORS, scales=[1.0])
    with pytest.raises(ValueError, match="metric must be factors or a matrix"):
        MetricDisplay(np.zeros((2, 2, 2)))
