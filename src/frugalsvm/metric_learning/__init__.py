"""Metrics that kernels learn: which features, or directions, tell rows apart.

`held_out`  how well a small machine predicts rows that it has not seen, and how that changes with its metric
`descent`   the way down: a factor for each feature, or a matrix
`race`      which of them to take, or none, told by rows that none of them saw
"""
