"""Generated rows: nothing is downloaded, and there are as many as you like."""

from benchopt import BaseDataset

from benchmark_utils.data import problem
from frugalsvm.datasets import make_checkerboard, make_two_gaussians

GAMMAS = {"checkerboard": 5.0, "noisy checkerboard": 5.0, "gauss": 0.5}
N_TEST = 10_000


class Dataset(BaseDataset):
    """A checkerboard of 4 by 4 fields, the same with 15 % of the training labels wrong, or two Gaussians."""

    name = "simulated"
    parameters = {"kind": ["checkerboard", "noisy checkerboard", "gauss"], "n_rows": [10_000]}
    test_parameters = {"kind": ["noisy checkerboard"], "n_rows": [300]}
    requirements = ["pip::frugalsvm"]

    def get_data(self):
        if self.kind not in GAMMAS:
            raise ValueError(f"kind must be one of {', '.join(GAMMAS)}, not {self.kind!r}.")
        seed = self.get_seed(use_repetition=True) % 2**31
        rows, test_rows = self._drawn(self.n_rows, seed), self._drawn(N_TEST, seed + 1, test=True)
        return problem(*rows, *test_rows, C=10.0, gamma=GAMMAS[self.kind])

    def _drawn(self, n_rows, seed, *, test=False):
        if self.kind == "gauss":
            return make_two_gaussians(n_rows, random_state=seed)
        noise = 0.15 if self.kind == "noisy checkerboard" and not test else 0.0
        return make_checkerboard(n_rows, noise=noise, random_state=seed)
