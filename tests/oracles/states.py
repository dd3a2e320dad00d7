"""Problems, streams and random states that the checks of several oracles need."""

import numpy as np
from scipy.optimize import minimize

from .bsgd import kernel_matrix

N_STATES = 45
# Points so far apart that the rbf kernel of any two is exactly 0.
FAR_APART = np.array([[0.0], [100.0], [200.0], [300.0], [400.0]])


def noisy_problem(n_outputs=1, n=90, d=2, seed=0):
    """Rows and labels with enough noise that mistakes never end."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    score = X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.7 * rng.normal(size=n)
    if n_outputs == 1:
        return X, np.where(score > np.median(score), 1, -1)
    return X, np.digitize(score, np.quantile(score, np.arange(1, n_outputs) / n_outputs))


def stream(oracle, X, labels):
    """The steps, one after the other, so that the oracle can be looked at in between."""
    for x, y in zip(X, labels, strict=True):
        yield x, y, oracle.learn_one(x, y)


def learn(oracle, X, labels):
    return [step for _, _, step in stream(oracle, X, labels)]


def set_model(oracle, rows, alpha):
    """Puts the oracle in a state that no stream needs to have led to."""
    oracle.rows = [np.array(row, dtype=float) for row in rows]
    oracle.coef = np.array(alpha, dtype=float).reshape(len(rows), -1)
    oracle.births = list(range(1, len(rows) + 1))
    oracle.t = len(rows)
    return oracle


def squared_norm(rows, coefficients, gamma):
    gram = kernel_matrix(rows, rows, kernel="rbf", gamma=gamma)
    return float(coefficients @ gram @ coefficients)


def minimise_with_slack(quadratic, linear, constraint, offset, slack_weight):
    """min 0.5 z'Qz - b'z + c s over z and s, subject to s >= 0 and constraint'z + s >= offset, numerically.

    Returns z and the value. The variables are first made orthonormal, for which sequential quadratic programming finds
    nearly all digits.
    """
    root = np.linalg.cholesky(quadratic)  # z = root^-T v
    linear = np.linalg.solve(root, linear)
    constraint = np.linalg.solve(root, constraint)

    def value(vs):
        v, s = vs[:-1], vs[-1]
        return 0.5 * v @ v - linear @ v + slack_weight * s

    def slope(vs):
        return np.append(vs[:-1] - linear, slack_weight)

    row, v = np.append(constraint, 1.0), np.zeros(len(linear))
    for _ in range(3):  # from where it ended, made feasible: once is not always enough for all digits
        solution = minimize(
            value,
            np.append(v, max(offset - constraint @ v, 0.0)),
            jac=slope,
            method="SLSQP",
            bounds=[(None, None)] * len(linear) + [(0.0, None)],
            constraints={"type": "ineq", "fun": lambda vs: row @ vs - offset, "jac": lambda vs: row},
            options={"ftol": 1e-15, "maxiter": 500},
        )
        v = solution.x[:-1]
    return np.linalg.solve(root.T, v), float(solution.fun)


def random_state(rng, n_sv=5, d=2, gamma=0.5):
    """SVs, coefficients and an example; nothing nearly dependent."""
    while True:
        rows = rng.normal(size=(n_sv + 1, d))
        if np.linalg.cond(kernel_matrix(rows, rows, kernel="rbf", gamma=gamma)) < 1e4:
            return rows[:-1], rng.normal(size=n_sv), rows[-1], int(rng.choice([-1, 1]))
