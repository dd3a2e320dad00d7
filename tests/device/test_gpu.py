"""The main promises on a real GPU; skipped where there is none."""

import numpy as np
import pytest
from device_support import LOSSES, Wave
from oracles import kernels as oracle
from scipy.sparse import csr_array

import frugalsvm
from frugalsvm import ASSETClassifier, ASSETRegressor, BSGDClassifier, LocalSVC, LocalSVR
from frugalsvm.arrays import l1_on_gpu, sources
from frugalsvm.arrays.maps import kernel_map
from frugalsvm.arrays.namespace import arrays_on, available_devices
from frugalsvm.arrays.sources import DeviceSource, HostSource
from frugalsvm.core.kernels import KERNELS, RBF
from frugalsvm.explain import shapley_values
from frugalsvm.lowrank import whitening
from frugalsvm.lowrank.backends import torch as torch_backend

SETTINGS = {"n_components": 100, "gamma": 0.5, "C": 10, "random_state": 0}


@pytest.fixture(scope="module")
def torch():
    pytest.importorskip("array_api_compat")
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("there is no GPU")
    return torch


@pytest.fixture
def arrays(torch):  # instead of those of the CPU
    return arrays_on("cuda")


@pytest.fixture(scope="module")
def wave():
    return Wave("epsilon_insensitive", n_rows=20_000)


def labels_of(wave, n_classes=2):
    values = wave.targets[0]
    return (values > 0).astype(int) if n_classes == 2 else np.digitize(values, [-0.5, 0.5])


def test_there_is_one(torch):
    assert "GiB" in available_devices()["cuda"]
    assert ASSETClassifier(device="auto")._device() == "cuda"


HEAVY_TAILED = ("laplacian", "matern12", "matern32", "matern52")


@pytest.mark.parametrize("tf32", [False, True])
@pytest.mark.parametrize("name", HEAVY_TAILED)
def test_values_of_heavy_tailed_kernels(torch, wave, name, tf32):
    there, X = arrays_on("cuda", tf32=tf32), wave.X[:500]
    found = there.host(kernel_map(there, KERNELS[name](0.5), there.asarray(X[:50])).rows(there.asarray(X)))
    expected = oracle.value(name, X.astype(np.float64), X[:50].astype(np.float64), 0.5)
    np.testing.assert_allclose(found, expected, atol=1e-2 if tf32 and name in ("matern32", "matern52") else 1e-4)


