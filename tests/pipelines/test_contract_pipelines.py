"""scikit-learn's own checks for pipelines and their parts."""

import pytest
from scikit_learn_contract import scikit_learn_checks
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.validation import _is_fitted

from frugalsvm import ASSETRegressor, BSGDClassifier, BSGDOneClassSVM
from frugalsvm.pipelines import ColumnEncoder, MissingValueFiller, StreamingScaler, StreamPipeline

pytestmark = pytest.mark.slow  # what is inside a pipeline has its own checks

# As for the estimators within: an example of weight 2 is one large step, or one row that landmarks are drawn from.
WEIGHTS = "what is within does not learn an example of weight 2 like two examples"
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": WEIGHTS,
    "check_sample_weight_equivalence_on_sparse_data": WEIGHTS,
}


@scikit_learn_checks(
    [
        StreamPipeline(BSGDClassifier(budget=30, alpha=1e-3, max_iter=5, random_state=0), warmup_rows=20),
        StreamPipeline(ASSETRegressor(n_components=50, random_state=0), warmup_rows=20),
        StreamPipeline(BSGDOneClassSVM(budget=30, random_state=0), warmup_rows=20),
        StreamingScaler(),
        StreamingScaler("standard", clip=None),
        StreamingScaler(soft_clip=True),
        StreamingScaler("symmetric", soft_clip=True),
        MissingValueFiller(),
    ],
    lambda estimator: EXPECTED_FAILURES if isinstance(estimator, StreamPipeline) else {},
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_encoder_is_a_transformer():
    """Most of the checks give arrays of numbers, which the encoder does not take."""
    columns = {"color": ["red", "blue", None]}
    encoder = ColumnEncoder()
    assert get_tags(encoder).input_tags.dict
    assert clone(encoder).fit_transform(columns).toarray().tolist() == [[0, 1], [1, 0], [0, 0]]
    assert not _is_fitted(encoder)
