"""Tables and peers of users: files that ``--add`` names, which call `add_table` and `add_peer`."""

import runpy

__all__ = ["load_additions"]


def load_additions(paths):
    for path in paths:
        runpy.run_path(str(path))
