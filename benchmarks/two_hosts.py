"""Training between two hosts that share nothing but a wire: ``python -m benchmarks.two_hosts`` (root, Linux).

Two network namespaces with a virtual cable between them are two hosts as far as Dask can tell. ``dask scheduler`` runs
in the first, ``dask worker`` in both, and ``frugalsvm train --dask tcp://...`` in the first. Bytes are those that went
through the cable in both directions.
"""

import json
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
from rich.console import Console

from frugalsvm import load
from frugalsvm.datasets import make_checkerboard

HOSTS = {"frugalsvm-a": ("fsvm-a", "10.77.0.1"), "frugalsvm-b": ("fsvm-b", "10.77.0.2")}
PORT = 8786
N_FILES, ROWS_PER_FILE = 8, 50_000


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


@contextmanager
def hosts():
    """Two namespaces and the cable between them; nothing of it is left at the end."""
    with ExitStack() as stack:
        for name in HOSTS:
            ip("netns", "add", name)
            stack.callback(ip, "netns", "del", name)
        cables = [cable for cable, _ in HOSTS.values()]
        ip("link", "add", cables[0], "type", "veth", "peer", "name", cables[1])
        for name, (cable, address) in HOSTS.items():
            ip("link", "set", cable, "netns", name)
            inside = ("-n", name)
            ip(*inside, "addr", "add", f"{address}/24", "dev", cable)
            ip(*inside, "link", "set", cable, "up")
            ip(*inside, "link", "set", "lo", "up")
        yield


def on_host(name, *words):
    """The command line of a Python module on a host."""
    return ["ip", "netns", "exec", name, sys.executable, "-m", *words]


@contextmanager
def running(command, log):
    process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def bytes_on_cable():
    """Received and sent, as the first host counts them."""
    name, (cable, _) = next(iter(HOSTS.items()))
    shown = subprocess.run(["ip", "-n", name, "-s", "-j", "link", "show", cable], check=True, capture_output=True)
    counts = json.loads(shown.stdout)[0]["stats64"]
    return counts["rx"]["bytes"] + counts["tx"]["bytes"]


def write_files(folder):
    import pandas as pd

    X, y = make_checkerboard(N_FILES * ROWS_PER_FILE, random_state=0)
    for number in range(N_FILES):
        part = slice(number * ROWS_PER_FILE, (number + 1) * ROWS_PER_FILE)
        frame = pd.DataFrame({"a": X[part, 0], "b": X[part, 1], "label": y[part]})
        frame.to_parquet(Path(folder) / f"part-{number}.parquet")


def main():
    console = Console(file=sys.stdout, width=120)
    first = next(iter(HOSTS))
    address = f"tcp://{HOSTS[first][1]}:{PORT}"
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        write_files(folder)
        log = stack.enter_context((folder / "log").open("w"))
        stack.enter_context(hosts())
        words = ("distributed.cli.dask_scheduler", "--host", HOSTS[first][1], "--port", str(PORT), "--no-dashboard")
        stack.enter_context(running(on_host(first, *words), log))
        for name in HOSTS:
            words = ("distributed.cli.dask_worker", address, "--nthreads", "1", "--no-dashboard")
            stack.enter_context(running(on_host(name, *words, "--host", HOSTS[name][1]), log))
        time.sleep(10)
        X, y = make_checkerboard(50_000, random_state=1)
        for algorithm, settings in (
            ("asset", ["--budget", "256", "--C", "10"]),
            ("bsgd", ["--budget", "200", "--alpha", "1e-5"]),
        ):
            output = folder / f"{algorithm}.frugal"
            before, began = bytes_on_cable(), time.perf_counter()
            command = on_host(first, "frugalsvm.cli", "train", str(folder / "*.parquet"), "--label", "label")
            command += ["--dask", address, "-a", algorithm, "--gamma", "8", "--seed", "0", "-o", str(output), *settings]
            subprocess.run(command, check=True, stderr=subprocess.STDOUT)
            seconds, moved = time.perf_counter() - began, bytes_on_cable() - before
            accuracy = 100 * float(np.mean(load(output).predict(X) == y))
            told = f"{algorithm}: {seconds:.0f} s, {moved / 1e6:.1f} MB between hosts, test accuracy {accuracy:.2f} %"
            console.print(told, highlight=False)


if __name__ == "__main__":
    main()
