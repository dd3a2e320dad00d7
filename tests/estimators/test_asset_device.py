"""ASSETClassifier and ASSETRegressor on a device: PyTorch on the CPU, which runs the code of a GPU."""

import ctypes
import shutil

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel

import frugalsvm
from frugalsvm import ASSETClassifier, ASSETRegressor
from frugalsvm.arrays import namespace as device_arrays
from frugalsvm.arrays.namespace import DeviceError
from frugalsvm.lowrank.backends import torch as torch_backend
from frugalsvm.lowrank.nystroem import with_whitening
from frugalsvm.pipelines import StreamPipeline

SETTINGS = {"n_components": 60, "gamma": 0.5, "C": 10, "random_state": 0}
CLASSIFIERS = (
    "ASSETClassifier",
    "BPAClassifier",
    "BSGDClassifier",
    "BudgetedPerceptron",
    "IncrementalSVC",
    "LASVMClassifier",
    "TVMClassifier",
    "TrackingSVC",
)
each_task = pytest.mark.parametrize("task", ["two", "three", "value"])


class Data:
    def __init__(self, n_rows=1200):
        rng = np.random.default_rng(0)
        self.X = rng.uniform(-2, 2, (n_rows, 3)).astype(np.float32)
        values = np.sin(2 * self.X[:, 0]) + self.X[:, 1] + 0.1 * rng.normal(size=n_rows)
        self.y = {"two": (values > 0.3).astype(int), "three": np.digitize(values, [-0.7, 0.7]), "value": values}

    def model(self, task, **changes):
        kind = ASSETRegressor if task == "value" else ASSETClassifier
        return kind(**{**SETTINGS, **changes})

    def fitted(self, task, **changes):
        return self.model(task, **changes).fit(self.X, self.y[task])

    def decisions(self, model, X=None, **where):
        X = self.X if X is None else X
        return (model.predict if isinstance(model, ASSETRegressor) else model.decision_function)(X, **where)

    def assert_same(self, first, second, rtol):
        """Decision values, as a share of the largest."""
        values = self.decisions(second)
        np.testing.assert_allclose(self.decisions(first), values, atol=rtol * np.abs(values).max())


@pytest.fixture(scope="module")
def data():
    return Data()


@pytest.fixture
def torch():
    pytest.importorskip("array_api_compat")
    return pytest.importorskip("torch")


class TestOffsets:
    """An offset changes no kernel of differences, on a device either."""

    @pytest.mark.parametrize("feature_map", ["nystroem", "fourier"])
    @pytest.mark.parametrize("kind", ["float64", "float32", "float64 tensor", "float32 tensor"])
    def test_fit_and_predict(self, data, torch, kind, feature_map):
        dtype = np.dtype(kind.split()[0])
        offset = 1e6 if dtype == np.float64 else 1e3
        far = (data.X.astype(np.float64) + offset).astype(dtype)
        near, far = (torch.asarray(X) if "tensor" in kind else X for X in (data.X, far))
        settings = {"device": "torch", "feature_map": feature_map, "n_components": 300, "gamma": "scale"}
        models = [data.model("two", **settings).fit(X, data.y["two"]) for X in (near, far)]
        assert models[1].gamma_ == pytest.approx(models[0].gamma_, rel=1e-3)
        scores = [model.score(X, data.y["two"]) for model, X in zip(models, (near, far), strict=True)]
        assert scores[1] == pytest.approx(scores[0], abs=0.01)
        if feature_map == "nystroem":
            rows = (np.asarray(each, np.float64) - offset for each in (far, models[1].landmarks_))
            values = rbf_kernel(*rows, gamma=models[1].gamma_)
            expected = (values @ models[1].dual_coef_.T + models[1].intercept_)[:, 0]
            np.testing.assert_allclose(models[1].decision_function(far), expected, atol=2e-2)


