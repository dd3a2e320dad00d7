"""The best metric: which kind it is where, for which rows it is, and how judges tell."""

import numpy as np
import pytest

from frugalsvm.core.kernels import RBF, Laplacian
from frugalsvm.exceptions import ParameterError
from frugalsvm.metric_learning.candidates import Plan, Point, Schedule
from frugalsvm.metric_learning.machine import Rows
from frugalsvm.selection.best_metric import KINDS, best_metric, judged_metric, kinds_of

KERNEL = RBF(1.0)
STEPS = Plan(0.15, 50, 150, 2)
SCHEDULE = Schedule(factors=STEPS, last=Plan(0.1, 10, 150, 2), matrix=Plan(0.02, 20, 150, 2), n_batches=8)


def outcome_of(function, n_features, kinds=None, n=1500, kernel=KERNEL, scales=None, classes=False, schedule=SCHEDULE):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, n_features))
    y = function(X, rng)
    y = np.sign(y) if classes else y - y.mean()
    rows = Rows(X, y[:, None], np.ones(n))
    generator = np.random.default_rng(1)
    return best_metric(kernel, rows, generator, kinds=kinds, scales=scales, classes=classes, schedule=schedule)


def two_of_eight(X, rng):
    return np.sin(2 * X[:, 0]) * X[:, 1]


class TestKinds:
    def test_factors_where_features_are_noise(self):
        outcome = outcome_of(two_of_eight, 8, kinds=("plain", "factors"))
        assert outcome.kind == "factors"
        assert outcome.errors["factors"] < 0.3 * outcome.errors["plain"]
        weights = outcome.point.A**2
        assert weights[:2].sum() > 0.98 * weights.sum()

    def test_a_matrix_where_a_direction_matters(self):
        outcome = outcome_of(lambda X, rng: np.sin(1.7 * (X[:, 0] - X[:, 1] + X[:, 2])), 4)
        assert outcome.kind == "matrix"
        assert outcome.point.A.shape == (4, 4)

    def test_classes_are_counted(self):
        outcome = outcome_of(two_of_eight, 8, kinds=("plain", "factors"), classes=True)
        n_judges = 375
        assert outcome.kind == "factors"
        assert all((error * n_judges) == pytest.approx(round(error * n_judges)) for error in outcome.errors.values())

    def test_nothing_is_gained_where_nothing_can_be_learned(self):
        """By chance, one of several metrics may be ahead by two standard errors, but not by much."""
        outcome = outcome_of(lambda X, rng: rng.normal(size=len(X)), 5)
        assert outcome.errors[outcome.kind] == pytest.approx(outcome.errors["plain"], rel=0.05)

    def test_plain_where_all_features_are_alike(self):
        outcome = outcome_of(lambda X, rng: np.sin(np.linalg.norm(X, axis=1) * 2), 3, kinds=("plain", "factors"))
        assert outcome.errors[outcome.kind] <= 1.05 * outcome.errors["plain"]


class TestScales:
    """Rows are ``X * SCALES``, and the best metric is for X."""

    SCALES = np.array([100.0, 0.01, 1.0, 1.0, 1000.0, 1.0, 1.0, 1.0])

    def test_the_plain_metric_is_that_of_columns_before(self):
        plain = outcome_of(two_of_eight, 8, kinds=("plain",), n=300, scales=self.SCALES).point.A
        np.testing.assert_allclose(plain, plain[0])

    def test_others_start_from_columns_as_they_were_where_these_are_better(self):
        """As pixels are: scaling would make much of those that hardly ever change."""
        scales = np.where(np.arange(40) < 2, 1.0, 1000.0)
        short = STEPS._replace(rate=1e-3, n_steps=1)
        start_only = SCHEDULE._replace(factors=short, farther=short)
        found = outcome_of(two_of_eight, 40, ("plain", "factors"), scales=scales, schedule=start_only)
        assert found.errors["factors"] < 1.5 * found.errors["plain"]

    def test_others_start_from_scaled_columns_and_are_for_those_before(self):
        found, same = (outcome_of(two_of_eight, 8, ("plain", "factors"), scales=each) for each in (self.SCALES, None))
        assert found.kind == same.kind == "factors"
        weights = np.square(found.point.A / self.SCALES)
        assert weights[:2].sum() > 0.98 * weights.sum()
        assert found.errors["factors"] == pytest.approx(same.errors["factors"], rel=0.5)
        assert found.errors["plain"] > same.errors["plain"]


class TestKernels:
    def test_an_l1_kernel_has_factors(self):
        outcome = outcome_of(two_of_eight, 8, kernel=Laplacian(1.0))
        assert outcome.kind == "factors"
        assert tuple(outcome.errors) == kinds_of(Laplacian(1.0)) == ("plain", "factors")

    def test_but_no_matrix(self):
        with pytest.raises(ParameterError, match="L1 distances, which no matrix changes"):
            outcome_of(two_of_eight, 8, kernel=Laplacian(1.0), kinds=KINDS)


@pytest.mark.parametrize("kinds", [("plain",), ("plain", "matrix")])
def test_only_kinds_that_are_asked_for_are_judged(kinds):
    outcome = outcome_of(lambda X, rng: X[:, 0], 3, kinds=kinds, n=300)
    assert tuple(outcome.errors) == kinds


class TestJudges:
    POINT = Point(np.ones(2), 1e-4)

    @pytest.fixture
    def rows(self):
        X = np.random.default_rng(0).normal(size=(1000, 2))
        return Rows(X, np.sin(2 * X[:, :1]) * X[:, 1:], np.ones(1000))

    def judged(self, rows, *, classes):
        return judged_metric(KERNEL, self.POINT, rows, 200, np.random.default_rng(0), classes=classes).judgment

    def test_each_is_predicted_by_its_neighbors(self, rows):
        """As if it was not there: another target of its own changes its error by as much."""
        found = self.judged(rows, classes=False)
        targets = rows.targets.copy()
        targets[7] += 0.5
        moved = self.judged(rows._replace(targets=targets), classes=False)
        assert found.squared_error < 0.05 * rows.targets.var()
        assert moved.squares[7] == pytest.approx(0.25, rel=0.3)
        assert len(moved.squares) == 200

    @pytest.mark.parametrize("n_outputs", [1, 3])
    def test_wrong_classes_are_counted(self, rows, n_outputs):
        y = np.digitize(rows.targets[:, 0], [-0.5, 0.5])
        targets = np.where(y[:, None] == np.arange(3), 1.0, -1.0)[:, :n_outputs]
        found = self.judged(rows._replace(targets=targets), classes=True)
        assert set(np.unique(found.losses)) <= {0.0, 1.0}
        assert 0.0 < found.error < 0.3
        assert len(found.losses) == 200


def test_many_features():
    """Directions are few then, and the matrix has a row for each."""
    outcome = outcome_of(lambda X, rng: np.sin(X[:, :3].sum(axis=1)), 80, kinds=("plain", "matrix"))
    assert outcome.kind == "matrix"
    n_directions, n_features = outcome.point.A.shape
    assert n_features == 80
    assert n_directions < 64


def test_the_number_of_threads_changes_nothing():
    X = np.random.default_rng(0).normal(size=(800, 4))
    rows = Rows(X, np.sin(2 * X[:, :1]) * X[:, 1:2], np.ones(800))
    one, several = (
        best_metric(KERNEL, rows, np.random.default_rng(1), schedule=SCHEDULE, n_threads=count).point
        for count in (1, 3)
    )
    np.testing.assert_allclose(several.A, one.A, rtol=1e-12)
    assert several.ridge == one.ridge
