"""Metrics that kernels learn: which features, or directions, tell rows apart.

`machine`        small ridge machines on kernel values with landmarks
`batches`        rows that are neighbors
`leave_one_out`  how well their machines predict each of them without it, and how that changes with the metric
`descent`        the way down: a factor for each feature, or a matrix
`agop`           average gradient outer products: directions along which a machine changes
`candidates`     metrics from the gentlest to the richest; `frugalsvm.selection.best_metric` says which of them to take
"""
