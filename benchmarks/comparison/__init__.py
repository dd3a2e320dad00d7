"""AutoSVC and AutoSVR beside other learners, on more than fifty tables: ``python -m benchmarks.comparison``.

``tables.py`` is the list of tables, which was fixed before anything was measured; ``peers/`` has a file for each kind
of learner. A *cell* is a peer on one of five splits of a table, at its defaults or tuned for a time; its result is a
line of JSON. ``results/`` has those of the documentation, which ``docs/comparison.rst`` shows.
"""
