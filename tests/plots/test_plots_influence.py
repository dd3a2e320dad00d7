"""The picture of influences: rows from harm to help, the worst of them marked."""

import numpy as np
import pytest

from frugalsvm import LocalSVR
from frugalsvm.plots import RowInfluenceDisplay

pytest.importorskip("matplotlib").use("Agg")


def test_rows_are_in_the_order_of_their_influence():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    model = LocalSVR(10.0, gamma=0.5, cell_size=100, intervals=None, random_state=0).fit(X[:200], X[:200, 0])
    display = RowInfluenceDisplay.from_estimator(model.unlearn([3]), X[200:], X[200:, 0], n_marked=5)
    assert len(display.line_.get_ydata()) == 199
    assert (np.diff(display.influence) >= 0).all()
    assert len(display.marks_.get_offsets()) == 5
    influence = dict(zip(model.row_ids_.tolist(), model.row_influence(X[200:], X[200:, 0]), strict=True))
    assert influence[int(display.row_ids[0])] == display.influence[0]


def test_values_that_do_not_fit_together_are_refused():
    with pytest.raises(ValueError, match="one value for each row"):
        RowInfluenceDisplay(influence=[1.0, 2.0], row_ids=[1])
