"""What is around the package agrees with it: versions, workflows, commands that workflows call."""

import os
import re
import tomllib
from pathlib import Path

import pytest

from frugalsvm import __version__

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PYTHONS = {words.rsplit(" ", 1)[1] for words in PROJECT["classifiers"] if re.fullmatch(r".*Python :: \d\.\d+", words)}


def steps(path):
    """The jobs of a workflow, each with its steps."""
    yaml = pytest.importorskip("yaml")
    return {name: job["steps"] for name, job in yaml.safe_load(path.read_text())["jobs"].items()}


def commands(path):
    return [step["run"] for found in steps(path).values() for step in found if "run" in step]


def release(version):
    return tuple(map(int, version.split(".")))


def allowed():
    """The lower bound of every requirement that has one."""
    requirements = [
        *PROJECT["dependencies"],
        *(one for group in PROJECT["optional-dependencies"].values() for one in group),
    ]
    found = {}
    for requirement in requirements:
        match = re.match(r"([\w-]+)(?:\[[\w,]+\])?>=([\d.]+)", requirement)
        if match is not None:
            assert found.setdefault(match[1], match[2]) == match[2], f"two lower bounds of {match[1]}"
    return found


def test_the_oldest_versions_are_those_that_are_allowed():
    pinned = dict(re.findall(r"^([\w-]+)==([\d.]+)$", (ROOT / ".ci" / "oldest.txt").read_text(), re.MULTILINE))
    for name, version in pinned.items():
        bound = release(allowed()[name])
        assert release(version)[: len(bound)] == bound, f"{name} {version}, and not the oldest"
    needed = {re.match(r"[\w-]+", requirement)[0] for requirement in PROJECT["dependencies"]}
    assert needed <= pinned.keys()


def test_there_are_workflows():
    assert {"canary", "docs", "packages", "slow", "tests"} <= {path.stem for path in WORKFLOWS}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_call_what_is_there(path):
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for command in commands(path):
        for target in re.findall(r"^make ([\w-]+)", command):
            assert target in targets, f"no such target: {command}"
        for script in re.findall(r"^\.ci/[\w-]+", command):
            assert os.access(ROOT / script, os.X_OK), f"no such script: {command}"


def test_all_supported_versions_of_python_are_tested():
    yaml = pytest.importorskip("yaml")
    matrix = yaml.safe_load((ROOT / ".github" / "workflows" / "tests.yml").read_text())["jobs"]["test"]["strategy"][
        "matrix"
    ]
    assert set(matrix["python"]) == PYTHONS
    systems = {*matrix["os"], *(entry["os"] for entry in matrix["include"])}
    assert {name.split("-")[0] for name in systems} == {"ubuntu", "macos", "windows"}
    assert any(name.endswith("-arm") for name in systems)


def test_only_publishing_may_write():
    for path in WORKFLOWS:
        yaml = pytest.importorskip("yaml")
        workflow = yaml.safe_load(path.read_text())
        assert workflow["permissions"] == {"contents": "read"}
        for name, job in workflow["jobs"].items():
            assert "permissions" not in job or name == "publish"


def test_one_version():
    assert re.search(rf"^version: {re.escape(__version__)}$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    newest = re.search(r"^## ([\d.]+) \((\d{4}-\d\d-\d\d)\)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest is not None
    assert newest[1] == __version__
    assert f'date-released: "{newest[2]}"' in (ROOT / "CITATION.cff").read_text()
