"""What is installed: versions, extras, devices, threads, machine code. A report of a problem should have all of it."""

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

from frugalsvm._version import __version__
from frugalsvm.words import table_lines

__all__ = ["EXTRAS", "installation", "installation_rows", "show_versions"]

# Extras of the package, and the modules that each of them brings
EXTRAS = {
    "cli": ("rich", "typer"),
    "streams": ("pyarrow",),
    "onnx": ("onnx", "onnxruntime"),
    "plots": ("matplotlib",),
    "torch": ("torch", "array_api_compat"),
    "river": ("river",),
    "dask": ("dask", "distributed"),
}
_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def show_versions() -> None:
    """Print what is installed, for reports of problems: versions, extras, devices, threads and machine code.

    Examples
    --------
    >>> import frugalsvm
    >>> frugalsvm.show_versions()  # doctest: +SKIP
    """
    print("\n".join(table_lines(installation_rows(installation()))))


def installation() -> dict[str, Any]:
    """All of it, as a dict."""
    from frugalsvm.arrays.namespace import available_devices
    from frugalsvm.warming.origin import machine_code

    return {
        "frugalsvm": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": {name: version(name) for name in _PACKAGES},
        "extras": {name: _extra(name, modules) for name, modules in EXTRAS.items()},
        "devices": available_devices(),
        "threads": _threads(),
        "machine_code": code._asdict() if (code := machine_code()) else None,
    }


def _extra(name: str, modules: tuple[str, ...]) -> dict[str, Any]:
    missing = [module for module in modules if find_spec(module) is None]
    if missing:
        return {"present": False, "missing": missing, "install": f"pip install 'frugalsvm[{name}]'"}
    return {"present": True, "versions": {module: _version_of(module) for module in modules}}


def _version_of(module: str) -> str:
    try:
        return version(module.replace("_", "-"))
    except PackageNotFoundError:  # a module whose package has another name
        return str(getattr(sys.modules.get(module), "__version__", "unknown"))


def _threads() -> dict[str, Any]:
    from threadpoolctl import threadpool_info

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    pools = {pool["internal_api"]: pool["num_threads"] for pool in threadpool_info()}
    set_to = {name: os.environ[name] for name in _THREAD_VARIABLES if name in os.environ}
    return {"cores": cores, **pools, **set_to}


def installation_rows(facts: dict[str, Any]) -> list[dict[str, str]]:
    """The same for people: two columns."""
    from frugalsvm.warming.origin import MachineCode

    rows = [{"what": name, "value": facts[name]} for name in ("frugalsvm", "python", "platform")]
    rows += [{"what": name, "value": each} for name, each in facts["packages"].items()]
    for name, extra in facts["extras"].items():
        there = ", ".join(f"{module} {each}" for module, each in extra.get("versions", {}).items())
        rows.append({"what": f"extra {name}", "value": there or f"not there: {extra['install']}"})
    rows += [{"what": f"device {name}", "value": each} for name, each in facts["devices"].items()]
    threads = ", ".join(f"{name} {each}" for name, each in facts["threads"].items())
    code = facts["machine_code"]
    where = "none: NUMBA_DISABLE_JIT is set" if code is None else str(MachineCode(**code))
    return [*rows, {"what": "threads", "value": threads}, {"what": "machine code", "value": where}]
