"""The tables and figures of five papers, each beside the printed numbers.

``python -m experiments list`` names them, ``run`` computes what the store does not hold yet, ``report`` writes a page.
One folder per paper holds its protocol (``protocol.toml``), the printed numbers (``printed.csv``), the parameters that
cross-validation chose (``chosen.json``), a page of deviations (``README.md``) and the code of its own.
"""
