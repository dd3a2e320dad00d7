"""``python -m benchmarks.comparison run``, ``report``, ``streams``, ``tables`` or ``copy``; each has ``--help``."""

from benchmarks.comparison.commands import main

if __name__ == "__main__":
    main()
