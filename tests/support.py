"""What several test modules share: small streams, and one setting for both the engine and its oracle."""

from dataclasses import dataclass

import numpy as np
from oracles.bsgd import BSGDOracle

from frugalsvm.budgeted.maintenance import new_policy
from frugalsvm.budgeted.norm_constraint import Ball, Unconstrained
from frugalsvm.budgeted.sgd import Parts, learn
from frugalsvm.core.expansion import averaged_coefficients, coefficients, new_expansion
from frugalsvm.core.kernels import KERNELS, Linear, Poly
from frugalsvm.core.losses import MARGIN, hinge_for
from frugalsvm.core.predict import decision_values
from frugalsvm.core.schedules import Forgetting, Norma, Pegasos, Perceptron

# Every pair of a learner, a maintenance and a number of outputs: each of them is machine code of its own, which takes
# seconds to compile. What they are tested on is chosen among these; the combinations that are left are slow tests.
COVERING = (
    ("pegasos", "remove", 1), ("pegasos", "remove", 4), ("pegasos", "project", 1),
    ("pegasos", "merge", 1), ("pegasos", "merge", 4),
    ("norma", "remove", 1), ("norma", "remove", 4), ("norma", "project", 4), ("norma", "merge", 4),
    ("perceptron", "remove", 4), ("perceptron", "project", 1), ("perceptron", "merge", 4),
)  # fmt: skip
ORACLE_NAMES = {"remove": "removal", "project": "projection", "merge": "merging"}


def blobs(n_rows, n_features, n_classes, seed, *, dtype=np.float64):
    """Gaussian blobs, two to a class, and a fifth of the labels drawn at random: margins keep being violated."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(scale=1.5, size=(2 * n_classes, n_features))
    blob = rng.integers(2 * n_classes, size=n_rows)
    X = centres[blob] + rng.normal(size=(n_rows, n_features))
    labels = np.where(rng.random(n_rows) < 0.2, rng.integers(n_classes, size=n_rows), blob % n_classes)
    return X.astype(dtype), labels


def count_subnormals(*arrays):
    """How many numbers are neither zero nor normal: most processors take a hundred times as long for each of them."""
    sizes = [np.abs(array[array != 0]) for array in map(np.asarray, arrays)]
    return sum(int((size < np.finfo(size.dtype).tiny).sum()) for size in sizes if size.dtype.kind == "f")


def assert_same_estimator(first, second):
    """Two classifiers that learned the same have the same support vectors, bit by bit, and the same counts."""
    np.testing.assert_array_equal(first.support_vectors_, second.support_vectors_)
    np.testing.assert_array_equal(first.dual_coef_, second.dual_coef_)
    assert (first.t_, first.n_updates_, first.n_maintenance_) == (second.t_, second.n_updates_, second.n_maintenance_)


def kernel_part(setting):
    """The engine's kernel for the kernel's parameters in a setting."""
    if setting.kernel == "linear":
        return Linear()
    if setting.kernel == "poly":
        return Poly(setting.gamma, setting.coef0, setting.degree)
    return KERNELS[setting.kernel](setting.gamma)


@dataclass(frozen=True)
class Setting:
    """Parameters of a learner, in the engine's words."""

    learner: str = "pegasos"
    maintenance: str = "merge"
    n_outputs: int = 1
    budget: int | None = 10
    kernel: str = "rbf"
    gamma: float = 0.3
    coef0: float = 1.0
    degree: int = 2
    alpha: float = 0.01
    eta0: float = 0.5
    radius: float | None = None
    average_from: int | None = None
    clock: float = np.inf

    def __str__(self):  # names the cases of a parametrised test
        return f"{self.learner}-{self.maintenance}-{self.n_outputs}-{self.kernel}"

    @property
    def n_classes(self):
        return max(2, self.n_outputs)

    def kernel_part(self):
        return kernel_part(self)

    def parts(self):
        """The engine's parts; budget policies have a state, so they are new every time."""
        schedules = {
            "pegasos": Pegasos(self.alpha, self.radius is None)
            if self.clock == np.inf
            else Forgetting(self.alpha, self.clock),
            "norma": Norma(self.alpha, self.eta0),
            "perceptron": Perceptron(self.eta0, MARGIN),
        }
        return Parts(
            loss=hinge_for(self.n_outputs),
            kernel=self.kernel_part(),
            schedule=schedules[self.learner],
            policy=new_policy(self.maintenance, self.budget),
            ball=Unconstrained() if self.radius is None else Ball(self.radius),
        )

    def empty_model(self, X):
        n_slots = 16 if self.budget is None else self.budget + 1
        return new_expansion(n_slots, X.shape[1], self.n_outputs, X.dtype, self.average_from)

    def trained(self, X, labels, weights=None):
        """The engine's model after these rows in this order."""
        return learn(self.parts(), self.empty_model(X), X, labels, weights)[1]

    def trained_in_batches(self, X, labels, batch_rows):
        parts, model = self.parts(), self.empty_model(X)
        for start in range(0, X.shape[0], batch_rows):
            batch = slice(start, start + batch_rows)
            parts, model = learn(parts, model, X[batch], labels[batch])
        return model

    def oracle(self):
        return BSGDOracle(
            learner=self.learner,
            maintenance=ORACLE_NAMES[self.maintenance],
            budget=self.budget,
            n_outputs=self.n_outputs,
            kernel=self.kernel,
            gamma=self.gamma,
            coef0=self.coef0,
            degree=self.degree,
            alpha=self.alpha,
            eta0=self.eta0,
            radius=self.radius,
            average_from=self.average_from,
            clock=self.clock,
        )

    def oracle_label(self, label):
        return 2 * int(label) - 1 if self.n_outputs == 1 else int(label)

    def decisions(self, model, X, *, averaged=False):
        """Decision values of an engine's model, ``(n_rows, n_outputs)``, by its own prediction."""
        weights = np.zeros_like(model.weights)
        true = averaged_coefficients(model) if averaged else coefficients(model)
        weights[:, : model.counts[0]["n_slots"]] = true.T
        return decision_values(self.kernel_part(), model._replace(weights=weights, counts=model.counts.copy()), X)
