"""``python -m experiments``"""

from experiments.command import main

if __name__ == "__main__":
    main()
