"""The compile layer: machine code on disk is never stale, parts are chosen by type, and all of it runs as Python."""

import pickle
import re
import threading
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse
from numba.core import config
from numba.core.caching import IndexDataCacheFile
from numba.core.errors import TypingError
from package_copy import computed, copied_package, make_nearer, python
from support import COVERING, Setting, blobs

import frugalsvm
from frugalsvm.compiling.code_cache import _save_one_at_a_time, _stamped_cache
from frugalsvm.compiling.digest import COMPILED_THERE, NOT_COMPILED, sources_digest
from frugalsvm.compiling.functions import compiled, generic
from frugalsvm.core.expansion import coefficients

TESTS = Path(__file__).parent


# --- the cache on disk ------------------------------------------------------------------------------------


@pytest.fixture
def package(tmp_path):
    """A copy of the package that may be edited, and a function that computes with it and its own cache."""
    root = copied_package(tmp_path)
    return root, lambda: computed(root, tmp_path / "cache")


def test_cache_is_used_until_any_source_changes(package):
    """One story, as each chapter needs the machine code of the one before."""
    root, found = package
    assert found() == {"n_near": 4, "hits": 0, "misses": 1}
    assert found() == {"n_near": 4, "hits": 1, "misses": 0}
    make_nearer(root)
    assert found() == {"n_near": 2, "hits": 0, "misses": 1}


def test_an_index_that_cannot_be_read_is_begun_anew(tmp_path, monkeypatch):
    """That of a version whose types are elsewhere."""
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    kept = _stamped_cache(blobs, ("stamp",))._cache_file
    kept.save("signature", "code")
    assert kept.load("signature") == "code"
    (index,) = tmp_path.rglob("*.nbi")
    with index.open("rb") as file:
        version = pickle.load(file)
    index.write_bytes(pickle.dumps(version) + b"cfrugalsvm.core.losses\nSinceRenamed\n.")
    assert kept.load("signature") is None
    kept.save("signature", "other code")
    assert kept.load("signature") == "other code"


