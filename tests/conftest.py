"""Threads are bounded before anything numerical is imported: the suite is made for two busy cores."""

import gc
import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

# Whatever is compiled first, and for however long, commands print what they are asked for.
os.environ.setdefault("FRUGALSVM_QUIET", "1")

# Workers and hundreds of processes read the same files: what Python has compiled of them is kept, also where it usually
# is not, or each compiles and rewrites them again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Until everything is collected, hardly anything is garbage that the collector would have to find.
gc.disable()

# How long an example takes is no matter for a test: the first may compile, and others share the cores.
settings.register_profile("frugalsvm", deadline=None)
settings.load_profile("frugalsvm")

REPOSITORY = Path(__file__).resolve().parents[1]

# No doctests here; and there are more files of this name, of which only one can be imported as a module.
collect_ignore_glob = ["conftest.py", "*/conftest.py"]


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item, nextitem):
    """What a file leaves, such as what Numba knows of functions, stays: have the collector not look at it again."""
    if nextitem is None or nextitem.path != item.path:
        gc.collect()
        gc.freeze()


def pytest_collection_finish():
    gc.freeze()
    gc.enable()


@pytest.hookimpl(hookwrapper=True)
def pytest_make_collect_report(collector):
    """Every other worker collects from the end: what one of two has rewritten and written down, the other one reads."""
    report = (yield).get_result()
    if os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:] in "13579" and isinstance(
        collector, pytest.Session | pytest.Dir
    ):
        report.result.reverse()


def pytest_collection_modifyitems(items):
    """The largest family of tests first, so that `pytest_xdist_make_scheduler` has it in one half."""
    if "PYTEST_XDIST_WORKER" in os.environ:  # the same order in all of them
        items.sort(key=lambda item: (item.path, isinstance(item, pytest.DoctestItem)), reverse=True)
    items.sort(key=lambda item: "estimators" not in item.path.parts)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Have two workers begin at both ends of the files: what tests of one family compile, one worker compiles."""
    if config.option.dist != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class BothEnds(LoadFileScheduling):
        def _assign_work_unit(self, node):
            if self.nodes.index(node) % 2:
                self.workqueue.move_to_end(next(reversed(self.workqueue)), last=False)
            super()._assign_work_unit(node)

    config.option.loadscopereorder = False  # else files with many tests come first, whatever family they are of
    return BothEnds(config, log)


@pytest.fixture(scope="session")
def shared_data():
    """Folder with the real data sets; tests that need it are skipped where it is missing."""
    folder = Path(os.environ.get("FRUGALSVM_DATA", REPOSITORY.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip("the real data sets are not here (set FRUGALSVM_DATA to their folder)")
    return folder


@pytest.fixture
def real_data(shared_data, monkeypatch):
    """The real data sets can be loaded by name."""
    monkeypatch.setenv("FRUGALSVM_DATA", str(shared_data))


@pytest.fixture(params=["cpu", "torch"], ids=["numpy", "torch"])
def arrays(request):
    """Arrays of devices: of NumPy, always; of PyTorch on the CPU, where it is installed."""
    import numpy as np

    from frugalsvm.arrays.namespace import Arrays, arrays_on

    if request.param == "cpu":
        return Arrays(np, "cpu")  # the host's own are `HOST`, for which there is compiled code
    pytest.importorskip("torch")
    pytest.importorskip("array_api_compat")
    return arrays_on(request.param)
