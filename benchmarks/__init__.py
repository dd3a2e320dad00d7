"""Speed against the machine's limit and against the peers a user would pick: ``python -m benchmarks``."""
