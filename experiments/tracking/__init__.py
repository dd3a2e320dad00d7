"""N. Usunier, A. Bordes, L. Bottou, "Guarantees for approximate incremental SVMs", AISTATS 2010."""

from experiments.results import Experiment
from experiments.tracking import figures
from experiments.tracking.plans import plan_curves, plan_traces

__all__ = ["EXPERIMENTS"]

EXPERIMENTS = [
    Experiment("tracking-fig2", "Gap of Algorithms 1 and 2, Adult", plan_traces, figures.show_algorithms),
    Experiment("tracking-fig3", "Gap for two ways of selection, Adult", plan_traces, figures.show_selections),
    Experiment("tracking-fig4", "K against the mean gap, Adult", plan_traces, figures.show_slope),
    Experiment("tracking-fig5", "Error against examples, MNIST", plan_curves, figures.show_errors),
    Experiment("tracking-fig6", "Error against kernel values, MNIST", plan_curves, figures.show_costs),
]
