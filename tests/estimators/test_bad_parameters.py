"""Parameters that estimators must refuse: one clear sentence, and the model is as it was."""

import numpy as np
import pytest
from refusals import ESTIMATORS, LEARNED, X, assert_refused, fitted_model, fitting_methods, learn, new_model, targets_of

BUDGETED = "bsgd perceptron bpa"
ASSET = "asset asset-regressor"
LASVM = "lasvm lasvm-g"
ONLY_RBF = "maintenance='merge' works with kernel='rbf' only"
KERNEL_MACHINES = f"{BUDGETED} {LASVM} {ASSET} incremental"

# Estimators, parameters, and a part of the sentence
BAD_PARAMETERS = [
    # the kernel
    (KERNEL_MACHINES, {"kernel": "sigmoid"}, "kernel='sigmoid' is not one of '"),
    (KERNEL_MACHINES, {"gamma": -1.0}, "gamma must be a positive number, not -1.0"),
    (KERNEL_MACHINES, {"gamma": np.nan}, "gamma must be a positive number"),
    (KERNEL_MACHINES, {"gamma": "large"}, "gamma='large' is not one of 'scale', 'auto'"),
    (f"perceptron bpa {LASVM} {ASSET}", {"kernel": "poly", "degree": 0}, "degree must be an integer of at least 1"),
    (f"perceptron bpa {LASVM} {ASSET}", {"kernel": "poly", "coef0": -1.0}, "coef0 must be a non-negative number"),
    ("bsgd", {"kernel": "poly", "maintenance": "project", "degree": 0}, "degree must be an integer"),
    ("bsgd", {"kernel": "poly", "maintenance": "project", "coef0": -1.0}, "coef0 must be a non-negative"),
    ("bsgd", {"kernel": "poly"}, f"{ONLY_RBF}, not with 'poly'; use maintenance='project' or"),
    ("bsgd", {"kernel": "linear"}, f"{ONLY_RBF}, not with 'linear'; use maintenance='project' or"),
    ("bsgd-regressor", {"kernel": "laplacian"}, "maintenance"),
    ("bsgd-one-class", {"kernel": "linear"}, "maintenance"),
    ("tvm", {"merge_space": "feature", "kernel": "linear"}, "works with kernel='rbf' only"),
    ("asset-one-class", {"gamma": "auto"}, "no labels to choose by"),
    # budgets, memory and caches
    (f"{BUDGETED} tvm", {"budget": 1}, "budget must be an integer of at least 2"),
    (BUDGETED, {"budget": 2.5}, "budget must be an integer"),
    (BUDGETED, {"budget": True}, "budget must be an integer"),
    (BUDGETED, {"budget": "lots"}, "not a size"),
    (BUDGETED, {"budget": "79B"}, "fewer than 2 support vectors of 40 bytes each; it must be at least 80 bytes"),
    (ASSET, {"memory": "lots"}, "memory='lots' is not a size such as '64KB'"),
    (ASSET, {"memory": 5}, "memory must be a size such as '64KB'.*, not 5"),
    (ASSET, {"early_stopping": True, "memory": "100B"}, "memory"),
    (LASVM, {"cache_size": 0}, "cache_size must be a positive number"),
    ("incremental", {"cache_size": -1}, "cache_size must be a positive number"),
    ("incremental", {"max_memory": 0}, "max_memory must be a positive number"),
    # the strength of regularization, and of steps
    (f"bpa {LASVM} {ASSET} incremental tvm", {"C": 0.0}, "C must be a positive number, not 0.0"),
    (f"bpa {LASVM} {ASSET} incremental", {"C": -1.0}, "C must be a positive number"),
    (f"bpa {LASVM} {ASSET}", {"C": "1"}, "C must be a positive number, not '1'"),
    (LASVM, {"C": np.inf}, "C must be a positive number"),
    (ASSET, {"C": np.nan}, "C must be a positive number, not nan"),
    (ASSET, {"C": True}, "C must be a positive number, not True"),
    (ASSET, {"C": None}, "C must be a positive number or a list of them, not None"),
    (ASSET, {"C": []}, r"C must be a positive number or a list of them, not \[\]"),
    (ASSET, {"C": [1.0, 0.0]}, "C must be a positive number, not 0.0"),
    (ASSET, {"C": [1.0, "2"]}, "C must be a positive number or a list of them"),
    (ASSET, {"C": [1.0, 2.0], "solver": "asset"}, "list of C needs solver='newton', not 'asset'"),
    (ASSET, {"C": [1.0, 2.0], "alpha": 0.1}, "with a list of C, it must be None"),
    (f"bsgd {ASSET}", {"alpha": 0.0}, "alpha must be a positive number, not 0.0"),
    ("bsgd", {"learner": "norma", "eta0": -1.0}, "eta0 must be a positive number"),
    ("bsgd", {"learner": "norma", "alpha": 0.5, "eta0": 2.0}, r"alpha \* eta0 must be below 1 for learner='norma'"),
    ("bsgd-regressor", {"eta0": 2e6}, r"alpha \* eta0 must be below 1"),
    ("perceptron", {"eta0": 0.0}, "eta0 must be a positive number"),
    ("perceptron", {"eta0": np.inf}, "eta0 must be a positive number"),
    ("perceptron", {"strategy": "silk", "alpha": -1.0}, "alpha must be a non-negative number"),
    ("bsgd", {"radius": 0.0}, "radius must be a positive number"),
    ("tvm", {"m1": 2.0, "m2": 1.0}, "m2 must be at least m1"),
    # passes, steps and tolerances
    (f"{BUDGETED} {LASVM} {ASSET}", {"max_iter": 0}, "max_iter must be an integer of at least 1"),
    (f"perceptron bpa {LASVM}", {"max_iter": 0.5}, "max_iter must be an integer of at least 1"),
    (LASVM, {"tol": 0.0}, "tol must be a positive number"),
    (ASSET, {"tol": -1}, "tol must be a non-negative number, not -1"),
    (ASSET, {"n_iter_no_change": 0}, "n_iter_no_change must be an integer of at least 1, not 0"),
    (ASSET, {"early_stopping": True, "validation_fraction": 2}, "between 0 and 1, not 2"),
    (ASSET, {"early_stopping": True, "validation_fraction": "half"}, "validation_fraction"),
    (ASSET, {"early_stopping": True, "validation_fraction": 0.999}, "validation_fraction"),
    (ASSET, {"C": [1.0, 2.0], "validation_fraction": 0.0}, "validation_fraction must be between 0 and 1"),
    ("bsgd", {"average": -1}, "average must be True, False"),
    ("bsgd", {"average": "mean"}, "average must be True, False"),
    ("bsgd bsgd-regressor", {"average": "post", "budget": None}, "average='post' needs a budget"),
    (ASSET, {"solver": "asset", "average": "foo"}, "average"),
    (ASSET, {"solver": "asset", "average": 0}, "average"),
    # weights and losses
    (f"{BUDGETED} {LASVM} asset", {"class_weight": {0: -1.0}}, "class_weight must be non-negative numbers"),
    ("bsgd", {"class_weight": {0: np.nan}}, "class_weight"),
    (ASSET, {"loss": "logistic"}, "loss='logistic' is not one of '"),
    ("bsgd-regressor", {"loss": "hinge"}, "loss='hinge' is not one of 'epsilon_insensitive'"),
    ("asset-regressor", {"epsilon": -0.1}, "epsilon must be a non-negative number"),
    ("asset-regressor", {"epsilon": np.nan}, "epsilon must be a non-negative number"),
    ("asset-regressor", {"epsilon": "small"}, "epsilon must be a non-negative number"),
    ("bsgd-regressor", {"epsilon": -1.0}, "epsilon"),
    ("bsgd-regressor", {"loss": "huber", "epsilon": 0.0}, "epsilon"),
    ("bsgd-regressor", {"quantile": 1.0}, "quantile"),
    ("bsgd-regressor", {"quantile": []}, "quantile"),
    ("bsgd-regressor", {"quantile": "high"}, "quantile"),
    ("bsgd-regressor", {"standardize": (0.0, 0.0)}, "standardize"),
    ("bsgd-regressor", {"standardize": "yes"}, "standardize"),
    ("bsgd-one-class", {"nu": 0.0}, "nu"),
    ("bsgd-one-class", {"nu": 1.5}, "nu"),
    ("asset-one-class", {"nu": 0.0}, "nu must be a positive number"),
    ("asset-one-class", {"nu": 1.5}, "nu must be a number above 0 and at most 1"),
    ("asset-one-class", {"nu": "much"}, "nu must be a positive number"),
    ("asset-one-class", {"nu": None}, "nu must be a positive number"),
    ("bsgd-one-class", {"alarm_rate": -0.1}, "alarm_rate"),
    ("bsgd-one-class", {"alarm_rate": 2}, "alarm_rate"),
    ("bsgd-one-class", {"window": 3}, "window"),
    ("tvm", {"reject": -0.1}, "reject must be"),
    (LASVM, {"s": 1.0}, "s must be a number below 1, not 1.0"),
    (LASVM, {"s": np.nan}, "s must be a number below 1, not nan"),
    (LASVM, {"s": "-1"}, "s must be a number below 1, not '-1'"),
    (LASVM, {"s": None}, "s must be a number below 1, not None"),
    # algorithms and their parts
    ("bsgd", {"learner": "adam"}, "learner='adam' is not one of 'pegasos'"),
    ("bsgd-regressor", {"learner": "perceptron"}, "learner='perceptron' is not one of 'norma', 'pegasos'"),
    ("bsgd", {"maintenance": "forget"}, "maintenance='forget' is not one of"),
    ("bsgd", {"new_classes": "ignore"}, "new_classes='ignore' is not one of"),
    ("perceptron", {"strategy": "proyectron"}, "strategy='proyectron' is not one of 'stop', 'random'"),
    ("perceptron", {"strategy": None}, "strategy=None is not one of"),
    ("perceptron", {"margin": 2}, "margin=2 is not one of 0, 1"),
    ("perceptron", {"margin": 0.5}, "margin=0.5 is not one of 0, 1"),
    ("perceptron", {"threshold": 0.5}, "threshold is for 'projectron' and .*, not for 'random'"),
    ("perceptron", {"strategy": "projectron", "threshold": -0.1}, "threshold must be a non-negative number"),
    ("perceptron", {"strategy": "projectron", "threshold": np.nan}, "threshold must be a non-negative"),
    ("bpa", {"variant": "nearest"}, "variant='nearest' is not one of 'simple', 'nn', 'projecting'"),
    (LASVM, {"variant": "h"}, "variant='h' is not one of 'lasvm', 'g', 'nc', 'i', 'full'"),
    (LASVM, {"variant": None}, "variant=None is not one of"),
    (LASVM, {"variant": ["g"]}, r"variant=\['g'\] is not one of"),
    (LASVM, {"step_type": "triple"}, "step_type='triple' is not one of 'pair', 'single'"),
    (LASVM, {"finish": "maybe"}, "finish='maybe' is not one of True, False, 'auto'"),
    (LASVM, {"warm_up": -1}, "warm_up must be an integer of at least 0"),
    (LASVM, {"clean_every": 0}, "clean_every must be an integer of at least 1"),
    (LASVM, {"max_idle": 0.5}, "max_idle must be an integer of at least 0"),
    (LASVM, {"selection": "best"}, "selection='best' is not one of 'random', 'margin', 'gradient'"),
    (LASVM, {"selection": "margin", "pool_size": 0}, "pool_size must be an integer of at least 1"),
    (LASVM, {"selection": "margin", "n_selected": 0}, "n_selected must be an integer of at least 1"),
    (ASSET, {"feature_map": "wavelet"}, "feature_map='wavelet' is not one of 'nystroem', 'fourier'"),
    (ASSET, {"feature_map": "fourier", "kernel": "poly"}, "'fourier' works with kernel='rbf' or kernel='laplacian'"),
    (ASSET, {"solver": "smo"}, "solver='smo' is not one of 'newton', 'asset', 'asset[*]'"),
    (ASSET, {"landmarks": "best"}, "landmarks='best' is not one of 'uniform', 'kmeans[+][+]', 'kmeans'"),
    (ASSET, {"structured": "yes"}, "structured='yes' is not one of 'auto', True, False"),
    (ASSET, {"n_components": 0}, "n_components must be an integer of at least 1, not 0"),
    (ASSET, {"n_components": 0.5}, "n_components must be an integer of at least 1, not 0.5"),
    (ASSET, {"rank": 0}, "rank must be an integer of at least 1, not 0"),
    (ASSET, {"eigenvalue_threshold": -1.0}, "eigenvalue_threshold must be a non-negative number"),
    ("tvm", {"merge_space": "both"}, "merge_space='both' is not one of"),
]
# What is settled in the first call of `partial_fit`, and what it has no use for
SETTLED = {"gamma", "degree", "coef0"}
OF_FIT_ALONE = {"early_stopping"}
CASES = {
    f"{name}-{'-'.join(f'{key}={value}' for key, value in parameters.items())}": (name, parameters, message)
    for names, parameters, message in BAD_PARAMETERS
    for name in names.split()
}


def methods_that_refuse(case):
    name, parameters, _ = CASES[case]
    methods = fitting_methods(ESTIMATORS[name])
    return [method for method in methods if method != "partial_fit" or not OF_FIT_ALONE & set(parameters)]


@pytest.mark.parametrize(("case", "method"), [(case, method) for case in CASES for method in methods_that_refuse(case)])
def test_parameters(case, method):
    name, parameters, message = CASES[case]
    is_settled = method == "partial_fit" and (SETTLED & set(parameters) or parameters.get("budget") == "79B")
    model = new_model(name) if is_settled or name not in LEARNED else fitted_model(name)
    y = targets_of(model)[:20]
    sentence = assert_refused(model, lambda model: learn(model.set_params(**parameters), method, X[:20], y), message)
    assert sentence.endswith(".")
    assert "\n" not in sentence
