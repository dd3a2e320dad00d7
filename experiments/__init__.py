"""The tables and figures of five papers, each beside the printed numbers.

``python -m experiments list`` names them, ``cost`` says what is missing and how long it takes, ``run`` computes it,
``keep`` puts results into the repository, ``report`` writes a page. One folder per paper holds its protocol
(``protocol.toml``), the printed numbers (``printed.csv``), the parameters that cross-validation chose
(``chosen.json``), our results (``results``), a page of deviations (``README.md``) and the code of its own.

Three profiles: ``quick`` runs everything on few rows; ``full`` answers the papers; ``confirm`` repeats its tables with
the same parameters and with seeds that neither first runs nor searches have used.
"""
