"""The Dask estimators have the parameters and the defaults of those that they are named after."""

import re
from inspect import getdoc, signature

import pytest

pytest.importorskip("distributed")

import frugalsvm
import frugalsvm.dask

NAMES = sorted(name for name in frugalsvm.dask.__all__ if name.startswith("Dask") and name != "DaskPipeline")
# Rounds and validation rows mean something else on many machines.
OWN = {"max_iter", "tol", "n_iter_no_change", "validation_fraction", "refit_rows", "persist", "client"}


@pytest.mark.parametrize("name", NAMES)
def test_defaults_are_those_of_the_ordinary_estimator(name):
    own = signature(getattr(frugalsvm.dask, name)).parameters
    ordinary = signature(getattr(frugalsvm, name.removeprefix("Dask"))).parameters
    assert "gamma" in own
    assert set(own) - set(ordinary) <= OWN
    shared = [each for each in own if each not in OWN]
    assert shared == [each for each in ordinary if each in shared]
    assert [own[each] for each in shared] == [ordinary[each] for each in shared]


@pytest.mark.parametrize("name", NAMES)
def test_parameters_become_those_of_the_ordinary_estimator(name):
    model = getattr(frugalsvm.dask, name)(gamma=3.0, random_state=5)
    assert model.get_params() == {**getattr(frugalsvm.dask, name)().get_params(), "gamma": 3.0, "random_state": 5}
    local = model.new_local()
    assert type(local) is getattr(frugalsvm, name.removeprefix("Dask"))
    assert (local.gamma, local.random_state) == (3.0, 5)


def test_unknown_and_repeated_parameters_are_refused():
    with pytest.raises(TypeError, match="n_jobs"):
        frugalsvm.dask.DaskASSETClassifier(n_jobs=2)
    with pytest.raises(TypeError, match="feature_map"):
        frugalsvm.dask.DaskASSETClassifier("nystroem", feature_map="nystroem")


@pytest.mark.parametrize("name", NAMES)
def test_all_parameters_are_described_with_their_defaults(name):
    cls = getattr(frugalsvm.dask, name)
    body = re.search(r"Parameters\n-+\n(.*?)\n\nAttributes\n-+\n", getdoc(cls), re.DOTALL)[1]
    entries = dict(re.findall(r"^(\w+) : .*default=(.*)$", body, re.MULTILINE))
    assert list(entries) == list(signature(cls).parameters)
    assert {each: eval(default) for each, default in entries.items()} == cls().get_params()
