"""The pages are doctests: each runs in a folder of its own, where it may write files."""

import pytest

# Sphinx is no part of what tests need.
collect_ignore_glob = ["*.py", "_build", "_ext/*", "gallery"]


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
