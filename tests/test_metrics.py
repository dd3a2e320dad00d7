"""Break-even point and geometric mean: by hand, by brute force, and whatever the order of the rows."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer, precision_recall_curve, recall_score

from frugalsvm.metrics import geometric_mean_score, precision_recall_breakeven


@st.composite
def rankings(draw):
    """Labels of both classes, scores with many ties, and an order of the rows."""
    n = draw(st.integers(2, 30))
    labels = draw(st.lists(st.integers(0, 1), min_size=n, max_size=n).filter(lambda y: len(set(y)) == 2))
    scores = draw(st.lists(st.integers(0, draw(st.integers(0, 30))), min_size=n, max_size=n))
    return np.array(labels), np.array(scores, float), np.array(draw(st.permutations(range(n))))


class TestBreakeven:
    @pytest.mark.parametrize(
        ("labels", "scores", "expected"),
        [
            ([1, 1, 0, 0], [4, 3, 2, 1], 1.0),
            ([0, 0, 1, 1], [4, 3, 2, 1], 0.0),
            ([1, 0, 1, 0, 0], [5, 4, 3, 2, 1], 1 / 2),
            ([1, 1, 0, 1, 0, 1], [6, 5, 4, 3, 2, 1], 3 / 4),
            ([1, 0, 0, 0], [7, 7, 7, 7], 1 / 4),  # all tied: the share of the positives
            ([1, 1, 0, 0], [9, 5, 5, 5], (1 + 1 / 3) / 2),  # one place for the three in the tie, one of them positive
            ([1, 1, 1, 0, 0], [9, 5, 5, 5, 1], (1 + 2 * 2 / 3) / 3),  # two places for three rows
            ([0, 0, 0, 1], [-1e300, -1.0, 0.0, 1e300], 1.0),
        ],
    )
    def test_by_hand(self, labels, scores, expected):
        assert precision_recall_breakeven(labels, scores) == pytest.approx(expected, rel=1e-12)

    @given(rankings())
    def test_order_of_the_rows(self, ranking):
        labels, scores, order = ranking
        assert precision_recall_breakeven(labels, scores) == precision_recall_breakeven(labels[order], scores[order])

    @given(rankings())
    def test_only_the_order_of_the_scores_matters(self, ranking):
        labels, scores, _ = ranking
        expected = precision_recall_breakeven(labels, scores)
        assert precision_recall_breakeven(labels, np.exp(scores / 3)) == expected
        assert precision_recall_breakeven(1 - labels, scores, pos_label=0) == expected

    @given(rankings())
    def test_precision_equals_recall_without_ties(self, ranking):
        """On the curve of all thresholds, the point where both are the same."""
        labels, _, order = ranking
        precision, recall, _ = precision_recall_curve(labels, order.astype(float))
        same = np.flatnonzero((precision == recall) & (recall > 0))
        expected = precision[same[0]] if same.size else 0.0
        assert precision_recall_breakeven(labels, order) == pytest.approx(expected, rel=1e-12)

    @settings(max_examples=30)
    @given(rankings())
    def test_ties_are_the_mean_over_all_orders(self, ranking):
        labels, scores, _ = ranking
        labels, scores = np.append(labels[:4], [0, 1]), np.append(scores[:4], [1.0, 1.0])
        n_positive = labels.sum()
        orders = [np.lexsort((np.array(p), -scores)) for p in permutations(range(len(labels)))]
        expected = np.mean([labels[order[:n_positive]].mean() for order in orders])
        assert precision_recall_breakeven(labels, scores) == pytest.approx(expected, rel=1e-12)

    def test_positive_label(self):
        labels, scores = np.array(["spam", "ham", "ham", "spam", "ham"]), [5, 4, 3, 2, 1]
        assert precision_recall_breakeven(labels, scores) == 1 / 2  # "spam" is the larger one
        assert precision_recall_breakeven(labels, scores, pos_label="ham") == pytest.approx(2 / 3)
        assert precision_recall_breakeven(labels.astype(object), scores, pos_label="ham") == pytest.approx(2 / 3)
        assert precision_recall_breakeven([True, False, True], [3, 2, 1]) == 1 / 2

    def test_as_a_scorer(self):
        X, y = make_classification(random_state=0)
        model = LogisticRegression().fit(X[:, :3], y)
        scorer = make_scorer(precision_recall_breakeven, response_method="decision_function")
        highest = np.argsort(-model.decision_function(X[:, :3]))[: y.sum()]
        assert scorer(model, X[:, :3], y) == pytest.approx(y[highest].mean())

    @pytest.mark.parametrize(
        ("labels", "scores", "pos_label", "message"),
        [
            ([1, 1], [1.0, 2.0], None, "y_true must have two classes, but it has one class only, 1"),
            ([0, 1, 2], [1.0, 2.0, 3.0], None, "y_true must have two classes, but it has 3 classes"),
            ([0, 1], [1.0, np.nan], None, "scores contains NaN"),
            ([0, 1], [1.0, np.inf], None, "scores contains infinity"),
            ([0.0, np.nan], [1.0, 2.0], None, "y_true contains NaN"),
            ([0, 1, 1], [1.0, 2.0], None, r"inconsistent numbers of samples: \[3, 2\]"),
            ([0, 1], [[1.0, 2.0], [3.0, 4.0]], None, "should be a 1d array"),
            ([], [], None, "0 sample"),
            ([0, 1], [1.0, 2.0], "yes", r"pos_label='yes' is not one of the labels in y_true, \[0, 1\]"),
        ],
    )
    def test_refusals(self, labels, scores, pos_label, message):
        with pytest.raises(ValueError, match=message):
            precision_recall_breakeven(labels, scores, pos_label=pos_label)


class TestGeometricMean:
    @pytest.mark.parametrize(
        ("truth", "predicted", "expected"),
        [
            ([0, 0, 1, 1], [0, 0, 1, 1], 1.0),
            ([0, 0, 0, 0, 1], [0, 0, 0, 0, 0], 0.0),
            ([0, 0, 0, 0, 1, 1], [0, 1, 1, 1, 1, 1], 0.5),
            (["a", "a", "b", "b", "c", "c"], ["a", "b", "b", "a", "c", "a"], 0.5),
            ([0, 0, 1, 1], [0, 2, 1, 2], 0.5),  # 2 is an error, not a class with nothing to find
        ],
    )
    def test_by_hand(self, truth, predicted, expected):
        assert geometric_mean_score(truth, predicted) == pytest.approx(expected, rel=1e-12)

    @given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=60), st.randoms())
    def test_brute_force_in_any_order(self, pairs, random):
        truth, predicted = np.array(pairs).T
        if len(np.unique(truth)) < 2:
            pairs = [*pairs, ((truth[0] + 1) % 4, 0)]
        random.shuffle(pairs)
        truth, predicted = np.array(pairs).T
        recalls = [np.mean(predicted[truth == c] == c) for c in np.unique(truth)]
        expected = np.prod(recalls) ** (1 / len(recalls))
        assert geometric_mean_score(truth, predicted) == pytest.approx(expected, rel=1e-9, abs=1e-12)

    def test_two_classes_are_sensitivity_and_specificity(self):
        rng = np.random.default_rng(0)
        truth, predicted = rng.integers(2, size=(2, 200))
        both = [recall_score(truth, predicted, pos_label=c) for c in (0, 1)]
        assert geometric_mean_score(truth, predicted) == pytest.approx(np.sqrt(both[0] * both[1]))

    def test_many_small_recalls_do_not_vanish(self):
        """Their product is 10^-400, which is no float64."""
        truth = np.repeat(np.arange(200), 100)
        predicted = np.where(np.arange(len(truth)) % 100 == 0, truth, (truth + 1) % 200)
        assert geometric_mean_score(truth, predicted) == pytest.approx(0.01, rel=1e-9)

    @pytest.mark.parametrize(
        ("truth", "predicted", "message"),
        [
            ([1, 1], [0, 1], "at least two classes, but all labels are 1"),
            ([0, 1, 1], [0, 1], r"inconsistent numbers of samples: \[3, 2\]"),
            ([0, 1], [0.5, 1.2], "y_pred must be labels of classes, not continuous values"),
            ([0.1, 1.5], [0, 1], "y_true must be labels of classes, not continuous values"),
            ([0.0, np.nan], [0, 1], "y_true contains NaN"),
            ([0, 1], ["0", "1"], "[Mm]ix"),
            ([[0, 1], [1, 0]], [0, 1], "should be a 1d array"),
        ],
    )
    def test_refusals(self, truth, predicted, message):
        with pytest.raises(ValueError, match=message):
            geometric_mean_score(truth, predicted)