@pytest.mark.usefixtures("torch")
class TestFit:
    @each_task
    def test_decisions_of_the_compiled_solver(self, data, task):
        loss = {"loss": "squared_epsilon_insensitive" if task == "value" else "squared_hinge", "tol": 1e-8}
        first, second = (data.fitted(task, device=device, **loss) for device in ("torch", "cpu"))
        assert first.objective_ == pytest.approx(second.objective_, rel=1e-5)
        data.assert_same(first, second, 1e-3)
        assert 0 <= first.suboptimality_bound_ <= 1e-3 * first.objective_

    @each_task
    def test_objective_of_the_compiled_solver(self, data, task):
        first, second = (data.fitted(task, device=device, tol=1e-5) for device in ("torch", "cpu"))
        assert first.objective_ == pytest.approx(second.objective_, rel=2e-4)
        assert first.n_iter_ >= 1
        assert first.t_ == len(data.X)

    @pytest.mark.parametrize("changes", [{"feature_map": "fourier"}, {"kernel": "poly"}, {"rank": 20}, {"alpha": 1e-3}])
    def test_maps_and_kernels(self, data, changes):
        changes = {**changes, "loss": "squared_hinge", "tol": 1e-6, "structured": False}
        first, second = (data.fitted("two", device=device, **changes) for device in ("torch", "cpu"))
        assert first.objective_ == pytest.approx(second.objective_, rel=1e-3)

    def test_weights(self, data):
        weights = np.random.default_rng(0).integers(0, 3, len(data.X))
        repeated = np.repeat(np.arange(len(data.X)), weights)
        model = data.model("two", device="torch", tol=1e-6, loss="squared_hinge", alpha=1e-3)
        model.set_params(n_components=len(data.X), gamma=0.05)  # all rows are landmarks
        plain = clone(model).fit(data.X[repeated], data.y["two"][repeated])
        # The mean is over all rows with a weight: twice as many of them are as good as twice the weight.
        scale = np.count_nonzero(weights) / len(repeated)
        weighted = clone(model).fit(data.X, data.y["two"], sample_weight=weights * scale)
        data.assert_same(weighted, plain, 2e-2)

    def test_balanced_classes_and_no_intercept(self, data):
        for changes in ({"class_weight": "balanced"}, {"fit_intercept": False}):
            first, second = (data.fitted("two", device=device, tol=1e-6, **changes) for device in ("torch", "cpu"))
            assert first.objective_ == pytest.approx(second.objective_, rel=2e-4)
        assert first.intercept_ == 0

    @each_task
    def test_path_of_C(self, data, task):
        model = data.fitted(task, device="torch", C=[0.01, 1, 100])
        assert model.C_ in (1, 100)
        assert model.path_["C"].tolist() == [0.01, 1, 100]
        assert (np.diff(model.path_["objective"]) < 0).all()
        single = data.fitted(task, device="torch", C=model.C_)
        assert model.objective_ == pytest.approx(single.objective_, rel=2e-2)  # each is within tol of the optimum

    @pytest.mark.parametrize("changes", [{"memory_limit": "200KB"}, {"dtype": "float16"}, {"dtype": "tf32"}])
    def test_less_memory_and_fewer_bits(self, data, changes):
        first, second = (data.fitted("three", device="torch", **each) for each in (changes, {}))
        assert first.objective_ == pytest.approx(second.objective_, rel=1e-2)
        assert (first.predict(data.X) == second.predict(data.X)).mean() > 0.97

    def test_published_attributes(self, data):
        model = data.fitted("three", device="torch")
        assert model.dual_coef_.shape == (3, 60)
        values = rbf_kernel(data.X, model.landmarks_, gamma=0.5) @ model.dual_coef_.T + model.intercept_
        np.testing.assert_allclose(model.decision_function(data.X), values, atol=2e-3)
        assert model.model_bytes_ > 60 * 3 * 4
        assert clone(model).get_params() == model.get_params()
        assert clone(model).device == "torch"

    def test_same_seed_same_model(self, data):
        first, second = (data.fitted("two", device="torch") for _ in range(2))
        np.testing.assert_array_equal(first.dual_coef_, second.dual_coef_)

    def test_fit_again_forgets_a_path(self, data):
        model = data.fitted("two", device="torch", C=[1, 10])
        model.set_params(C=1.0).fit(data.X, data.y["two"])
        assert not hasattr(model, "path_")


