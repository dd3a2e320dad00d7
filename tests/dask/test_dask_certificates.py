"""On a cluster: certificates against plain NumPy, and warnings of what did not converge or is no good."""

import warnings

import numpy as np
import pytest

distributed = pytest.importorskip("distributed")

import dask.array as da  # noqa: E402
from sklearn.exceptions import ConvergenceWarning  # noqa: E402
from sklearn.svm import SVC  # noqa: E402

from frugalsvm.dask import DaskASSETClassifier, DaskBSGDClassifier  # noqa: E402
from frugalsvm.datasets import make_checkerboard  # noqa: E402
from frugalsvm.exceptions import PoorFitWarning  # noqa: E402

X, Y = make_checkerboard(1200, noise=0.05, random_state=0)
DIVIDED = (da.from_array(X, chunks=(600, -1)), da.from_array(Y, chunks=600))
ASSET = {"n_components": 30, "C": 3.0, "gamma": 8.0, "random_state": 0}


@pytest.fixture(scope="module")
def client():
    with distributed.Client(
        processes=False, n_workers=2, threads_per_worker=1, dashboard_address=":0", set_as_default=False
    ) as client:
        yield client


def rbf(A, B):
    return np.exp(-8.0 * ((A[:, None].astype(np.float64) - B[None].astype(np.float64)) ** 2).sum(axis=2))


def told(model):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(*DIVIDED)
    return [each.category for each in caught if issubclass(each.category, (PoorFitWarning, ConvergenceWarning))]


def test_the_optimum_is_between_bound_and_objective(client):
    model = DaskASSETClassifier(client=client, **ASSET)
    assert told(model) == []
    local = model.to_local()
    signs = np.where(local.classes_[1] == Y, 1.0, -1.0)
    a, values = local.dual_coef_[0], rbf(X, local.landmarks_)
    penalty = 1.0 / (3.0 * len(Y))
    losses = np.maximum(0.0, 1.0 - signs * (values @ a + local.intercept_[0]))
    direct = 0.5 * penalty * (a @ rbf(local.landmarks_, local.landmarks_) @ a) + losses.mean()
    assert local.objective_ == pytest.approx(direct, rel=1e-4)
    inverse = np.linalg.pinv(rbf(local.landmarks_, local.landmarks_), rcond=1e-9, hermitian=True)
    peer = SVC(C=3.0, kernel="precomputed", tol=1e-6).fit(values @ inverse @ values.T, signs)
    w = values[peer.support_].T @ peer.dual_coef_[0]
    losses = np.maximum(0.0, 1.0 - signs * (values @ inverse @ w + peer.intercept_[0]))
    best = 0.5 * penalty * (w @ inverse @ w) + losses.mean()
    assert local.objective_ - local.suboptimality_bound_ <= best * (1 + 1e-5)
    assert best <= local.objective_ * (1 + 1e-4)


def test_rounds_that_end_at_their_limit(client):
    assert told(DaskASSETClassifier(client=client, max_iter=1, tol=1e-5, **ASSET)) == [ConvergenceWarning]
    model = DaskBSGDClassifier(client=client, budget=60, gamma=8.0, random_state=0, max_iter=2)
    assert told(model) == [ConvergenceWarning]
    assert told(model.set_params(validation_fraction=0.0)) == []  # as many rounds as were asked for
    assert told(model.set_params(validation_fraction=0.05, max_iter=1)) == []  # one pass, as on one machine


def test_a_model_that_is_no_good(client):
    model = DaskASSETClassifier(client=client, validation_fraction=0.2, **{**ASSET, "gamma": 1e-9, "C": 1e-6})
    assert PoorFitWarning in told(model)
