"""Work for the tests of the runner: it must be importable by name, also in other processes."""

import time
from pathlib import Path

from frugalsvm.datasets import DatasetUnavailableError


def square(settings, seed):
    """A result that depends on all it is given; a line in a log for each time it is computed."""
    if "log" in settings:
        with Path(settings["log"]).open("a") as file:
            file.write(f"{settings['value']}\n")
    return {"square": settings["value"] ** 2 + settings.get("tuned", {}).get("extra", 0), "seed": seed}


def choice(settings, seed):
    return {"chosen": {"tuned": {"extra": settings["extra"]}}}


def refusal(settings, seed):
    raise ValueError("no rows [/of] this [kind]")


def no_data(settings, seed):
    raise DatasetUnavailableError(f"could not download {settings['data']}: no network").of(settings["data"])


def interruption(settings, seed):
    raise KeyboardInterrupt


def long_wait(settings, seed):
    time.sleep(60)
    return {}
