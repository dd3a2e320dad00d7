"""Wang, Crammer & Vucetic (2012): Breaking the curse of kernelization."""

from experiments.bsgd.budgets import FIGURE2, FIGURE3
from experiments.bsgd.curves import FIGURE4, FIGURE5
from experiments.bsgd.images import FIGURE7
from experiments.bsgd.table3 import TABLE3
from experiments.bsgd.table4 import TABLE4
from experiments.bsgd.times import FIGURE6

__all__ = ["EXPERIMENTS"]

EXPERIMENTS = [TABLE3, TABLE4, FIGURE2, FIGURE3, FIGURE4, FIGURE5, FIGURE6, FIGURE7]
