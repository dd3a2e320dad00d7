"""What `fit` warns of, and what it does not: solvers at their limits, and models no better than the majority class."""

import re
import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from support import blobs

import frugalsvm
from frugalsvm import ASSETClassifier, ASSETRegressor, BSGDClassifier, IncrementalSVC, LASVMClassifier, TVMClassifier
from frugalsvm.estimators import fit_warnings, lasvm
from frugalsvm.exceptions import PoorFitWarning

CLASSIFIERS = [
    name
    for name in frugalsvm.__all__
    if name.endswith(("Classifier", "SVC", "Perceptron")) and name != "AutoSVC"  # which chooses gamma itself
]
X, Y = make_classification(400, 8, n_informative=5, flip_y=0.05, class_sep=1.5, random_state=0)


def told(learn, *arguments, **keywords):
    """The warnings of a call."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        learn(*arguments, **keywords)
    return [each for each in caught if issubclass(each.category, (PoorFitWarning, ConvergenceWarning))]


def useless():
    """A model that says one class always: the kernel of any two rows is 1."""
    return BSGDClassifier(gamma=1e-12, budget=20, random_state=0)


class TestPoorFit:
    @pytest.mark.parametrize("name", CLASSIFIERS)
    def test_good_models_are_not_told(self, name):
        assert told(getattr(frugalsvm, name)().fit, X, Y) == []

    def test_the_sentence(self):
        y = np.where(np.arange(400) % 4 == 0, "rare", "common")
        (warning,) = told(useless().fit, X, y)
        assert warning.category is PoorFitWarning
        assert re.fullmatch(
            r"BSGDClassifier is no better than always predicting 'common': right on [\d.]+% of 400 training rows, "
            r"where that class is 75\.0%\. Scale the features \(StandardScaler\), or try other values of gamma, "
            r"alpha and budget\.",
            str(warning.message),
        )
        assert warning.filename == __file__

    @pytest.mark.parametrize("name", CLASSIFIERS)
    def test_all_classifiers_tell(self, name):
        """Labels that have nothing to do with rows which are all the same."""
        y = np.where(np.arange(300) % 3 == 0, 1, 0)
        warned = told(getattr(frugalsvm, name)(gamma=1.0).fit, np.ones((300, 2)), y)
        assert PoorFitWarning in [each.category for each in warned]

    def test_weights_of_classes(self):
        """A model for balanced classes is below the majority by count, and not by the weights that it was given."""
        few = np.flatnonzero(Y == 1)[:40]
        rows = np.concatenate([np.flatnonzero(Y == 0), few])
        noisy = X[rows] + np.random.default_rng(0).normal(scale=3.0, size=(len(rows), 8))
        model = LASVMClassifier(class_weight="balanced", random_state=0)
        assert told(model.fit, noisy, Y[rows]) == []
        weights = np.where(Y[rows] == 1, 10.0, 1.0)
        assert told(LASVMClassifier(random_state=0).fit, noisy, Y[rows], sample_weight=weights) == []
        (warning,) = told(useless().fit, noisy, Y[rows], sample_weight=weights)
        assert "training rows by weight, where that class is" in str(warning.message)

    def test_rows_without_weight_do_not_count(self):
        y, weights = Y.copy(), np.ones(400)
        weights[200:] = 0.0
        y[200:] = 1 - y[200:]
        assert told(LASVMClassifier(random_state=0).fit, X, y, sample_weight=weights) == []

    def test_one_class_with_nearly_all_weight_is_no_choice(self):
        assert told(LASVMClassifier().fit, X, Y, sample_weight=np.where(Y == 1, 1.0, 1e-9)) == []

    def test_labels_of_any_type(self):
        for labels in (
            np.array(["b", "a"], object),
            np.array(["b", "a"]),
            np.array([2.0, 1.0]),
            np.array([True, False]),
        ):
            y = labels[(np.arange(400) % 4 == 0).astype(int)]
            (warning,) = told(useless().fit, X, y)
            assert f"always predicting {labels.tolist()[0]!r}: " in str(warning.message)

    def test_few_rows_and_batches_are_left_alone(self):
        y = np.arange(400) % 2
        assert told(useless().fit, X[:49], y[:49]) == []
        assert told(useless().partial_fit, X, y) == []

    def test_a_sample_is_enough(self, monkeypatch):
        monkeypatch.setattr(fit_warnings, "SAMPLE", 60)
        (warning,) = told(useless().fit, X, np.arange(400) % 4 == 0)
        assert "of 60 training rows" in str(warning.message)

    def test_sparse_rows_and_data_frames(self):
        assert told(LASVMClassifier(random_state=0).fit, csr_array(X), Y) == []
        pandas = pytest.importorskip("pandas")
        frame = pandas.DataFrame(X, columns=list("abcdefgh"))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = LASVMClassifier(random_state=0).fit(frame, Y)
        assert list(model.feature_names_in_) == list("abcdefgh")

    def test_the_model_is_the_same(self):
        """Looking at it takes nothing from its random numbers or counters."""
        counts = []
        for n_few in (50, 10**9):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(fit_warnings, "FEW", n_few)
                model = BSGDClassifier(budget=20, random_state=0).fit(X, Y).partial_fit(X, Y)
            counts.append((model.n_kernel_evals_, model.t_, model.decision_function(X).tolist()))
        assert counts[0] == counts[1]


class TestConvergence:
    def test_newton_steps(self):
        settings = {"C": 1e4, "n_components": 50, "random_state": 0}
        (warning,) = told(ASSETClassifier(max_iter=1, tol=1e-4, **settings).fit, X, Y)
        assert warning.category is ConvergenceWarning
        assert re.match(
            r"ASSETClassifier stopped at max_iter=1 before it converged: the objective may be [\d.]+% above the "
            r"optimum; raise max_iter, scale the features, or lower C\.",
            str(warning.message),
        )
        assert warning.filename == __file__
        assert told(ASSETClassifier(**settings).fit, X, Y) == []

    def test_newton_steps_of_regression(self):
        y = np.sin(X[:, 0]) * X[:, 1]
        settings = {"C": 1e3, "n_components": 50, "epsilon": 0.01, "random_state": 0}
        (warning,) = told(ASSETRegressor(max_iter=1, tol=1e-4, **settings).fit, X, y)
        assert warning.category is ConvergenceWarning
        assert told(ASSETRegressor(**settings).fit, X, y) == []

    @pytest.mark.parametrize("solver", ["newton", "asset"])
    def test_early_stopping_that_did_not_stop(self, solver):
        settings = {"solver": solver, "n_components": 20, "early_stopping": True, "tol": 1e-9, "random_state": 0}
        (warning,) = told(ASSETClassifier(max_iter=2, n_iter_no_change=50, **settings).fit, X, Y)
        assert "max_iter=2 before it converged: the score on the validation rows still rose within the last 50" in str(
            warning.message
        )
        assert told(ASSETClassifier(max_iter=300, n_iter_no_change=2, **settings).fit, X, Y) == []

    def test_finishing_steps(self, monkeypatch):
        model = LASVMClassifier("full", C=1e3, tol=1e-9, finish=True, random_state=0)
        monkeypatch.setattr(lasvm, "MOST_STEPS", 1)
        monkeypatch.setattr(LASVMClassifier, "n_members_", np.zeros(1, int))
        (warning,) = told(model.fit, X, Y)
        assert "stopped at 1 finishing steps before it converged: violations above tol=1e-09 are left" in str(
            warning.message
        )

    @pytest.mark.parametrize("model", [IncrementalSVC(), TVMClassifier(budget=20)])
    def test_optimality_conditions(self, model, monkeypatch):
        monkeypatch.setattr(type(model), "kkt_violation_", 0.25)
        (warning,) = told(model.fit, X, Y)
        assert "violates its optimality conditions by 0.25, because of rounding: scale the features" in str(
            warning.message
        )


def test_blobs_with_a_fifth_of_labels_at_random_are_fine():
    for n_classes in (2, 3, 5):
        assert told(LASVMClassifier(random_state=0).fit, *blobs(500, 3, n_classes, seed=0)) == []
