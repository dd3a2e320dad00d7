"""Model files that earlier releases wrote are loaded, and the models say and learn what they said and learned then.

``make_old_files.py`` wrote them; each file has its own questions and answers in its metadata.
"""

from pathlib import Path

import numpy as np
import pytest
from make_old_files import answers, given

from frugalsvm.persist.model import read_model

FILES = sorted((Path(__file__).parent / "data").glob("0.*/*.frugal"))


def probe_of(told):
    X, y = np.array(told["rows"], told["dtype"]), np.array(told["targets"])
    return given(told["name"], X, y), y


def test_there_are_files_of_all_kinds():
    assert len(FILES) > 80


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("ignore:The pipeline was saved with scikit-learn")
def test_old_file(path):
    model, told = read_model(path)
    X, y = probe_of(told)
    if told["answers"] is not None:
        np.testing.assert_allclose(answers(model, X), told["answers"], rtol=1e-5, atol=1e-6)
    if told.get("later") is not None:
        later = model.partial_fit(X, y)
        np.testing.assert_allclose(answers(later, X), told["later"], rtol=1e-3, atol=1e-3)
