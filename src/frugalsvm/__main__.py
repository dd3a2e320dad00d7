"""``python -m frugalsvm``: the command line, where the program ``frugalsvm`` is not on the path."""

from frugalsvm.cli import main

if __name__ == "__main__":
    main()
