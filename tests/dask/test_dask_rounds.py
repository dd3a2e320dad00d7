"""Rounds of budgeted SGD on a cluster: how many there are, and what partitions tell in the first."""

import numpy as np
import pytest

pytest.importorskip("distributed")  # a folder of this name is found as `dask` where Dask is missing

import dask.array as da

from frugalsvm import BSGDClassifier
from frugalsvm.dask import DaskBSGDClassifier
from frugalsvm.dask._preparing import Rows
from frugalsvm.dask.bsgd import Round, learned
from frugalsvm.datasets import make_checkerboard

BSGD = {"budget": 30, "gamma": 8.0, "alpha": 1e-4, "random_state": 0}


def divided(n_rows):
    X, y = make_checkerboard(n_rows, random_state=0)
    return da.from_array(X, chunks=(-(-n_rows // 2), 2)), da.from_array(y, chunks=-(-n_rows // 2))


def test_rounds_end_after_the_first_where_more_rows_gained_nothing(client):
    model = DaskBSGDClassifier(client=client, tol=0.5, **BSGD).fit(*divided(2000))
    assert model.n_iter_ == 1
    # Without learning coefficients again, models of half of the rows tell nothing.
    model.set_params(refit_rows=0).fit(*divided(2000))
    assert model.n_iter_ == 3


def test_rounds_continue_where_more_rows_gained_something(client):
    X, y = divided(400)
    model = DaskBSGDClassifier(client=client, validation_fraction=0.3, tol=0.0, max_iter=4, **BSGD).fit(X, y)
    assert model.n_iter_ > 1


def test_models_of_half_of_the_rows_are_those_of_their_rows():
    X, y = make_checkerboard(503, random_state=0)
    learner = BSGDClassifier(**BSGD).partial_fit(X[:1], y[:1], classes=[-1, 1]).learners[0].restarted(0)
    rows = Rows(0, X, (y > 0).astype(np.int64), None, 3)
    whole = learned(rows, learner, Round(1, 0, 500))
    found = learned(rows, learner, Round(1, 0, 500, 2))
    assert whole.earlier == ()
    assert [int(model.counts[0]["n_seen"]) for model in found.earlier] == [250, 125]
    for model, n_rows in ((found.mean, 500), (found.single, 500), *zip(found.earlier, (250, 125), strict=True)):
        alone = learned(rows._replace(X=X[: 3 + n_rows], labels=rows.labels[: 3 + n_rows]), learner, Round(1, 0, 500))
        for ours, theirs in zip(model, alone.mean, strict=True):
            np.testing.assert_array_equal(ours, theirs)
