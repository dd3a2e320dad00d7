"""What is run to have machine code made: tiny fits and predictions, one for each kind of rows.

Machine code depends on types only, so few rows are as good as a million, if there are enough to reach all of it. Rows
with few and with many features are different types here (``core/dense_sources.py``), and so are float32 and float64,
dense and CSR, two and more classes.
"""

import tempfile
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from frugalsvm._homes import AUTOMATIC, ESTIMATORS
from frugalsvm.estimators.automatic import learns_streams

N_ROWS = 16
ROWS_THAT_FILL = 200  # more than an exact solver has room for at first
N_FEATURES = (3, 24)  # few, many


class Kind(NamedTuple):
    """A kind of rows and labels."""

    dtype: str
    n_classes: int  # 0 for numbers instead of labels
    is_sparse: bool


KINDS = tuple(Kind(dtype, n, sparse) for dtype in ("float64", "float32") for n in (2, 3) for sparse in (False, True))


class Recipe(NamedTuple):
    """How machine code for an algorithm is made."""

    seconds: float  # about, on a slow core, for a kind of rows: who takes longest begins first
    run: Callable[[Kind], Any]
    kinds: tuple[Kind, ...] = KINDS
    estimator: str = ""
    family: str = ""  # recipes that share functions
    needs: str = ""  # one of `SHARED`, to be there before
    is_by_dtype: bool = True  # whether rows of another type take other machine code


def _fit(name: str, settings: Mapping[str, Any], kind: Kind, n_rows: int = N_ROWS) -> None:
    """Fit, predict and learn more rows with an estimator."""
    estimator = getattr(import_module({**ESTIMATORS, **AUTOMATIC}[name]), name)
    for n_features in N_FEATURES:
        X, y = _data(kind, n_features, n_rows)
        estimator(**settings).fit(X, y).predict(X)
        learner = estimator(**settings)
        if learns_streams(learner):
            learner.partial_fit(X, y, **({"classes": sorted(set(y))} if kind.n_classes else {})).predict(X)


def _data(kind: Kind, n_features: int, n_rows: int = N_ROWS) -> tuple[Any, Any]:
    import numpy as np
    from scipy.sparse import csr_matrix

    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_features)).astype(kind.dtype)
    y = np.arange(n_rows) % kind.n_classes if kind.n_classes else X[:, 0].astype(float)
    return (csr_matrix(X) if kind.is_sparse else X), y


def _predict(kind: Kind) -> None:
    """Decision values of an RBF kernel expansion, which several families have in common."""
    from frugalsvm.core.expansion import new_expansion
    from frugalsvm.core.kernels import RBF
    from frugalsvm.core.predict import decision_values

    for n_features in N_FEATURES:
        X, _ = _data(kind, n_features)
        empty = new_expansion(1, n_features, 1, X.dtype)
        decision_values(RBF(1.0), empty, X)
        decision_values(RBF(1.0), empty, X, in_float64=True)


def _read(kind: Kind) -> None:
    """Text files, as the command line reads them."""
    from frugalsvm.streams import open_stream

    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("rows.csv", "a,b,label\n1,2.5,yes\n3,4e2,no\n"), ("rows.svm", "1 1:2 3:4\n-1 2:1\n")):
            path = Path(folder) / name
            path.write_text(text)
            for _ in open_stream(path):
                pass


def _learner(
    estimator: str, seconds: float, *settings: Mapping[str, Any], n_rows: int = N_ROWS, **others: Any
) -> Recipe:
    def run_all(kind: Kind) -> None:
        for each in settings:
            _fit(estimator, each, kind, n_rows)

    return Recipe(seconds, run_all, estimator=estimator, **{"needs": "prediction", **others})


def _lowrank(estimator: str, **others: Any) -> Recipe:
    """These compute in float32, whatever the rows are."""
    return _learner(estimator, 3, {"n_components": 4}, family="tables", needs="", is_by_dtype=False, **others)


def _local(estimator: str, **others: Any) -> Recipe:
    """In float32 as well, whatever the rows are; two rows in a cell, so that there is a tree."""
    return _learner(estimator, 12, {"cell_size": 2}, family="tables", needs="", is_by_dtype=False, **others)


