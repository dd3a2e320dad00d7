"""What ``benchopt test`` leaves out here: data sets that this machine cannot get."""

import pytest
from benchopt.utils.parametrized_name_mixin import get_configs
from benchopt.utils.run_context import RunContext


def check_test_dataset_get_data(benchmark, dataset_class):
    """Skip a data set that says that it cannot be had, rather than pass it unseen."""
    dataset = dataset_class.get_instance(**get_configs(dataset_class)[0]["dataset"])
    RunContext().set_run_context("none", dataset, "none", repetition=0, base_seed=0)
    reason = dataset._get_data().get("reason")
    if reason is not None:
        pytest.skip(reason)