class TestForms:
    """The forms in which rows come: all give the same model."""

    FORMS = ("float64", "fortran", "csr", "tensor", "tensor64", "half", "bfloat16", "gradient", "list")

    def form(self, torch, X, name):
        return {
            "float64": lambda: X.astype(np.float64),
            "fortran": lambda: np.asfortranarray(X),
            "csr": lambda: csr_array(X),
            "tensor": lambda: torch.as_tensor(X),
            "tensor64": lambda: torch.as_tensor(X).double(),
            "half": lambda: torch.as_tensor(X).half(),
            "bfloat16": lambda: torch.as_tensor(X).bfloat16(),
            "gradient": lambda: torch.as_tensor(X).clone().requires_grad_(),
            "list": lambda: X.tolist(),
        }[name]()

    @pytest.mark.parametrize("name", FORMS)
    @pytest.mark.parametrize("task", ["three", "value"])
    def test_rows(self, torch, data, name, task):
        rows = self.form(torch, data.X, name)
        y = torch.as_tensor(data.y[task]) if "tensor" in name else data.y[task]
        model = data.model(task, device="torch").fit(rows, y)
        rough = {"half": 0.05, "bfloat16": 0.3}.get(name, 1e-4)
        data.assert_same(model, data.fitted(task, device="torch"), rough)
        for device in ("torch", None) if isinstance(rows, torch.Tensor) else ("torch", "cpu", None):
            values = data.decisions(model, rows, device=device)
            assert isinstance(values, np.ndarray)
            np.testing.assert_allclose(values, data.decisions(model), atol=10 * rough * np.abs(values).max())

    def test_bytes(self, torch, data):
        rows = np.round(50 * data.X + 100).astype(np.uint8)
        y, model = data.y["two"], data.model("two", device="torch", gamma="scale")
        whole = clone(model).fit(rows.astype(np.float32), y).decision_function(rows)
        for form in (rows, torch.as_tensor(rows)):
            fitted = clone(model).fit(form, y)
            np.testing.assert_allclose(fitted.decision_function(form), whole, atol=1e-3 * np.abs(whole).max())

    def test_a_tensor_is_not_copied(self, torch, data, monkeypatch):
        rows, seen = torch.as_tensor(data.X), []
        source = torch_backend._source

        def watched(arrays, given, memory, order):
            made = source(arrays, given, memory, order)
            seen.append(made._X.data_ptr())
            return made

        monkeypatch.setattr(torch_backend, "_source", watched)
        data.model("two", device="torch").fit(rows, data.y["two"])
        assert seen == [rows.data_ptr()]

    @pytest.mark.parametrize("limit", [None, "200KB"])
    def test_rows_that_stay_on_the_host(self, torch, data, limit, monkeypatch):
        monkeypatch.setattr(torch_backend, "_FOR_X", 0.0)
        for rows in (data.X, torch.as_tensor(data.X), csr_array(data.X)):
            model = data.model("two", device="torch", memory_limit=limit, tol=1e-4).fit(rows, data.y["two"])
            assert model.objective_ == pytest.approx(data.fitted("two", tol=1e-5).objective_, rel=3e-3)

    @pytest.mark.parametrize("sparse", [False, True])
    @pytest.mark.parametrize("limit", [None, "200KB"])
    @pytest.mark.parametrize("task", ["three", "value"])
    def test_batches(self, torch, data, task, limit, sparse):
        def batches():
            for start in range(0, len(data.X), 250):
                part = slice(start, start + 250)
                yield (csr_array(data.X[part]) if sparse else torch.as_tensor(data.X[part])), data.y[task][part]

        model = data.model(task, device="torch", memory_limit=limit).fit_batches(batches)
        assert model.t_ == len(data.X)
        reference = data.fitted(task)
        assert model.score(data.X, data.y[task]) > reference.score(data.X, data.y[task]) - 0.02
        assert model.objective_ < 1.15 * reference.objective_  # other landmarks

    def test_tensors_for_the_cpu(self, torch, data):
        model = data.model("two").fit(torch.as_tensor(data.X), torch.as_tensor(data.y["two"]))
        np.testing.assert_array_equal(model.decision_function(data.X), data.fitted("two").decision_function(data.X))


