"""Kernels and policies of your own, as docs/extending.rst has them, on a cluster."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest

distributed = pytest.importorskip("distributed")

import dask.array as da  # noqa: E402

from frugalsvm.budgeted.maintenance import POLICIES  # noqa: E402
from frugalsvm.core.blocks import kernel_matrix  # noqa: E402
from frugalsvm.core.kernels import KERNELS, Linear, Poly  # noqa: E402
from frugalsvm.dask import DaskBSGDClassifier  # noqa: E402
from frugalsvm.dask._cluster import Cluster  # noqa: E402
from frugalsvm.datasets import make_checkerboard  # noqa: E402

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "extending"
NAMES = ("cauchy_kernel", "remove_oldest")


@pytest.fixture(scope="module")
def cauchy():
    """The kernel; it and the policy are in the registries for the tests of this file only."""
    for name in NAMES:
        spec = spec_from_file_location(name, FOLDER / f"{name}.py")
        sys.modules[name] = module = module_from_spec(spec)
        spec.loader.exec_module(module)
    yield sys.modules["cauchy_kernel"].Cauchy
    del KERNELS["cauchy"], POLICIES["oldest"]
    for name in NAMES:
        del sys.modules[name]


# What comes from outside of the package is compiled in every process: the policy of its own is enough for every day.
@pytest.mark.parametrize("maintenance", [pytest.param("remove", marks=pytest.mark.slow), "oldest"])
def test_two_partitions(cauchy, maintenance):
    X, y = make_checkerboard(4000, random_state=0)
    with distributed.Client(
        processes=False, n_workers=2, threads_per_worker=1, dashboard_address=":0", set_as_default=False
    ) as client:
        model = DaskBSGDClassifier(
            kernel="cauchy", maintenance=maintenance, budget=60, gamma=8.0, max_iter=2, random_state=0, client=client
        ).fit(da.from_array(X, chunks=(2000, -1)), da.from_array(y, chunks=2000))
    local = model.to_local()
    assert local.support_vectors_.shape == (60, 2)
    assert local.score(X, y) > 0.85
    squared_distances = ((X[:50, None].astype(np.float64) - local.support_vectors_[None]) ** 2).sum(axis=2)
    expected = (1.0 / (1.0 + 8.0 * squared_distances)) @ local.dual_coef_[0]
    np.testing.assert_allclose(local.decision_function(X[:50]), expected, rtol=1e-4, atol=1e-4)


@pytest.fixture(scope="module")
def workers():
    """Processes that were started before the parts were there; interpreted, so that nothing is compiled twice."""
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50, env={"NUMBA_DISABLE_JIT": "1"}
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


def test_processes_need_the_module(workers, cauchy):
    X, y = make_checkerboard(600, random_state=0)
    data = da.from_array(X, chunks=(200, -1)), da.from_array(y, chunks=200)
    model = DaskBSGDClassifier(
        kernel="cauchy", maintenance="oldest", budget=30, gamma=8.0, max_iter=1, random_state=0, client=workers
    )
    with pytest.raises(ValueError, match=r"cannot import the module 'cauchy_kernel'.* client.upload_file"):
        model.fit(*data)
    for name in NAMES:
        workers.upload_file(str(FOLDER / f"{name}.py"))
    local = model.fit(*data).to_local()
    assert local.support_vectors_.shape == (30, 2)
    assert type(local.kernel_).__name__ == "Cauchy"  # another class now: uploading loads the module anew


def test_parts_that_were_typed_in_are_not_on_workers(workers):
    typed_in = type("Typed", (tuple,), {"__module__": "__main__"})
    with pytest.raises(ValueError, match="cannot import the module '__main__'"):
        Cluster(workers).check_parts([typed_in()])


def test_kernel_values_between_models(cauchy):
    A, B = np.random.default_rng(0).normal(size=(2, 4, 3))
    squared_distances = ((A[:, None] - B[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(kernel_matrix(cauchy(0.5), A, B), 1.0 / (1.0 + 0.5 * squared_distances), rtol=1e-12)
    np.testing.assert_allclose(kernel_matrix(Poly(0.5, 1.0, 3), A, B), (0.5 * A @ B.T + 1.0) ** 3, rtol=1e-12)
    np.testing.assert_allclose(kernel_matrix(Linear(), A, B), A @ B.T, rtol=1e-12)