# A Numba without some of the options that are not documented, and one that keeps its cache elsewhere
OTHER_NUMBA = """
import warnings
import numpy
from numba.core import caching
from numba.core.cpu import CPUTargetOptions
{change}
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    from frugalsvm.compiling.functions import entry, inlined

    @inlined
    def twice(x):
        return x + x

    @entry
    def total(values):
        found = 0.0
        for value in values:
            found += twice(value)
        return found

    result = total(numpy.arange(4.0))

print({{str(each.message).partition(":")[0].partition(" has ")[2] or str(each.message) for each in caught}})
print(result)
"""


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("", "set()"),
        ("mixin = CPUTargetOptions.__bases__[0]; del mixin._nrt, mixin.forceinline", "no option"),
        ("caching.FunctionCache = lambda function: object()", "compiles again"),
        ("caching.CacheImpl._locator_classes = []", "set NUMBA_CACHE_DIR"),
    ],
)
def test_other_versions_of_numba_are_slower_with_a_warning(change, told, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(OTHER_NUMBA.format(change=change))
    source = Path(frugalsvm.__file__).parent.parent
    code = "import runpy, sys; runpy.run_path(sys.argv[1])"
    said, result = python(code, script, path=[source], NUMBA_CACHE_DIR=str(tmp_path)).splitlines()
    assert told in said
    assert float(result) == 12.0


def test_processes_that_save_at_the_same_time_lose_nothing(tmp_path):
    # Threads stand for processes: each has an object of its own, and both have read the index before one writes it.
    barrier = threading.Barrier(2)

    def save(signature):
        index = IndexDataCacheFile(tmp_path, "some_function", "stamp")
        write = index._save_index

        def write_later(overloads):
            with suppress(threading.BrokenBarrierError):
                barrier.wait(0.2)
            write(overloads)

        index._save_index = write_later
        _save_one_at_a_time(index)
        index.save(signature, f"code for {signature}")

    threads = [threading.Thread(target=save, args=(signature,)) for signature in ("float32", "float64")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = IndexDataCacheFile(tmp_path, "some_function", "stamp")
    assert [found.load(key) for key in ("float32", "float64")] == ["code for float32", "code for float64"]


def test_digest_sees_names_and_contents(tmp_path):
    (tmp_path / "inner").mkdir()
    first, second = tmp_path / "a.py", tmp_path / "inner" / "b.py"
    first.write_text("x = 1")
    second.write_text("y = 1")
    digests = [sources_digest(tmp_path)]
    second.write_text("y = 2")
    digests.append(sources_digest(tmp_path))
    second.rename(tmp_path / "inner" / "c.py")
    digests.append(sources_digest(tmp_path))
    assert len(set(digests)) == 3
    (tmp_path / "notes.txt").write_text("not a source")
    assert sources_digest(tmp_path) == digests[-1]
    assert sources_digest() == sources_digest(Path(frugalsvm.__file__).parent)


def test_no_compiled_code_where_changes_do_not_count():
    root = Path(frugalsvm.__file__).parent
    places = [root / name for name in NOT_COMPILED]
    files = [file for place in places for file in ([place] if place.suffix else place.rglob("*.py"))]
    assert len(files) > 50
    there = {root / name for name in COMPILED_THERE}
    for file in (file for file in files if not {file, *file.parents} & there):
        imported = re.findall(r"^from frugalsvm\.compiling\.functions import (.*)$", file.read_text(), re.MULTILINE)
        assert imported in ([], ["machine_code_for"]), file


# --- functions chosen by the type of their first argument -------------------------------------------------


class Metre(NamedTuple):
    value: float


class Mile(NamedTuple):
    value: float


class Litre(NamedTuple):
    value: float


@generic
def in_metres(length, times):
    """A length, so many times, in metres."""


@in_metres.implement(Metre)
def _metres(length, times):
    return length.value * times


@generic
def is_metric(length):
    """Whether a unit is the metre."""


@is_metric.implement(Metre)
def _metre_is(length):
    return 1


@is_metric.implement()
def _others_are_not(length):
    return 0


@in_metres.implement(Mile, np.float64)
def _miles(length, times):
    return 1609.0 * times


@compiled
def compiled_call(length, times):
    return in_metres(length, times)


@pytest.mark.parametrize("call", [in_metres, compiled_call])
def test_body_is_chosen_by_type(call):
    assert call(Metre(2.0), 3.0) == 6.0
    assert call(Mile(2.0), 3.0) == 4827.0
    assert call(np.float64(2.0), 3.0) == 4827.0


@compiled
def compiled_is_metric(length):
    return is_metric(length)


@pytest.mark.parametrize("call", [is_metric, compiled_is_metric])
def test_body_without_types_is_for_all_others(call):
    assert [call(part(1.0)) for part in (Metre, Mile, Litre)] == [1, 0, 0]


def test_unknown_part_is_named():
    with pytest.raises(TypeError, match="in_metres is not implemented for Litre"):
        in_metres(Litre(2.0), 3.0)
    with pytest.raises(TypingError, match="Litre"):
        compiled_call(Litre(2.0), 3.0)


def test_body_with_another_signature_is_refused():
    with pytest.raises(TypeError, match=r"in_metres for Litre: expected the signature \(length, times\)"):

        @in_metres.implement(Litre)
        def _litres(length, factor):
            return 0.0

    with pytest.raises(TypeError, match="not implemented for Litre"):
        in_metres(Litre(2.0), 3.0)


def test_generic_keeps_name_and_docstring():
    assert in_metres.__name__ == "in_metres"
    assert in_metres.__doc__ == "A length, so many times, in metres."


# --- without compilation ----------------------------------------------------------------------------------

CASES = {"-".join(map(str, combination)): Setting(*combination, budget=5, average_from=10) for combination in COVERING}
MANY_FEATURES = Setting("pegasos", "merge", 1, budget=5, gamma=0.05)
INTERPRETED = """
import sys
from frugalsvm.compiling.functions import INTERPRETED
from test_compile import write_models

assert INTERPRETED
write_models(sys.argv[1])
"""


def trained_models(*, sparse):
    """What each of the cases learns from a few dozen rows: arrays by name."""
    arrays = {}
    for name, setting in CASES.items():
        X, labels = blobs(48, 3, setting.n_classes, seed=3)
        model = setting.trained(scipy.sparse.csr_matrix(X) if sparse else X, labels)
        n = model.counts[0]["n_slots"]
        arrays |= {
            f"{name}-rows": model.rows[:n],
            f"{name}-coefficients": coefficients(model),
            f"{name}-decisions": setting.decisions(model, X, averaged=True),
            f"{name}-counts": model.counts.view(np.int64),
            f"{name}-error": model.scalars[0]["error_sum"],
        }
    return arrays


def write_models(file):
    """For the process without compilation."""
    dense, sparse = trained_models(sparse=False), trained_models(sparse=True)
    blocks = MANY_FEATURES.trained(*blobs(70, 12, 2, seed=3))
    np.savez(file, blocks=blocks.rows, **dense, **{f"sparse-{name}": array for name, array in sparse.items()})


@pytest.fixture(scope="module")
def interpreted(tmp_path_factory):
    file = tmp_path_factory.mktemp("interpreted") / "models.npz"
    path = [Path(frugalsvm.__file__).parents[1], TESTS, TESTS.parent]
    python(INTERPRETED, file, path=path, NUMBA_DISABLE_JIT="1")
    with np.load(file) as arrays:
        return dict(arrays)


@pytest.mark.parametrize("prefix", ["", "sparse-"])
def test_interpreted_code_learns_the_same(interpreted, prefix):
    """Sparse rows are compared with compiled dense ones: that they are the same is shown elsewhere."""
    expected = trained_models(sparse=False)
    for name, array in expected.items():
        np.testing.assert_allclose(interpreted[prefix + name], array, rtol=1e-9, atol=1e-9, err_msg=name)
    assert all(expected[f"{case}-counts"][0] == 5 for case in CASES)


def test_interpreted_blocks_learn_the_same(interpreted):
    model = MANY_FEATURES.trained(*blobs(70, 12, 2, seed=3))
    assert model.counts[0]["n_maintenance"] > 10
    np.testing.assert_allclose(interpreted["blocks"], model.rows, rtol=1e-9, atol=1e-9)