@pytest.mark.parametrize("is_compiled", [True, False])
@pytest.mark.parametrize("shape", [(1, 1, 1), (128, 128, 8), (130, 257, 9), (1000, 300, 54), (5, 700, 3)], ids=str)
def test_l1_distances(torch, monkeypatch, shape, is_compiled):
    if not is_compiled:
        monkeypatch.setattr(l1_on_gpu, "_compiled", lambda torch: None)
    n, m, n_features = shape
    generator = torch.Generator("cuda").manual_seed(0)
    rows = torch.randn((n, n_features), device="cuda", generator=generator)
    columns = torch.randn((n_features, m + 3), device="cuda", generator=generator)[:, :m]  # not contiguous
    expected = torch.cdist(rows.double(), columns.T.double(), p=1.0)
    torch.testing.assert_close(l1_on_gpu.l1_on_gpu(torch, rows, columns).double(), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", HEAVY_TAILED)
def test_fits_with_heavy_tailed_kernels(torch, wave, name):
    X, y = wave.X[:4000], labels_of(wave)[:4000]
    there, here = (ASSETClassifier(kernel=name, device=device, **SETTINGS).fit(X, y) for device in ("cuda", "cpu"))
    scores, expected = there.decision_function(X), here.decision_function(X)
    assert np.corrcoef(scores, expected)[0, 1] > 0.9999  # smooth kernels have small eigenvalues, which are rounded
    np.testing.assert_allclose(there.set_params(device="cpu").decision_function(X), scores, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_kernel_values(arrays, wave, scale):
    """Norms are exact even where the products of features are rounded."""
    X = scale * wave.X[:500]
    expected = np.exp(-0.5 / scale**2 * np.square(X[:, None].astype(np.float64) - X[None, :50]).sum(axis=2))
    for tf32, tolerance in ((False, 1e-5), (True, 1e-2)):
        there = arrays_on("cuda", tf32=tf32)
        made = kernel_map(there, RBF(0.5 / scale**2), there.asarray(X[:50]))
        np.testing.assert_allclose(there.host(made.rows(there.asarray(X))), expected, atol=tolerance)
        np.testing.assert_allclose(there.host(made.rows(there.asarray(X), exact=True)), expected, atol=1e-5)


def test_settings_of_the_library_stay_as_they_were(torch):
    before = torch.backends.cuda.matmul.allow_tf32
    with arrays_on("cuda", tf32=True).products(rounded=True):
        assert torch.backends.cuda.matmul.allow_tf32
    assert torch.backends.cuda.matmul.allow_tf32 == before


def test_blocks_that_travel_while_others_are_used(arrays, wave, monkeypatch):
    """Every block arrives as it left, in its turn, however long it is used."""
    monkeypatch.setattr(sources, "_BLOCK_NUMBERS", 2**14)
    parts = np.array_split(wave.X, 37)
    source = HostSource(arrays, lambda: iter(parts), len(wave.X))
    kept = []
    for start, part in source.blocks(300):
        big = arrays.ones((1000, 1000))
        for _ in range(3):
            big = big @ big * 1e-3  # keeps the GPU busy
        kept.append((start, part + 0 * big[0, 0]))
    for start, part in kept:
        np.testing.assert_array_equal(arrays.host(part), wave.X[start : start + part.shape[0]])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classifier(torch, wave, n_classes):
    y = labels_of(wave, n_classes)
    first, second = (
        # Without directions in which weights are known to few digits only
        ASSETClassifier(
            device=device, loss="squared_hinge", tol=1e-10, max_iter=200, eigenvalue_threshold=1e-4, **SETTINGS
        ).fit(wave.X, y)
        for device in ("cuda", "cpu")
    )
    assert first.objective_ == pytest.approx(second.objective_, rel=1e-5)
    values = second.decision_function(wave.X)
    np.testing.assert_allclose(first.decision_function(wave.X), values, atol=1e-3 * np.abs(values).max())


@pytest.mark.parametrize("loss", LOSSES)
def test_objectives(torch, wave, loss):
    kind, y = (ASSETClassifier, labels_of(wave)) if "hinge" in loss else (ASSETRegressor, wave.targets[0])
    first, second = (kind(device=device, loss=loss, tol=1e-5, **SETTINGS).fit(wave.X, y) for device in ("cuda", "cpu"))
    assert first.objective_ == pytest.approx(second.objective_, rel=2e-4)
    assert first.suboptimality_bound_ >= 0


def test_tensors_are_used_where_they_are(torch, wave, monkeypatch):
    rows, y, seen = torch.as_tensor(wave.X, device="cuda"), torch.as_tensor(labels_of(wave), device="cuda"), []
    source = torch_backend._source

    def watched(arrays, given, memory, order):
        made = source(arrays, given, memory, order)
        assert isinstance(made, DeviceSource)
        seen.append(made._X.data_ptr())
        return made

    monkeypatch.setattr(torch_backend, "_source", watched)
    model = ASSETClassifier(device="cuda", **SETTINGS).fit(rows, y)
    assert seen == [rows.data_ptr()]
    plain = ASSETClassifier(device="cuda", **SETTINGS).fit(wave.X, labels_of(wave))
    values = plain.decision_function(wave.X)
    assert isinstance(model.predict(rows), np.ndarray)
    np.testing.assert_allclose(model.decision_function(rows), values, atol=1e-2 * np.abs(values).max())
    with pytest.raises(ValueError, match=r"X is on cuda:0: choose device='cuda'"):
        ASSETClassifier(**SETTINGS).fit(rows, y)


@pytest.mark.parametrize("form", ["array", "bytes", "csr", "batches"])
@pytest.mark.parametrize("limit", [None, "4MB"])
def test_rows_of_the_host(torch, wave, form, limit, monkeypatch):
    """With a small limit features are computed again; without room for rows, these are sent again as well."""
    if limit is not None:
        monkeypatch.setattr(torch_backend, "_FOR_X", 0.0)
    X, y = wave.X, labels_of(wave)
    if form == "bytes":
        X = np.clip(np.round(30 * X + 128), 0, 255).astype(np.uint8)
    model = ASSETClassifier(device="cuda", memory_limit=limit, **{**SETTINGS, "gamma": "scale"})
    if form == "batches":
        model.fit_batches([(X[i : i + 3000], y[i : i + 3000]) for i in range(0, len(X), 3000)])
    else:
        model.fit(csr_array(X) if form == "csr" else X, y)
    reference = ASSETClassifier(**{**SETTINGS, "gamma": "scale"}).fit(X, y)
    assert model.objective_ == pytest.approx(reference.objective_, rel=0.05 if form == "batches" else 5e-3)


@pytest.mark.parametrize(("dtype", "tolerance"), [("tf32", 2e-3), ("float16", 1e-2)])
def test_fewer_bits(torch, wave, dtype, tolerance):
    y = labels_of(wave, 3)
    first, second = (ASSETClassifier(device="cuda", dtype=d, **SETTINGS).fit(wave.X, y) for d in (dtype, "float32"))
    assert first.objective_ == pytest.approx(second.objective_, rel=tolerance)


def test_a_path_of_C(torch, wave):
    rows = torch.as_tensor(wave.X, device="cuda")
    for kind, y in ((ASSETClassifier, labels_of(wave, 3)), (ASSETRegressor, wave.targets[0])):
        model = kind(device="cuda", **{**SETTINGS, "C": [0.01, 1, 100]}).fit(rows, y)
        assert model.C_ > 0.01


def test_many_landmarks(arrays, wave, monkeypatch):
    """Cholesky's method instead of eigenvectors."""
    monkeypatch.setattr(whitening, "_MOST_EIGEN", 0)
    model = ASSETClassifier(device="cuda", loss="squared_hinge", tol=1e-6, **SETTINGS).fit(wave.X, labels_of(wave))
    reference = ASSETClassifier(loss="squared_hinge", tol=1e-6, **SETTINGS).fit(wave.X, labels_of(wave))
    assert model.objective_ == pytest.approx(reference.objective_, rel=1e-3)


def test_what_comes_after(torch, wave, tmp_path):
    model = ASSETClassifier(device="cuda", **SETTINGS).fit(wave.X, labels_of(wave))
    values = model.decision_function(wave.X)
    np.testing.assert_allclose(model.decision_function(wave.X, device="cpu"), values, atol=1e-3 * np.abs(values).max())
    frugalsvm.save(model, tmp_path / "model.frugal")
    loaded = frugalsvm.load(tmp_path / "model.frugal")
    np.testing.assert_array_equal(loaded.decision_function(wave.X), values)
    rows = torch.as_tensor(wave.X[:500], device="cuda")
    loaded.partial_fit(rows, torch.as_tensor(labels_of(wave)[:500], device="cuda"))
    assert loaded.score(wave.X, labels_of(wave)) > model.score(wave.X, labels_of(wave)) - 0.1


def test_predictions_of_other_classifiers(torch, wave):
    model = BSGDClassifier(budget=100, gamma=0.5, random_state=0).fit(wave.X[:3000], labels_of(wave, 3)[:3000])
    values = model.decision_function(wave.X)
    for rows in (wave.X, csr_array(wave.X), torch.as_tensor(wave.X, device="cuda")):
        np.testing.assert_allclose(
            model.decision_function(rows, device="cuda"), values, atol=2e-5 * np.abs(values).max()
        )


def test_large_products_have_nearly_all_digits(arrays):
    """Split products are closer than those that are rounded to tf32. Sums are in float32, cut off and not rounded."""
    rng = np.random.default_rng(0)
    left, right = (rng.normal(size=shape).astype(np.float32) for shape in ((700, 900), (900, 600)))
    A, B = arrays.asarray(left), arrays.asarray(right)
    rounding = arrays_on("cuda", tf32=True)
    with rounding.products(rounded=True):
        rough = A @ B, A.T @ A
    totals = arrays.zeros((1, 900, 900), "float32")
    arrays.add_squares(totals, A[None])
    exact = left.astype(np.float64) @ right, left.astype(np.float64).T @ left
    for found, rounded, true in zip((arrays.product(A, B), totals[0]), rough, exact, strict=True):
        gap, rounded_gap = (np.abs(arrays.host(each) - true).max() for each in (found, rounded))
        assert gap < rounded_gap / 4
        assert gap < 1e-5 * np.abs(true).max()


def test_shapley_values(torch, wave):
    model = ASSETRegressor(**SETTINGS).fit(wave.X[:2000], wave.targets[0, :2000])
    rows, background = wave.X[:500], wave.X[500:510]
    for others in (None, background):
        expected = shapley_values(model, rows, others)
        found = shapley_values(model, torch.from_numpy(rows).cuda(), others, device="cuda")
        np.testing.assert_allclose(found.values, expected.values, rtol=1e-8, atol=1e-9 * np.abs(expected.values).max())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_cells(torch, wave, dtype):
    settings = {"cell_size": 600, "random_state": 0, "C": 100.0, "gamma": 0.5, "dtype": dtype}
    X, y = wave.X, labels_of(wave, 3)
    here = LocalSVC(**settings).fit(X, y)
    there = LocalSVC(device="cuda", **settings).fit(torch.as_tensor(X, device="cuda"), y)
    atol = 1e-2 if dtype == "float32" else 1e-8
    np.testing.assert_allclose(there.loo_scores_, here.loo_scores_, atol=atol)
    expected = here.decision_function(X)
    for model, device in ((there, "cuda"), (there, "cpu"), (here, "cuda")):
        np.testing.assert_allclose(model.decision_function(X, device=device), expected, atol=atol)


def test_cells_tell_of_tensors(torch, wave):
    X, rows = wave.X[:4000], torch.as_tensor(wave.X[:4000], device="cuda")
    model = LocalSVR(cell_size=600, random_state=0, device="cuda").fit(rows, wave.targets[0, :4000])
    np.testing.assert_array_equal(model.apply(rows), model.apply(X))
    np.testing.assert_allclose(model.predict_interval(rows), model.predict_interval(X), atol=1e-5)


def test_cells_without_copies_have_their_rows_where_they_were(torch, wave):
    settings = {"cell_size": 600, "random_state": 0, "C": 100.0, "gamma": 0.5, "device": "cuda"}
    X, y = np.ascontiguousarray(wave.X, np.float32), labels_of(wave, 3)
    metric = np.linspace(1.0, 0.5, X.shape[1])
    usual, passed = LocalSVC(metric=metric, **settings).fit(X, y), X.copy()
    found = LocalSVC(metric=metric, copy_X=False, **settings).fit(passed, y)
    assert np.shares_memory(found.machines()[0], passed)
    np.testing.assert_array_equal(found.machines()[0], usual.machines()[0])
    np.testing.assert_array_equal(found.decision_function(X), usual.decision_function(X))
