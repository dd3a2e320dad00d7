"""S. Lee, S. J. Wright (2012). ASSET: approximate stochastic subgradient estimation training for support vector
machines. International Conference on Pattern Recognition Applications and Methods.
"""

from experiments.asset import batch, dimensions, online
from experiments.results import Experiment

__all__ = ["EXPERIMENTS"]

EXPERIMENTS = [
    Experiment("asset-table2", "Test errors and training times on five data sets", batch.plan, batch.show),
    Experiment("asset-table3", "Test errors at the end of a stream of digits", online.plan, online.show_table),
    Experiment("asset-fig1", "Test error against the dimension of the approximation", dimensions.plan, dimensions.show),
    Experiment("asset-fig2", "Test error along a stream of digits", online.plan, online.show_figure),
]
