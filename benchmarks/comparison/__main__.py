"""``python -m benchmarks.comparison COMMAND``: each has ``--help``.

Commands are run, report, repeat, causes, streams, tables and copy.
"""

from benchmarks.comparison.commands import main

if __name__ == "__main__":
    main()