@pytest.mark.usefixtures("torch")
class TestGoingOn:
    """What becomes of a model that was fitted on a device."""

    @each_task
    def test_partial_fit(self, data, task):
        model = data.fitted(task, device="torch")
        score = model.score(data.X, data.y[task])
        for start in range(0, 600, 200):
            model.partial_fit(data.X[start : start + 200], data.y[task][start : start + 200])
        assert model.t_ == len(data.X) + 600
        assert model.score(data.X, data.y[task]) > score - 0.15

    def test_steps_go_on_from_the_same_model(self, data):
        """In terms of features instead of kernel values."""
        model = data.fitted("three", device="torch")
        before = model.decision_function(data.X)
        model._map, model._weights = with_whitening(model._map, model._weights, 1e-7, None)
        assert model.coef_.shape[1] == model.rank_ <= 60
        for device in ("cpu", "torch"):
            values = model.decision_function(data.X, device=device)
            np.testing.assert_allclose(values, before, atol=1e-3 * np.abs(before).max())

    def test_streams_take_tensors(self, torch, data):
        rows, y = torch.as_tensor(data.X), torch.as_tensor(data.y["three"])
        streams = [data.model("three", device=device) for device in ("torch", "cpu")]
        for start in range(0, 900, 300):
            part = slice(start, start + 300)
            streams[0].partial_fit(rows[part], y[part], classes=[0, 1, 2])
            streams[1].partial_fit(data.X[part], data.y["three"][part], classes=[0, 1, 2])
        np.testing.assert_array_equal(streams[0].dual_coef_, streams[1].dual_coef_)

    @pytest.mark.parametrize("feature_map", ["nystroem", "fourier"])
    def test_files(self, data, tmp_path, feature_map):
        model = data.fitted("three", device="torch", feature_map=feature_map)
        frugalsvm.save(model, tmp_path / "model.frugal")
        loaded = frugalsvm.load(tmp_path / "model.frugal")
        np.testing.assert_array_equal(loaded.decision_function(data.X), model.decision_function(data.X))
        assert loaded.device == "torch"
        for each in (loaded, model):
            each.partial_fit(data.X[:100], data.y["three"][:100])
        np.testing.assert_array_equal(loaded.coef_, model.coef_)

    def test_a_file_from_a_machine_with_a_gpu(self, data, tmp_path, monkeypatch):
        model = data.fitted("two", device="torch")
        expected = model.decision_function(data.X)
        frugalsvm.save(model, tmp_path / "model.frugal")
        monkeypatch.setattr(device_arrays, "find_spec", lambda name: None)
        loaded = frugalsvm.load(tmp_path / "model.frugal")
        with pytest.raises(DeviceError, match="choose device='cpu'"):
            loaded.predict(data.X)
        np.testing.assert_allclose(loaded.decision_function(data.X, device="cpu"), expected, atol=1e-3)
        loaded.set_params(device="cpu")
        np.testing.assert_allclose(loaded.decision_function(data.X), expected, atol=1e-3)

    def test_plain_numbers_and_onnx(self, data, tmp_path):
        runtime = pytest.importorskip("onnxruntime")
        from frugalsvm.export import plain_model, to_onnx

        for task in ("two", "three", "value"):
            for feature_map in ("nystroem", "fourier"):
                model = data.fitted(task, device="torch", feature_map=feature_map)
                to_onnx(model, tmp_path / "model.onnx")
                session = runtime.InferenceSession(str(tmp_path / "model.onnx"))
                found = session.run(None, {session.get_inputs()[0].name: data.X})[-1]
                values = data.decisions(model).reshape(len(data.X), -1)
                np.testing.assert_allclose(found.reshape(values.shape), values, atol=5e-3)
                assert plain_model(model).coefficients.shape == (values.shape[1], 60)

    @pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a C compiler")
    def test_c(self, data, tmp_path):
        import subprocess

        from frugalsvm.export import to_c

        model = data.fitted("two", device="torch")
        to_c(model, tmp_path, name="model")
        library = tmp_path / "model.so"
        sources = [str(path) for path in tmp_path.glob("*.c")]
        subprocess.run(["gcc", "-shared", "-fPIC", "-O1", *sources, "-o", str(library), "-lm"], check=True)
        predict = ctypes.CDLL(str(library)).model_predict
        predict.restype = ctypes.c_int
        places = [predict(row.ctypes.data_as(ctypes.POINTER(ctypes.c_float))) for row in data.X[:100]]
        np.testing.assert_array_equal(model.classes_[places], model.predict(data.X[:100]))

    def test_libsvm_text(self, data, tmp_path):
        from frugalsvm.export import to_libsvm

        model = data.fitted("two", device="torch")
        to_libsvm(model, tmp_path / "model.txt")
        head, _, body = (tmp_path / "model.txt").read_text().partition("SV\n")
        rho = next(float(line.split()[1]) for line in head.splitlines() if line.startswith("rho"))
        a, Z = [], np.zeros((60, 3))
        for i, line in enumerate(body.splitlines()):
            first, *cells = line.split()
            a.append(float(first))
            for cell in cells:
                column, value = cell.split(":")
                Z[i, int(column) - 1] = float(value)
        values = rbf_kernel(data.X, Z[: len(a)], gamma=0.5) @ a - rho
        np.testing.assert_allclose(np.abs(values), np.abs(model.decision_function(data.X)), atol=5e-3)

    def test_in_a_pipeline(self, torch, data):
        pipeline = StreamPipeline(data.model("three", device="torch"), calibrate=True)
        pipeline.fit(1000 * data.X, data.y["three"])
        assert pipeline.score(1000 * data.X, data.y["three"]) > 0.9
        for device in ("cpu", "torch"):
            values = pipeline.decision_function(1000 * data.X, device=device)
            np.testing.assert_allclose(values, pipeline.decision_function(1000 * data.X), atol=2e-3)
            predicted = pipeline.predict(1000 * data.X, device=device)
            assert (predicted == pipeline.predict(1000 * data.X)).mean() > 0.999


