"""Adult census data in binary features."""

from benchopt import BaseDataset

from benchmark_utils.data import problem_of


class Dataset(BaseDataset):
    """32 561 rows of 123 binary features: who earns more than 50 000 dollars a year."""

    name = "a9a"
    parameters = {"max_rows": [None]}
    test_parameters = {"max_rows": [500]}
    requirements = ["pip::frugalsvm"]

    def get_data(self):
        return problem_of("a9a", max_rows=self.max_rows, C=1.0, gamma=0.05)
