"""Type checkers accept code as users write it: the package says that it has types (py.typed)."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import frugalsvm

CODE = Path(__file__).with_name("typed_user_code.py")
SOURCES = Path(frugalsvm.__file__).parents[1]


def checked(command, folder):
    environment = dict(os.environ)
    if "site-packages" not in SOURCES.parts:  # installed packages are found anyway, and mypy refuses their folder here
        environment |= {"PYTHONPATH": str(SOURCES), "MYPYPATH": str(SOURCES)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_the_package_says_so():
    assert (Path(frugalsvm.__file__).parent / "py.typed").exists()


def test_mypy(tmp_path):
    """The one wrong line is found, and nothing else is."""
    pytest.importorskip("mypy")
    code = tmp_path / "code.py"
    code.write_text(CODE.read_text() + "\nshare_correct(1)\n")
    # As for a user: errors inside the package are not theirs, and scikit-learn has no types.
    options = ["--follow-imports=silent", "--ignore-missing-imports", "--config-file="]
    done = checked([sys.executable, "-m", "mypy", *options, str(code)], tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    (error,) = [line for line in done.stdout.splitlines() if ": error:" in line]
    assert f"code.py:{len(code.read_text().splitlines())}:" in error


@pytest.mark.parametrize("wrong", [False, True])
def test_pyright(tmp_path, wrong):
    if shutil.which("pyright") is None:
        pytest.skip("pyright is not installed")
    (tmp_path / "pyrightconfig.json").write_text(f'{{"extraPaths": ["{SOURCES.as_posix()}"]}}')
    (tmp_path / "code.py").write_text(CODE.read_text() + ("\nshare_correct(1)\n" if wrong else ""))
    done = checked(["pyright", "--pythonpath", sys.executable], tmp_path)
    assert done.returncode == wrong, done.stdout + done.stderr


def test_the_code_runs(tmp_path):
    sys.path.insert(0, str(CODE.parent))
    try:
        from typed_user_code import keep, share_correct, train
    finally:
        sys.path.remove(str(CODE.parent))
    model = train(5_000)
    assert share_correct(model) > 0.8
    assert keep(model, tmp_path) == ["board.h", "board.c"]
