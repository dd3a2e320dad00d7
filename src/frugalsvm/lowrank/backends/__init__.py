"""Back ends of the solver: the same verbs over rows and losses, with compiled loops, on devices, and over partitions.

Rows have ``n_rows``, ``width``, ``scores``, ``gradient``, ``take``, ``subsample`` and ``backend``; a back end has
``slopes``, ``along``, ``total`` and ``excess`` of losses, ``choose`` (a sample), ``preconditioner``, and ``arrays``.
"""
