"""The neural network challenge of IJCNN 2001."""

from benchopt import BaseDataset

from benchmark_utils.data import problem_of


class Dataset(BaseDataset):
    """49 990 rows of 22 features, of which 10 % are positive."""

    name = "ijcnn1"
    parameters = {"max_rows": [None]}
    test_parameters = {"max_rows": [500]}
    requirements = ["pip::frugalsvm"]

    def get_data(self):
        return problem_of("ijcnn1", max_rows=self.max_rows, C=10.0, gamma=0.182, scaling="standard")
