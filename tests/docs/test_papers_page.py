"""The page about the papers names every experiment, and no other."""

import re
from pathlib import Path

from experiments.protocol import all_experiments

PAGE = Path(__file__).resolve().parents[2] / "docs" / "papers.rst"
NAME = re.compile(r"``([a-z]+-(?:table|fig))(\d+)``(?: to ``\1(\d+)``)?")


def test_every_experiment_is_on_the_page():
    table = PAGE.read_text().split(".. only::")[0]
    named = {
        f"{kind}{number}"
        for kind, first, last in NAME.findall(table)
        for number in range(int(first), int(last or first) + 1)
    }
    assert named == set(all_experiments())
