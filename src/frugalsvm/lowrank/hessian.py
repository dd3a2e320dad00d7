"""Newton directions: the Hessian of a sample of rows, and conjugate gradients with a factor of a smaller sample.

Only rows near the margin have curvature. At most 40 of them for each feature make the Hessian that conjugate gradients
multiply with, and at most 6 for each feature the one that is factorized, whitened, as their preconditioner.
"""

_TINY = 1e-300
_FLAT = 1e-6  # of what a preconditioner takes for the curvature


def _divisor(weights, options):
    return 1 if weights.shape[0] == 1 else options.several


def _scaled_up(xp, part, whole):
    """A part of some curvatures, scaled to the sum of all."""
    scale = xp.sum(whole, axis=1, dtype=xp.float64) / xp.clip(xp.sum(part, axis=1), _TINY, None)
    return part * scale[:, None]


class NearMargin:
    """Rows near the margin of some output: ``index`` are their numbers."""

    def __init__(self, arrays, second, least):
        self._arrays, self._second, xp = arrays, second, arrays.xp
        self._is_near = second > least * xp.max(second, axis=1, keepdims=True)
        self.index = xp.nonzero(xp.any(self._is_near, axis=0))[0]

    def curvatures(self, index):
        """Those of some rows, where they are near the margin, scaled to the sums of all; also in float32.

        A row is near the margin of some output, rarely of all.
        """
        xp, second, arrays = self._arrays.xp, self._second, self._arrays
        own = xp.where(self._is_near[:, index], second[:, index], xp.zeros_like(second[:, index]))
        weights = _scaled_up(xp, arrays.double(own), second) / second.shape[1]
        return weights, arrays.single(weights)


class Hessian:
    """The Hessian of the objective, from a sample of the rows near the margin of some output.

    ``rows`` are raw, and ``weights`` (n_outputs, n_rows) their curvatures over the number of all rows.
    """

    def __init__(self, problem, second, options, rng):
        self.problem, backend = problem, problem.backend
        near = backend.near_margin(second, options.near)
        limit = options.sample * (problem.n_features + 1) // _divisor(second, options)
        limit = max(1, min(limit, options.most_sample_numbers // problem.rows.width))
        index = near.index
        if index.shape[0] > limit:
            index = index[backend.choose(index.shape[0], limit, rng)]
        self.rows = problem.rows.chosen(index)
        self.weights, single = near.curvatures(index)
        self.curved_sums = backend.curved_sums(self.rows, single)

    def times(self, directions):
        """The Hessian times vectors ``(n_outputs, d + 1)``, in their type."""
        problem, arrays = self.problem, self.problem.arrays
        shifts = directions[:, -1] if problem.intercept else 0 * directions[:, -1]
        vectors = problem.whitening.raw(directions[:, :-1])
        sums, totals = self.curved_sums(arrays.single(vectors), arrays.single(shifts))
        sums, totals = arrays.cast(sums, directions.dtype), arrays.cast(totals, directions.dtype)
        sums = problem.whitening.features(sums) + problem.penalty * directions[:, :-1]
        return arrays.xp.concat((sums, totals if problem.intercept else 0 * totals), axis=1)

    def directions(self, preconditioner, gradients, forcing, max_steps):
        """See `conjugate_gradients`."""
        return self.problem.backend.directions(self, preconditioner, gradients, forcing, max_steps)

    def preconditioner(self, options, rng):
        return self.problem.backend.preconditioner(self, options, rng)


def thinned(hessian, per_feature, options, rng):
    """Rows and weights of a Hessian, fewer of them, with the same sums of weights."""
    problem, rows, weights = hessian.problem, hessian.rows, hessian.weights
    limit = per_feature * (problem.n_features + 1) // _divisor(weights, options)
    if rows.shape[0] <= limit:
        return rows, weights
    part = problem.backend.choose(rows.shape[0], limit, rng)
    return rows[part], _scaled_up(problem.arrays.xp, weights[:, part], weights)


def with_ridge(attempt, largest):
    """A factor, with as much added to the diagonal as it takes: sums in float32 are not exact."""
    ridge = 1e-7 * max(largest, _TINY)
    while (factor := attempt(ridge)) is None:
        ridge *= 10.0
    return factor


def conjugate_gradients(xp, hessian, preconditioner, gradients, forcing, max_steps):
    """Directions that solve ``Hessian direction = -gradient`` for each output, and the number of steps taken."""
    tiny = float(xp.finfo(gradients.dtype).tiny)
    directions = xp.zeros_like(gradients)
    residuals = -gradients
    search = solved = preconditioner.solve(residuals)
    sizes = first_sizes = xp.sum(residuals * solved, axis=1)
    steps = 0
    while steps < max_steps:
        steps += 1
        products = hessian.times(search)
        curvatures = xp.sum(search * products, axis=1)
        # Where no row is near a margin, the intercept has no curvature: the first direction is as good as any, and how
        # far to go is left to the line search.
        is_curved = curvatures > _FLAT * sizes
        lengths = xp.where(
            is_curved,
            sizes / xp.where(is_curved, curvatures, xp.ones_like(curvatures)),
            xp.full_like(sizes, 1.0 if steps == 1 else 0.0),
        )
        directions = directions + lengths[:, None] * search
        residuals = residuals - lengths[:, None] * products
        solved = preconditioner.solve(residuals)
        new_sizes = xp.sum(residuals * solved, axis=1)
        if bool(xp.all(new_sizes <= forcing**2 * first_sizes)):
            break
        search = solved + (new_sizes / xp.clip(sizes, tiny, None))[:, None] * search
        sizes = new_sizes
    return directions, steps
