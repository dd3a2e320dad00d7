"""Handwritten digits, one against the rest."""

from benchopt import BaseDataset

from benchmark_utils.data import problem_of


class Dataset(BaseDataset):
    """60 000 images of 28 by 28 pixels; one digit is the positive class."""

    name = "mnist"
    parameters = {"digit": [8], "max_rows": [None]}
    test_parameters = {"digit": [8], "max_rows": [500]}
    requirements = ["pip::frugalsvm"]

    def get_data(self):
        return problem_of("mnist", positive=self.digit, max_rows=self.max_rows, C=10.0, gamma=0.02, scaling="largest")
