"""Support vectors as images, and what holds for the whole package."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

from frugalsvm import ASSETClassifier, ASSETRegressor, BSGDClassifier
from frugalsvm.plots import SupportImagesDisplay

show = SupportImagesDisplay.from_estimator


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    hard = np.isin(y, (3, 8, 9))
    return X[hard] / 16, np.searchsorted((3, 8, 9), y[hard])


@pytest.fixture(scope="module")
def model(digits):
    X, y = digits
    return BSGDClassifier(budget=12, gamma=0.5, alpha=1e-3, random_state=0).fit(X[y < 2], y[y < 2])


def test_largest_coefficients_of_each_class_come_first(model):
    coefficients = model.dual_coef_[0]
    assert min((coefficients > 0).sum(), (coefficients < 0).sum()) >= 4
    display = show(model, n_columns=4)
    expected = np.concatenate([np.sort(coefficients)[:4], -np.sort(-coefficients)[:4]])
    np.testing.assert_array_equal(display.coefficients, expected)
    np.testing.assert_array_equal(display.labels, 4 * [0] + 4 * [1])
    first = model.support_vectors_[coefficients.argmin()]
    np.testing.assert_array_equal(display.images[0], first.reshape(8, 8))
    assert display.axes_.shape == (2, 4)
    assert display.axes_[0, 0].get_ylabel() == "class 0"
    assert display.axes_[1, 0].get_title() == f"{expected[4]:+#.3g}"
    assert display.axes_[0, 0].get_title()[0] == "\N{MINUS SIGN}"
    np.testing.assert_array_equal(display.axes_[0, 0].images[0].get_array(), display.images[0])


def test_with_several_classes_the_coefficient_is_that_of_the_own_class(digits):
    fitted = BSGDClassifier(budget=30, gamma=0.1, random_state=0).fit(*digits)
    display = show(fitted, n_columns=50)
    assert len(display.images) == len(fitted.support_vectors_)
    assert sorted(display.coefficients) == pytest.approx(sorted(fitted.dual_coef_.max(axis=0)))
    counts = np.bincount(fitted.dual_coef_.argmax(axis=0), minlength=3)
    np.testing.assert_array_equal([(row != None).sum() for row in display.axes_], counts)  # noqa: E711


def test_landmarks_say_where_they_pull_to(digits):
    X, y = digits
    fitted = ASSETClassifier(n_components=20, gamma=0.1, random_state=0).fit(X[y < 2], y[y < 2])
    display = show(fitted, n_columns=3)
    assert display.name == "landmarks"
    assert display.axes_[1, 0].get_ylabel() == "towards 1"
    assert (display.coefficients[display.labels == 1] > 0).all()


def test_shapes_and_options_reach_the_images(model):
    display = show(model, image_shape=(4, 16), n_columns=2, cmap="viridis")
    assert display.images.shape == (4, 4, 16)
    assert display.axes_[0, 0].images[0].get_cmap().name == "viridis"
    colour = SupportImagesDisplay(np.zeros((1, 4, 4, 3)), [1.0], ["a"]).plot()
    assert colour.axes_[0, 0].images[0].get_array().shape == (4, 4, 3)


def test_given_axes_hold_the_images(model):
    from matplotlib.figure import Figure

    ax = Figure().subplots()
    display = show(model, n_columns=2, ax=ax)
    assert display.ax_ is ax
    assert set(ax.child_axes) == set(display.axes_.ravel())


def test_what_is_no_image_is_refused(model, digits):
    X, y = digits
    with pytest.raises(ValueError, match="60 features do not form a square image: give image_shape"):
        show(BSGDClassifier(budget=5, gamma=0.1).fit(X[:, :60], y))
    with pytest.raises(ValueError, match=r"image_shape=\(3, 3\) does not fit 64 features"):
        show(model, image_shape=(3, 3))
    with pytest.raises(ValueError, match="feature_map='nystroem' has landmarks"):
        show(ASSETClassifier(feature_map="fourier", n_components=8, gamma=0.1).fit(X, y))
    with pytest.raises(ValueError, match="KNeighborsClassifier has no support vectors"):
        show(KNeighborsClassifier().fit(X, y))
    with pytest.raises(TypeError, match="ASSETRegressor is not a classifier"):
        show(ASSETRegressor())
    with pytest.raises(ValueError, match="n_columns must be an integer of at least 1, not 0"):
        show(model, n_columns=0)
    with pytest.raises(ValueError, match="1 images, 2 coefficients and 1 labels"):
        SupportImagesDisplay(np.zeros((1, 2, 2)), [1, 2], [0])


def test_importing_is_cheap_and_a_missing_matplotlib_is_named():
    code = """
import sys
import frugalsvm
frugalsvm.plots
loaded = {name.split(".")[0] for name in sys.modules}
assert not loaded & {"matplotlib", "numba", "sklearn"}, loaded
sys.modules["matplotlib"] = None
try:
    frugalsvm.plots.AccuracyCurveDisplay({"a": [1]}, {"a": [1]}).plot()
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "frugalsvm.plots needs matplotlib: pip install 'frugalsvm[plots]'."
