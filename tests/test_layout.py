"""The floors of the house: the map in CONTRIBUTING.md, the layers that are checked, and what there is, are the same."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "frugalsvm"
ROW = re.compile(r"^\| (\d+) \| `(\w+?)(/|\.py)` \| .+ \|$", re.MULTILINE)


def layers():
    """The modules of each floor, from the ground up."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (found,) = [contract["layers"] for contract in contracts if contract["type"] == "layers"]
    return [set(layer.split(" | ")) for layer in reversed(found)]


def lines_of_the_map():
    return ROW.findall((ROOT / "CONTRIBUTING.md").read_text())


def test_the_map_shows_the_layers():
    lines = lines_of_the_map()
    floors = [{name for floor, name, _ in lines if int(floor) == number} for number in range(len(layers()))]
    assert floors == layers()
    assert len(lines) == sum(map(len, floors))  # none twice, none above the roof


def test_the_map_shows_all_folders_and_modules():
    folders = {path.parent.name + "/" for path in PACKAGE.glob("*/__init__.py")}
    modules = {path.name for path in PACKAGE.glob("*.py")} - {"__init__.py"}
    assert {name + kind for _, name, kind in lines_of_the_map()} == folders | modules


def test_names_of_test_files_are_unique():
    """Folders of tests are no packages, and Python imports only one module of a name."""
    names = [path.name for path in (ROOT / "tests").rglob("test_*.py") if not (path.parent / "__init__.py").exists()]
    assert sorted(names) == sorted(set(names))


def test_private_files_are_imported_in_their_own_folder_only():
    """A file whose name begins with an underscore belongs to its folder; those of the root belong to all."""
    elsewhere = re.compile(r"^\s*(?:from|import) frugalsvm\.((?:\w+\.)*\w+)\.(_\w+)\b(?! as)", re.MULTILINE)
    found = [
        f"{path.relative_to(PACKAGE)}: {folder}.{name}"
        for path in PACKAGE.rglob("*.py")
        for folder, name in elsewhere.findall(path.read_text())
        if not path.is_relative_to(PACKAGE.joinpath(*folder.split(".")))
    ]
    assert found == []
