"""Low-rank kernel machines over Nystroem or random Fourier features: one solver, and back ends that have its loops.

A fit goes through ``problem`` (what is minimized), ``continuation`` (stages), ``newton`` (steps and line search),
``hessian`` (directions), and what these ask of ``backends``: compiled loops, PyTorch, or partitions of rows that are in
different places. ``subgradient``, ``epochs`` and ``stream`` have the stochastic steps of the paper instead.
"""
