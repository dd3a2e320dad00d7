"""Every public name is in the reference (docs/api.rst), and the reference names nothing that is not there."""

import re
from importlib import import_module
from pathlib import Path

import pytest

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "api.rst").read_text()
MODULES = (
    "frugalsvm",
    "frugalsvm.checks",
    "frugalsvm.compat.river",
    "frugalsvm.conformal",
    "frugalsvm.cost",
    "frugalsvm.dask",
    "frugalsvm.datasets",
    "frugalsvm.exceptions",
    "frugalsvm.explain",
    "frugalsvm.export",
    "frugalsvm.metrics",
    "frugalsvm.persist",
    "frugalsvm.pipelines",
    "frugalsvm.plots",
    "frugalsvm.streams",
)
# Constants and types of annotations, which their modules describe.
NOT_SHOWN = {
    "frugalsvm": {"__version__"},
    "frugalsvm.streams": {"FORMATS"},
    "frugalsvm.exceptions": {"Naming"},
    "frugalsvm.persist": {"FORMAT_VERSION"},
}


def documented():
    """Full names of what the page shows."""
    module, names = "", set()
    for line in PAGE.splitlines():
        if found := re.fullmatch(r"\.\. currentmodule:: ([\w.]+)", line):
            module = found[1]
        elif found := re.fullmatch(r"\.\. auto(?:class|function|exception):: ([\w.]+)", line):
            names.add(found[1] if found[1].startswith("frugalsvm.") else f"{module}.{found[1]}")
        elif found := re.fullmatch(r"   (\w+)", line):
            names.add(f"{module}.{found[1]}")
    return names


def of_module(name):
    if name in ("frugalsvm.dask", "frugalsvm.compat.river"):
        pytest.importorskip({"frugalsvm.dask": "distributed"}.get(name, "river"))
    return import_module(name)


@pytest.mark.parametrize("name", MODULES)
def test_every_public_name_is_there(name):
    module = of_module(name)
    inner = {each.rsplit(".", 1)[1] for each in MODULES if each.count(".") == 1}  # modules are sections
    public = {each for each in module.__all__ if each not in NOT_SHOWN.get(name, set()) | inner}
    if name == "frugalsvm":
        public -= {"describe", "load", "save"}  # shown with their module, frugalsvm.persist
    missing = {each for each in public if f"{name}.{each}" not in documented()}
    assert not missing


def test_what_is_there_exists():
    for full in documented():
        module, name = full.rsplit(".", 1)
        assert hasattr(of_module(module), name), full
