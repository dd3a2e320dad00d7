"""Budgeted stochastic gradient descent for regression in plain numpy: the oracle of losses of residuals.

The learner of ``bsgd.py`` with another step 3. For the example (x, y) of weight s, after shrinking, the model becomes

    argmin_h  1/2 ||h - w||^2 + s eta_t L(y - h(x))

for each output: an implicit step (Kulis & Bartlett 2010). With ``h = w + tau Phi(x)`` the derivative by tau, over
K(x, x), is ``tau - s eta_t L'(y - w(x) - tau K(x, x))``, which grows with tau: its change of sign is found by
bisection, whatever the loss is, and whether it has kinks or not.
"""

import numpy as np

from .bsgd import BSGDOracle, Step

# L'(r) of textbooks, for a residual r = y - f(x)
DERIVATIVES = {
    "epsilon_insensitive": lambda r, epsilon, q: np.sign(r) if abs(r) > epsilon else 0.0,
    "squared_epsilon_insensitive": lambda r, epsilon, q: np.sign(r) * max(abs(r) - epsilon, 0.0),
    "huber": lambda r, epsilon, q: r / epsilon if abs(r) <= epsilon else np.sign(r),
    "squared": lambda r, epsilon, q: r,
    "pinball": lambda r, epsilon, q: q if r > 0 else q - 1.0 if r < 0 else 0.0,
}
NO_STEP = 1e-12  # shorter ones are rounding errors


def implicit_step(derivative, residual, step, own):
    """tau: where ``tau - step L'(residual - tau own)`` changes its sign."""
    low, high = -abs(residual) / own - 1.0, abs(residual) / own + 1.0
    for _ in range(200):
        tau = 0.5 * (low + high)
        if tau - step * derivative(residual - tau * own) > 0.0:
            high = tau
        else:
            low = tau
    return 0.0 if abs(low) < NO_STEP else low


class BSGDRegressionOracle(BSGDOracle):
    """As `BSGDOracle`, with targets: an array of ``n_outputs`` numbers for each example."""

    def __init__(self, loss, *, epsilon=0.1, quantiles=None, **machine):
        super().__init__(**machine)
        self.loss, self.epsilon = loss, epsilon
        self.quantiles = np.full(self.n_outputs, 0.5) if quantiles is None else quantiles

    def learn_one(self, x, y, weight=1.0):
        """One round of Algorithm 1. An example of weight 0 is skipped: even t stays as it was."""
        if weight == 0:
            return Step(t=self.t)
        x = np.array(x, dtype=np.float64)
        self.t += 1
        eta = self.learning_rate(self.t)
        self.coef *= 1.0 - eta * self.lam  # (3.4)
        values = np.atleast_1d(self.decision(x[None, :])[0])
        steps = np.array([self._step_of(o, y[o] - values[o], weight * eta, x) for o in range(self.n_outputs)])
        violated = bool((steps != 0.0).any())
        maintained = None
        if violated:
            self._add(x, steps)
            maintained = self._maintain()
        self._take_into_average()
        step = Step(t=self.t, violated=violated, eta=eta)
        if maintained is None:
            return step
        self.gradient_error_sum += np.sqrt(maintained.degradation) / eta
        return step._replace(**maintained._asdict())

    def _step_of(self, output, residual, step, x):
        def derivative(r):
            return DERIVATIVES[self.loss](r, self.epsilon, self.quantiles[output])

        return implicit_step(derivative, residual, step, self._self_kernel(x))

    def _self_kernel(self, x):
        return float(self._kernel(x, x)[0, 0])
