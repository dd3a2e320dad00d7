"""Metrics that kernels learn: which features, or directions, tell rows apart.

`machine`     small ridge machines: of rows with landmarks; and of batches of neighbors, each row without itself
`agop`        average gradient outer products: directions along which a machine changes
`candidates`  metrics from the gentlest to the richest; `frugalsvm.selection.best_metric` says which of them to take
"""
