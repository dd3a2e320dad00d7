"""Z. Wang, S. Vucetic (2009). Twin vector machines for online learning on a budget. SIAM Data Mining."""

from experiments.results import Experiment
from experiments.tvm import figure2, figure3, tables

__all__ = ["EXPERIMENTS"]

EXPERIMENTS = [
    Experiment("tvm-table2", "Training times and numbers of vectors", tables.plan_table2, tables.show_table2),
    Experiment("tvm-table3", "Accuracy with the RBF kernel", tables.plan_table3, tables.show_table3),
    Experiment("tvm-table4", "Accuracy with other kernels", tables.plan_table4, tables.show_table4),
    Experiment("tvm-table5", "Accuracy of variants of the TVM", tables.plan_table5, tables.show_table5),
    Experiment("tvm-fig2", "Ten million examples of a noisy checkerboard", figure2.plan, figure2.show),
    Experiment("tvm-fig3", "Accuracy along the stream", figure3.plan, figure3.show),
]
