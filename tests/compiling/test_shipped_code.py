"""Machine code in a wheel: it is used where it fits, and nowhere else; results are those of compiled code."""

import json
import os

import pytest
from package_copy import computed, copied_package, make_nearer, python

from frugalsvm.compiling import code_cache
from frugalsvm.compiling.baselines import BASELINES, Baseline, baselines_here
from frugalsvm.compiling.code_cache import MANIFEST, ShippedCode, features_here, made_with, shipped_code
from frugalsvm.compiling.functions import INTERPRETED

pytestmark = pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")

STAMP = ("sources", "options")
COMPILED = {"n_near": 4, "hits": 0, "misses": 1}
FOUND = {"n_near": 4, "hits": 1, "misses": 0}

PACK = "import sys; from frugalsvm.warming.shipping import pack; pack(sys.argv[1], sys.argv[2:3], sys.argv[3])"
SAY_WARNINGS = "import warnings; warnings.simplefilter('error')\n"
# How many functions of the wheel were used, and why no more were
TELL_OF_WHEEL = """
import atexit

@atexit.register
def tell():
    from frugalsvm.compiling.code_cache import code_in_wheel
    from frugalsvm.core.slopes import slope_block

    with open({!r}, "w") as file:
        print(code_in_wheel(slope_block).n_loaded, code_in_wheel(slope_block).why_not, end="", file=file)

"""
# Neither beside the sources nor in the home of the user is there a folder that can be written.
NOWHERE_TO_WRITE = "from numba.core import caching; caching.CacheImpl._locator_classes = []\n"


@pytest.fixture
def package(tmp_path):
    """A copy of the package with machine code in it, of the function that is called."""
    level = next((each for each in baselines_here() if not each.lacking(features_here())), None)
    if level is None:
        pytest.skip("there is no named level that this processor reaches")
    root = copied_package(tmp_path)
    (root / "_machine_code").mkdir()
    assert computed(root, tmp_path / "work" / level.name, **level.environment) == COMPILED
    said = python(PACK, tmp_path / "work", level.name, root / "_machine_code", path=[tmp_path])
    assert said == f"{level.name}: 1 functions\n"
    return root


def changed(manifest, **values):
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), **values}))


def test_code_of_a_wheel_is_used_until_something_that_it_depends_on_changes(package, tmp_path):
    """One story: to begin each chapter anew takes a compilation."""
    cache, manifest = tmp_path / "cache", package / "_machine_code" / MANIFEST
    assert computed(package, cache, SAY_WARNINGS) == FOUND
    assert not list(cache.rglob("*")) or not list(cache.rglob("*.nb?"))
    # Another version of Numba: one line, and the code is compiled, kept, and found without a word
    right = manifest.read_text()
    changed(manifest, Numba="0.1")
    recorded = (
        "import warnings, atexit; caught = []\nwarnings.showwarning = lambda message, *_: caught.append(message)\n"
    )
    write = f"atexit.register(lambda: open({str(tmp_path / 'said')!r}, 'w').write('|'.join(map(str, caught))))\n"
    assert computed(package, cache, recorded + write, FRUGALSVM_QUIET="") == COMPILED
    said = (tmp_path / "said").read_text()
    assert "cannot be used: it was made for Numba 0.1, and this is" in said
    assert "|" not in said
    assert computed(package, cache, SAY_WARNINGS, FRUGALSVM_QUIET="") == FOUND
    manifest.write_text(right)
    # A file that is damaged, and none: the code on disk is used
    (binary,) = (package / "_machine_code").glob("*.bin")
    content = binary.read_bytes()
    binary.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    assert computed(package, cache, TELL_OF_WHEEL.format(str(tmp_path / "said"))) == FOUND
    assert (tmp_path / "said").read_text() == f"0 {binary.name} in {binary.parent} is damaged"
    binary.unlink()
    assert computed(package, cache) == FOUND
    binary.write_bytes(content)
    undo = make_nearer(package)
    assert computed(package, cache) == {"n_near": 2, "hits": 0, "misses": 1}
    undo()
    before = NOWHERE_TO_WRITE + SAY_WARNINGS + TELL_OF_WHEEL.format(str(tmp_path / "said"))
    assert computed(package, cache, before) == FOUND
    assert (tmp_path / "said").read_text() == "1 None"


