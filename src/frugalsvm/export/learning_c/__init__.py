"""Budgeted learners as C99: put together from the plain C files in ``source``, one for each part.

``plan.py`` says what of a fitted model a device needs, and refuses what it cannot have, with ``around.py`` for what is
around the estimator: pipelines and conformal estimators. ``parts.py`` says which files make a kernel, a loss, a
schedule or a policy; ``writing.py`` puts them together. ``state.py`` reads and writes the bytes of a state, with
``kept.py`` for what is in them besides support vectors.
"""
