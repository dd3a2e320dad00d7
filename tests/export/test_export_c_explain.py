"""The C function that explains equals `shapley_values` without background rows."""

import ctypes

import numpy as np
import pytest
from export_support import KERNELS, LABELS, CompiledModel, compiled_with, random_model, rows_for

from frugalsvm import ASSETClassifier
from frugalsvm.explain import shapley_values
from frugalsvm.export import to_c

ABLE = ["rbf", "laplacian", "chi2", "linear", "intersection"]
TOLERANCES = {"float32": 1e-5, "float64": 1e-11}  # of the largest share


class ExplainingModel(CompiledModel):
    """A model in C that explains."""

    options = {"explain": True}  # noqa: RUF012

    def explanation(self, X):
        """Base values (n_outputs,) and shares (n_rows, n_features, n_outputs)."""
        n_outputs = len(self.model.coefficients)
        shares = np.full((len(X), X.shape[1], n_outputs), np.nan, self.dtype)
        self._called("explain", ctypes.c_int, X, None, shares)
        base = (self.real * n_outputs).in_dll(self.loaded, f"{self.name}_base_values")
        return np.array(base), shares


def assert_explains(model, X, folder, tolerances=TOLERANCES):
    expected = shapley_values(model, X, background=None)
    values = expected.values.reshape(*X.shape, -1)
    for dtype, tolerance in tolerances.items():
        base, shares = ExplainingModel(model, folder, name=f"m_{dtype}", dtype=dtype).explanation(X)
        np.testing.assert_allclose(base, expected.base_values, rtol=tolerance, atol=tolerance)
        np.testing.assert_allclose(shares, values, rtol=0, atol=tolerance * np.abs(values).max())


def model_for(kernel, decision, **sizes):
    """Chi2 takes features that are not negative."""
    if kernel != "chi2":
        return random_model(kernel, decision, **sizes)
    model = random_model("rbf", decision, **sizes)._replace(kernel="chi2")
    return model._replace(vectors=np.abs(model.vectors) * (model.vectors > -0.5))


@pytest.mark.parametrize("decision", LABELS)
@pytest.mark.parametrize("kernel", ABLE)
def test_shares_are_those_of_python(kernel, decision, tmp_path):
    model = model_for(kernel, decision)
    assert_explains(model, np.abs(rows_for(model, 20)) if kernel == "chi2" else rows_for(model, 20), tmp_path)


@pytest.mark.parametrize("gamma", [1e-4, 0.02, 0.5])
def test_shares_of_many_features_for_kernels_of_any_width(gamma, tmp_path):
    model = random_model("rbf", "value", n_features=61)._replace(gamma=gamma)
    assert_explains(model, rows_for(model, 10), tmp_path)


def test_scaled_clipped_and_missing_inputs(tmp_path):
    model = random_model("rbf", "argmax").with_scaling(np.full(5, 0.5), np.full(5, 2.0), np.full(5, 0.5))
    model = model._replace(filling=np.arange(5.0) / 8)
    X = rows_for(model, 20)
    X[::2, 1] = np.nan
    filled = np.where(np.isnan(X), model.filling, X)
    expected = shapley_values(model, filled, background=None).values
    for dtype, tolerance in TOLERANCES.items():
        _, shares = ExplainingModel(model, tmp_path, name=f"m_{dtype}", dtype=dtype).explanation(X)
        np.testing.assert_allclose(shares, expected, rtol=0, atol=tolerance * np.abs(expected).max())


def test_inputs_that_a_metric_leaves_out_have_no_share(tmp_path):
    X = np.float32(np.random.default_rng(0).normal(size=(300, 4))).astype(float)
    metric = np.array([1.5, 0.0, -0.7, 0.2])
    model = ASSETClassifier(n_components=30, metric=metric, random_state=0).fit(X, X[:, 0] * X[:, 2] > 0)
    assert_explains(model, X[:10], tmp_path, {"float64": 1e-9})
    _, shares = ExplainingModel(model, tmp_path, name="again").explanation(X[:10])
    assert (shares[:, 1] == 0.0).all()


@pytest.mark.parametrize("kernel", sorted(set(KERNELS) - set(ABLE)))
def test_other_kernels_are_refused_before_anything_is_written(kernel, tmp_path):
    with pytest.raises(ValueError, match="to explain a model"):
        to_c(random_model(kernel, "sign"), tmp_path, explain=True)
    assert not list(tmp_path.iterdir())


def test_directions_are_refused(tmp_path):
    model = random_model("rbf", "sign", n_features=3)._replace(directions=np.ones((3, 4)))
    with pytest.raises(ValueError, match="mixes columns into directions"):
        to_c(model, tmp_path, explain=True)


def test_two_models_that_explain_in_one_program(tmp_path):
    sources = [str(to_c(random_model("rbf", "sign", seed=k), tmp_path, name=f"m{k}", explain=True)[1]) for k in (0, 1)]
    library = tmp_path / "both.so"
    compiled_with("-shared", "-fPIC", "-o", str(library), *sources, "-lm")
    loaded = ctypes.CDLL(str(library))
    assert loaded.m0_explain
    assert loaded.m1_explain


def test_without_it_nothing_is_added(tmp_path):
    header, source = to_c(random_model("rbf", "sign"), tmp_path)
    assert "explain" not in header.read_text() + source.read_text()