class TestPredicting:
    @pytest.mark.parametrize("task", ["two", "three"])
    @pytest.mark.parametrize("name", CLASSIFIERS)
    def test_every_classifier(self, torch, data, name, task):
        model = getattr(frugalsvm, name)(gamma=0.5).fit(data.X[:400], data.y[task][:400])
        expected = model.decision_function(data.X)
        for rows in (data.X, csr_array(data.X), torch.as_tensor(data.X)):
            found = model.decision_function(rows, device="torch")
            np.testing.assert_allclose(found, expected, atol=2e-5 * np.abs(expected).max())
            assert (model.predict(rows, device="torch") == model.predict(data.X)).mean() > 0.995
        np.testing.assert_array_equal(model.decision_function(data.X, device="cpu"), expected)

    def test_structured_features(self, torch, data):
        model = data.fitted("two", feature_map="fourier", structured=True)
        with pytest.raises(ValueError, match="predict with device='cpu'"):
            model.predict(data.X, device="torch")


class TestRefusals:
    def test_wrong_names(self, data):
        with pytest.raises(ValueError, match=r"device must be 'cpu', .*, not 'gpu'"):
            data.fitted("two", device="gpu")
        with pytest.raises(ValueError, match="device must be"):
            data.fitted("two", device=None)
        with pytest.raises(ValueError, match="dtype='bfloat16' is not one of 'float32', 'tf32', 'float16'"):
            data.fitted("two", dtype="bfloat16")
        with pytest.raises(ValueError, match="memory_limit='much' is not a size"):
            data.fitted("two", memory_limit="much")
        with pytest.raises(ValueError, match="device must be"):
            data.fitted("two").predict(data.X, device="gpu")

    def test_without_torch(self, data, monkeypatch):
        monkeypatch.setattr(device_arrays, "find_spec", lambda name: None)
        for method in (data.model("two", device="cuda").fit, data.model("two", device="cuda").partial_fit):
            with pytest.raises(DeviceError, match=r"pip install 'frugalsvm\[torch\]'"):
                method(data.X, data.y["two"])
        with pytest.raises(DeviceError, match="needs PyTorch"):
            data.fitted("two").decision_function(data.X, device="cuda")

    def test_auto_is_the_cpu_without_torch(self, data, monkeypatch, recwarn):
        monkeypatch.setattr(device_arrays, "find_spec", lambda name: None)
        first, second = (data.fitted("two", device=device) for device in ("auto", "cpu"))
        np.testing.assert_array_equal(first.decision_function(data.X), second.decision_function(data.X))
        np.testing.assert_array_equal(first.predict(data.X, device="auto"), second.predict(data.X))
        assert not recwarn

    def test_without_a_gpu(self, torch, data, monkeypatch):
        monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
        with pytest.raises(DeviceError, match="sees no GPU"):
            data.fitted("value", device="cuda")

    @pytest.mark.parametrize(
        ("changes", "sentence"),
        [
            ({"solver": "asset"}, "solver='asset' is for device='cpu', not 'torch'"),
            ({"early_stopping": True}, "early_stopping=True is for device='cpu', not 'torch'"),
            ({"memory_limit": "1KB"}, "1024 bytes of memory on the device are too few for 60 components"),
            ({"C": [1, 10], "validation_fraction": 0.9999}, "leaves none of the 1200 rows"),
        ],
    )
    def test_what_a_device_cannot_do(self, torch, data, changes, sentence):
        model = data.fitted("two", device="torch")
        before = model.decision_function(data.X)
        with pytest.raises(ValueError, match=sentence):
            model.set_params(**changes).fit(data.X, data.y["two"])
        model.set_params(**{name: getattr(ASSETClassifier(), name) for name in changes})
        np.testing.assert_array_equal(model.decision_function(data.X), before)  # nothing was changed

    def test_a_path_needs_rows_that_can_be_held(self, torch, data):
        with pytest.raises(ValueError, match="pass arrays to `fit`"):
            data.model("two", device="torch", C=[1, 10]).fit_batches([(data.X, data.y["two"])])

    def test_tensors(self, torch, data):
        y, model = data.y["two"], data.model("two", device="torch")
        elsewhere = torch.empty(data.X.shape, device="meta")
        with pytest.raises(ValueError, match=r"X is on meta: choose device='cuda', or move it with X\.cpu"):
            data.model("two").fit(elsewhere, y)
        for rows, sentence in (
            (torch.as_tensor(data.X)[:, 0], "Expected 2D array"),
            (torch.as_tensor(data.X)[:0], "at least one sample"),
            (torch.as_tensor(data.X) / 0, "NaN or infinity"),
            (torch.as_tensor(data.X)[:10], "inconsistent numbers of samples"),
        ):
            with pytest.raises(ValueError, match=sentence):
                model.fit(rows, y)
        with pytest.raises(ValueError, match="X has 2 features, but ASSETClassifier is expecting 3"):
            model.fit(data.X, y).predict(torch.zeros((3, 2)))
