"""``python -m benchmarks.comparison COMMAND``: run, report, repeat, streams, tables or copy; each has ``--help``."""

from benchmarks.comparison.commands import main

if __name__ == "__main__":
    main()
