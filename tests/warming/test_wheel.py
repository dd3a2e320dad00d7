"""Platform wheels: tags, what is in them, and what is said of it."""

import base64
import csv
import hashlib
import zipfile

import pytest

from frugalsvm.compiling import code_cache
from frugalsvm.compiling.baselines import Baseline
from frugalsvm.warming import wheel
from frugalsvm.warming.origin import MachineCode, machine_code

RECORD, WHEEL = "frugalsvm-1.0.dist-info/RECORD", "frugalsvm-1.0.dist-info/WHEEL"


@pytest.fixture
def pure(tmp_path):
    """A small pure wheel."""
    path = tmp_path / "frugalsvm-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("frugalsvm/__init__.py", "x = 1\n")
        archive.writestr(WHEEL, "Wheel-Version: 1.0\nGenerator: some\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(RECORD, "frugalsvm/__init__.py,sha256=x,6\n")
    return path


@pytest.fixture
def code(tmp_path):
    file = tmp_path / "x86-64-v3.bin"
    file.write_bytes(b"machine code")
    return file


def written(pure, *files):
    path = pure.with_name("frugalsvm-1.0-cp311-cp311-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl")
    wheel._write_wheel(path, pure, files)
    return zipfile.ZipFile(path)


def test_a_platform_wheel_has_all_of_the_pure_one_and_machine_code(pure, code):
    with written(pure, code) as archive:
        assert archive.read("frugalsvm/__init__.py") == b"x = 1\n"
        assert archive.read("frugalsvm/_machine_code/x86-64-v3.bin") == b"machine code"


def test_it_says_what_it_is_for(pure, code):
    with written(pure, code) as archive:
        lines = archive.read(WHEEL).decode().splitlines()
    assert lines == [
        "Wheel-Version: 1.0",
        "Generator: some",
        "Root-Is-Purelib: false",
        "Tag: cp311-cp311-manylinux_2_27_x86_64",
        "Tag: cp311-cp311-manylinux_2_28_x86_64",
    ]


def test_its_record_has_digests_of_all_files(pure, code):
    with written(pure, code) as archive:
        rows = list(csv.reader(archive.read(RECORD).decode().splitlines()))
        assert {row[0] for row in rows} == set(archive.namelist())
        for name, digest, size in rows:
            content = archive.read(name)
            right = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            assert (digest, size) == (("", "") if name == RECORD else (f"sha256={right}", str(len(content))))


def test_its_size_has_a_limit(pure, code, monkeypatch):
    monkeypatch.setattr(wheel, "_MOST_MEGABYTES", 0.0)
    with pytest.raises(RuntimeError, match="larger than 0 MB"):
        written(pure, code)


def test_the_tag_is_that_of_numba():
    python, abi, platforms = wheel._own_tag().split("-")
    assert python == abi
    assert all(platforms.split("."))


def test_one_level_is_run_and_the_others_are_only_compiled(pure, tmp_path, monkeypatch):
    calls = []

    def note(call, level, sources, work):
        assert (sources / "frugalsvm" / "__init__.py").read_text() == "x = 1\n"
        calls.append((level and level.name, call.partition("(")[0]))
        (work / "packed" / "file").write_bytes(b"machine code")

    has_no_y, has_all = Baseline("better", "", "", frozenset("xy")), Baseline("worse", "", "", frozenset("x"))
    monkeypatch.setattr(wheel, "_run", note)
    monkeypatch.setattr(wheel, "baselines_here", lambda: (has_no_y, has_all))
    monkeypatch.setattr(code_cache, "features_here", lambda: {"x"})
    made = wheel.platform_wheel(pure, tmp_path / "work")
    assert calls == [("worse", "warm"), ("better", "compile_as"), (None, "pack")]
    assert made.parent == pure.parent
    assert made.name == f"frugalsvm-1.0-{wheel._own_tag()}.whl"
    assert "frugalsvm/_machine_code/file" in zipfile.ZipFile(made).namelist()


def test_where_no_processor_can_run_any_level_no_wheel_is_made(pure, tmp_path, monkeypatch):
    monkeypatch.setattr(wheel, "baselines_here", lambda: ())
    with pytest.raises(RuntimeError, match="use the pure wheel"):
        wheel.platform_wheel(pure, tmp_path / "work")


def test_only_pure_wheels_are_added_to(tmp_path):
    with pytest.raises(ValueError, match=r"should end with -none-any\.whl"):
        wheel.platform_wheel(tmp_path / "frugalsvm-1.0-cp311-cp311-win_amd64.whl", tmp_path)


# --- where machine code comes from ------------------------------------------------------------------------------


def test_the_origin_of_machine_code_in_words():
    words = str(MachineCode("x86-64-v3", None, "/cache", "znver5"))
    assert words == "from the wheel, for x86-64-v3; what is not there is compiled for znver5, and kept in /cache"
    words = str(MachineCode(None, "it is for Numba 0.1", None, "znver5"))
    assert words == (
        "compiled for znver5, and not kept on disk; the code in the wheel is not used: it is for Numba 0.1"
    )


def test_the_origin_here():
    code = machine_code()
    assert code is None or code.processor
