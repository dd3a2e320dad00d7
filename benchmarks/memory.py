"""Whether memory stays flat: peak resident set after 10^5 and after 10^7 examples, in a process of its own."""

import json
import subprocess
import sys

_STREAM = """
import json, sys
from frugalsvm import BSGDClassifier
from frugalsvm.compiling.memory import peak_megabytes
from frugalsvm.datasets import stream

model = BSGDClassifier(budget=100, gamma=3.0, alpha=1e-4)
seen, peaks = 0, {}
for X, y in stream("checkerboard", int(sys.argv[1]), chunk_size=10_000, random_state=0):
    model.partial_fit(X, y)
    seen += len(X)
    if seen in (100_000, 1_000_000, 10_000_000):
        peaks[seen] = peak_megabytes()
print(json.dumps(peaks))
"""


def measure_memory(n_examples=10_000_000) -> dict:
    """Peak megabytes by the number of examples learned."""
    command = [sys.executable, "-c", _STREAM, str(n_examples)]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
