"""Data of the speed of ASSET: those of its paper, and a checkerboard."""

from functools import lru_cache

from experiments.asset.data import Case
from experiments.asset.data import cases as cases_of_the_paper
from experiments.asset.data import split_of as split_of_the_paper
from frugalsvm.datasets import make_checkerboard

__all__ = ["CASES", "kept_split_of", "split_of"]

CASES = {case.data: case for case in cases_of_the_paper().values() if case.data != "ccat"}
CASES["checkerboard"] = Case("checkerboard", 200_000, 50_000, 100.0, 8.0)


def split_of(name, seed):
    """Training and test rows in float32 with labels -1 and +1."""
    case = CASES[name]
    if name == "checkerboard":
        return *make_checkerboard(case.n_train, random_state=seed), *make_checkerboard(case.n_test, random_state=99)
    return split_of_the_paper(case, seed)


@lru_cache(1)
def kept_split_of(name, seed):
    """The same, read once by each process."""
    return split_of(name, seed)