def _auto(estimator: str, in_cells: str, low_rank: str, **others: Any) -> Recipe:
    """All kernels that are compared, each in the machine for tables of middle size and in the one for large tables."""

    def run_all(kind: Kind) -> None:
        import numpy as np

        from frugalsvm.auto import KERNELS_TRIED
        from frugalsvm.core.factor import inverse
        from frugalsvm.core.slopes import sum_weighted_differences

        for kernel in KERNELS_TRIED:
            _fit(in_cells, {"kernel": kernel, "cell_size": 2}, kind)
            _fit(in_cells, {"kernel": kernel, **_TOO_COARSE_FOR_FLOAT32}, kind)
            _fit(low_rank, {"kernel": kernel, "n_components": 4}, kind)
        inverse(np.eye(2))  # of learned metrics, as are these
        sum_weighted_differences(*(np.eye(2) for _ in range(3)), np.zeros(2))
        _fit(estimator, {}, kind, n_rows=ROWS_THAT_FILL)

    return Recipe(60, run_all, estimator=estimator, family="tables", is_by_dtype=False, **others)


# Kernel values of all but 1 and hardly any regularization: float64 is taken.
_TOO_COARSE_FOR_FLOAT32 = {"cell_size": 8, "gamma": 1e-6, "C": 1e12}
_BINARY = tuple(kind for kind in KINDS if kind.n_classes == 2)
_NUMBERS = tuple(kind._replace(n_classes=0) for kind in _BINARY)
_LOCAL = tuple(kind for kind in _BINARY if not kind.is_sparse)  # several outputs share its machine code
_LOCAL_NUMBERS = tuple(kind._replace(n_classes=0) for kind in _LOCAL)

# What several others use.
SHARED = {"prediction": Recipe(2, _predict, _BINARY)}
# Names are those of `frugalsvm algorithms`, where there are such.
RECIPES = {
    "bsgd": _learner("BSGDClassifier", 25, {"budget": 4}),
    "bsgd-regressor": _learner("BSGDRegressor", 12, {"budget": 4}, kinds=_NUMBERS),
    "one-class": _learner("BSGDOneClassSVM", 12, {"budget": 4}, kinds=_NUMBERS),
    # The default of the class, and that of the command line
    "perceptron": _learner("BudgetedPerceptron", 13, {"budget": 4}, {"budget": 4, "strategy": "projectron++"}),
    "bpa": _learner("BPAClassifier", 15, {"budget": 4}),
    "lasvm": _learner("LASVMClassifier", 7, {"variant": "g"}, family="lasvm"),
    "lasvm-nc": _learner("LASVMClassifier", 0.1, {"variant": "nc"}, family="lasvm"),
    "lasvm-i": _learner("LASVMClassifier", 0.1, {"variant": "i"}, family="lasvm"),
    "tracking": _learner("TrackingSVC", 10, {}),
    # These two compute in float64, whatever the rows are.
    "incremental": _learner("IncrementalSVC", 5, {"C": 1e3}, n_rows=ROWS_THAT_FILL, is_by_dtype=False),
    "tvm": _learner("TVMClassifier", 12, {"budget": 4}, is_by_dtype=False),
    "asset": _lowrank("ASSETClassifier"),
    "asset-regressor": _lowrank("ASSETRegressor", kinds=_NUMBERS),
    "local": _local("LocalSVC", kinds=_LOCAL),
    "local-regressor": _local("LocalSVR", kinds=_LOCAL_NUMBERS),
    "auto": _auto("AutoSVC", "LocalSVC", "ASSETClassifier", kinds=_LOCAL),
    "auto-regressor": _auto("AutoSVR", "LocalSVR", "ASSETRegressor", kinds=_LOCAL_NUMBERS),
    "asset-one-class": _lowrank("ASSETOneClassSVM", kinds=_NUMBERS),
    "text": Recipe(8, _read, KINDS[:1]),
}


def run(name: str, kind: Kind) -> None:
    """Have the machine code of a recipe made, or found."""
    {**SHARED, **RECIPES}[name].run(kind)
