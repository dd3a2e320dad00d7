"""S. Ertekin, L. Bottou, C. L. Giles, "Nonconvex online support vector machines", IEEE TPAMI 33, 2011."""

from experiments.lasvm import figures, tables
from experiments.lasvm.plans import plan
from experiments.results import Experiment

__all__ = ["EXPERIMENTS"]

EXPERIMENTS = [
    Experiment("lasvm-table1", "Positions on the ramp, Adult", plan, tables.show_positions),
    Experiment("lasvm-table3", "Accuracy, support vectors, seconds", plan, tables.show_sizes),
    Experiment("lasvm-table4", "PRBEP, AUC, g-means, kernel values", plan, tables.show_generalisation),
    Experiment("lasvm-fig1", "Duality gap against examples", plan, figures.show_gap),
    Experiment("lasvm-fig2", "LASVM and LASVM-G on Adult", plan, figures.show_two),
    Experiment("lasvm-fig4", "PRBEP against examples", plan, figures.show_breakeven),
    Experiment("lasvm-fig5", "Error against support vectors", plan, figures.show_ramps),
    Experiment("lasvm-fig6", "Support vectors against examples", plan, figures.show_growth),
    Experiment("lasvm-fig7", "Kernel values against examples", plan, figures.show_kernel_values),
    Experiment("lasvm-fig8", "Training times", plan, figures.show_seconds),
]
