"""A list of C: which value is the best, by validation rows or by cross-validation."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from frugalsvm.estimators.constraints import is_auto
from frugalsvm.estimators.validation import check_count, is_path, values_of_path
from frugalsvm.exceptions import ParameterError
from frugalsvm.lowrank.continuation import Solution, solve
from frugalsvm.lowrank.cross_validation import cross_validated
from frugalsvm.lowrank.training import Training, solve_path, validation_scores

__all__ = ["PathOfC"]


class _Comparison(NamedTuple):
    """What is known of values of C."""

    scores: list  # for each: scores of rows that were not learned, with their targets and weights
    starts: list  # parameters to start from with all rows, or None
    results: dict[str, np.ndarray]
    n_iter: int


class PathOfC:
    """The part of low-rank machines that chooses C from a list."""

    cv: Any = None

    def _is_path(self: Any) -> bool:
        return is_path(self.C)

    def _all_C(self: Any) -> list[float]:
        """The values of C in increasing order."""
        if not self._is_path():
            return [getattr(self, "C_", 1.0) if is_auto(self.C) else self.C]
        return values_of_path(self.C)

    def _check_path(self: Any) -> None:
        if self._is_path() and self.solver != "newton":
            raise ValueError(f"A list of C needs solver='newton', not {self.solver!r}.")
        if self.cv is None:
            return
        check_count("cv", self.cv)
        if self.cv < 2:
            raise ParameterError("cv", self.cv, "None, or a number of folds, 2 or more")
        if not self._is_path():
            raise ValueError(f"cv={self.cv} compares values of C: pass a list of them, such as C=[0.1, 1, 10].")

    def _best_of_path(self: Any, training: Training) -> tuple[Solution, int]:
        """The solution for the best value of C with all rows, and the number of steps on the way."""
        penalties = [self.penalty_for(C, training.problem.n_rows) for C in self._all_C()]
        found = (self._on_validation_rows if self.cv is None else self._by_folds)(training, penalties)
        best = self.take_best(found.scores, found.results)
        C = self._all_C()[best]
        self._calibrate_with(*found.scores[best])
        whole = training.whole._replace(penalty=self.penalty_for(C, training.whole.n_rows))
        solution = solve(whole, training.sample, training.options, self._rng, start=found.starts[best])
        return solution, found.n_iter or solution.n_iter

    def take_best(self: Any, scores: Sequence[tuple], results: dict[str, np.ndarray]) -> int:
        """Take the value of C that is best by scores, targets and weights of rows that were not learned.

        Returns its place in the list; ``path_`` has all results.
        """
        qualities = [self.quality(*each) for each in scores]
        best = int(np.argmax(qualities))
        if self._is_path():
            self.C_ = self._all_C()[best]
            self.path_ = {"C": np.array(self._all_C()), "validation_score": np.array(qualities), **results}
        return best

    def figures_of(self: Any, solutions: Sequence[Solution]) -> dict[str, np.ndarray]:
        """Objectives and bounds of the solutions for all values of C, for ``path_``."""
        return {
            "objective": np.array([self.objective_of(each.objectives) for each in solutions]),
            "suboptimality_bound": np.array([self.objective_of(each.objectives - each.bounds) for each in solutions]),
        }

    def _on_validation_rows(self: Any, training, penalties) -> _Comparison:
        solutions = solve_path(training, penalties, self._rng)
        scores = [validation_scores(training, each.parameters) for each in solutions]
        n_iter = sum(each.n_iter for each in solutions)
        return _Comparison(scores, [each.parameters for each in solutions], self.figures_of(solutions), n_iter)

    def _by_folds(self: Any, training, penalties) -> _Comparison:
        """By scores out of their folds: rows are in a random order, or in the order in which they are read."""
        problem = training.whole
        if problem.n_rows < self.cv:
            raise ValueError(f"cv={self.cv} folds need at least as many rows, but n_samples = {problem.n_rows}.")
        folds = np.arange(problem.n_rows) % self.cv
        targets, weights = (problem.arrays.host(each) for each in (problem.targets, problem.weights))
        found = cross_validated(problem, training.options, folds, penalties, self._rng, self._threads())
        return _Comparison([(each, targets, weights) for each in found], [None] * len(penalties), {}, 0)