# --- when it is used --------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path):
    """A folder with a manifest as it is made here, and empty indexes."""
    (tmp_path / MANIFEST).write_text(json.dumps({**made_with(STAMP), "levels": ["old", "new"]}))
    for level in ("old", "new"):
        (tmp_path / f"{level}.json").write_text("{}")
    return tmp_path


@pytest.fixture
def processor(monkeypatch):
    """A processor with some features, for which there are two levels."""
    levels = (Baseline("new", "", "", frozenset({"a", "b"})), Baseline("old", "", "", frozenset({"a"})))
    monkeypatch.setattr(code_cache, "baselines_here", lambda: levels)
    monkeypatch.setattr(code_cache.numba.config, "CPU_NAME", None)  # as where nothing asks for a processor
    monkeypatch.setattr(code_cache.numba.config, "CPU_FEATURES", None)
    shipped_code.cache_clear()

    def has(*features):
        monkeypatch.setattr(code_cache, "features_here", lambda: set(features))

    has("a", "b", "c")
    return has


def test_the_best_level_that_the_processor_reaches_is_used(folder, processor):
    assert shipped_code(STAMP, folder).level == "new"
    assert shipped_code(STAMP, folder).why_not is None


@pytest.mark.parametrize(("features", "level"), [(["a"], "old"), (["b"], None), ([], None)])
def test_a_processor_without_features_gets_an_older_level_or_none(folder, processor, features, level):
    processor(*features)
    code = shipped_code(STAMP, folder)
    assert code.level == level
    assert code.why_not == (None if level else "it is for old or new, and this processor has no a")


@pytest.mark.parametrize("name", ["format", "system", "Python", "Numba", "llvmlite"])
def test_what_does_not_match_is_named(folder, processor, name):
    changed(folder / MANIFEST, **{name: "other"})
    code = shipped_code(STAMP, folder)
    assert code.level is None
    assert code.why_not == f"it was made for {name} other, and this is {made_with(STAMP)[name]}"


def test_other_sources_or_options_do_not_match(folder, processor):
    code = shipped_code(("other sources", "options"), folder)
    assert code.level is None
    assert "other sources" in code.why_not


def test_who_asks_numba_for_a_processor_gets_code_for_it(folder, processor, monkeypatch):
    monkeypatch.setattr(code_cache.numba.config, "CPU_NAME", "generic")
    code = shipped_code(STAMP, folder)
    assert code.level is None
    assert "NUMBA_CPU_NAME" in code.why_not


@pytest.mark.parametrize("file", [MANIFEST, "new.json"])
def test_files_that_cannot_be_read_are_not_used(folder, processor, file):
    (folder / file).write_text("{")
    code = shipped_code(STAMP, folder)
    assert code.level is None
    assert code.why_not == f"files in {folder} cannot be read"


@pytest.mark.parametrize("file", [MANIFEST, "new.json"])
def test_files_that_are_missing_are_named(folder, processor, file):
    (folder / file).unlink()
    code = shipped_code(STAMP, folder)
    assert code.level is None
    assert code.why_not == f"{folder / file} is missing"


def test_without_machine_code_there_is_nothing_to_say(tmp_path):
    (tmp_path / "archive.zip").touch()
    for folder in ("nowhere", "archive.zip/frugalsvm"):
        code = shipped_code(STAMP, tmp_path / folder)
        assert code.level is None
        assert code.why_not is None


def test_many_missing_features_are_not_all_named(folder, monkeypatch, processor):
    monkeypatch.setattr(code_cache, "baselines_here", lambda: (Baseline("new", "", "", frozenset("abcdef")),))
    processor()
    assert shipped_code(STAMP, folder).why_not.endswith("this processor has no a, b, c, ...")


def some_function(x):
    return x


def test_functions_from_elsewhere_are_not_looked_for():
    code = ShippedCode()
    code._index = {"anything": (0, 0, "")}
    assert code.load(some_function, (), None) is None


def test_sources_have_no_machine_code():
    """What is edited, and editable installations, never meet code of a wheel: it is not in the repository."""
    ignored = os.path.join("src", "frugalsvm", "_machine_code")
    root = code_cache._FOLDER.parent.parent.parent
    if (root / "pyproject.toml").exists():  # not an installed package
        assert not (root / ignored).exists()


def test_a_level_needs_all_that_the_one_below_needs():
    for levels in BASELINES.values():
        names = [level.name for level in levels]
        assert len(set(names)) == len(names)
        for better, worse in zip(levels, levels[1:], strict=False):
            assert better.needs > worse.needs
