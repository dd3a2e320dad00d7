"""Your own rows: a text file in the format of LIBSVM, of two classes."""

from pathlib import Path

import numpy as np
from benchopt import BaseDataset
from benchopt.config import get_data_path
from sklearn.datasets import load_svmlight_file
from sklearn.model_selection import train_test_split

from benchmark_utils.data import problem, without

MOST_DENSE_BYTES = 2**30  # larger ones stay sparse


class Dataset(BaseDataset):
    """A quarter of the rows is held out for tests. gamma defaults to ``1 / n_features``, for features of variance 1."""

    name = "libsvm_file"
    # path: as in -d "libsvm_file[path=rows.txt]"; or the key libsvm_file of data_paths in config.yml.
    parameters = {"path": [None], "scaling": ["standard"], "C": [1.0], "gamma": [None]}
    requirements = ["pip::frugalsvm", "scikit-learn"]

    def get_data(self):
        path = Path(self.path) if self.path is not None else Path(get_data_path("libsvm_file"))
        if not path.is_file():
            return without(f"there is no file {path}; name one by -d 'libsvm_file[path=...]'")
        X, y = load_svmlight_file(str(path), dtype=np.float32)
        if len(np.unique(y)) != 2:
            return without(f"{path} has {len(np.unique(y))} different labels; this benchmark has two classes")
        if 4 * X.shape[0] * X.shape[1] <= MOST_DENSE_BYTES:
            X = X.toarray()
        X, X_test, y, y_test = train_test_split(X, y, test_size=0.25, random_state=0, stratify=y)
        gamma = 1.0 / X.shape[1] if self.gamma is None else float(self.gamma)
        return problem(X, y, X_test, y_test, C=float(self.C), gamma=gamma, scaling=self.scaling)
