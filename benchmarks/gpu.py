"""Low-rank machines on a GPU: ``python -m benchmarks.gpu [PART ...]``.

``equality``: the same problem solved by compiled code on the CPU, by PyTorch on the CPU and on the GPU, to a small
tolerance. ``covtype`` and ``mnist``: error and seconds for several numbers of landmarks, with the data on the device.
``many``: two and eight million rows, the latter sent from the memory of the host. ``memory``: kernel values computed
again in every pass. ``profile``: the share of matrix products. ``predict``: rows per second of a kernel expansion.
Needs PyTorch and a GPU (``equality`` leaves out what is not there).
"""

import argparse
import time

import numpy as np
from rich.console import Console

from benchmarks.printing import table
from frugalsvm import ASSETClassifier, BSGDClassifier
from frugalsvm.arrays.namespace import available_devices, find_gpu
from frugalsvm.datasets import load

PARTS = ("equality", "covtype", "mnist", "many", "memory", "profile", "predict")
COVTYPE_TRAIN, COVTYPE_TEST = 464_809, 58_101


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", help=f"any of: {', '.join(PARTS)} (default: all)")
    parser.add_argument("--landmarks", type=int, nargs="*", help="of covtype and mnist")
    options = parser.parse_args()
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    console = Console(width=150)
    console.print(available_devices())
    for part in options.parts or PARTS:
        console.print(globals()[part](options, console))


# --- data -------------------------------------------------------------------------------------------------


def covtype_rows():
    """Class 1 against the rest, scaled to [0, 1], split at random to the sizes of the ASSET paper."""
    X, y = load("covtype")
    X = X.astype(np.float32)
    low, high = X.min(axis=0), X.max(axis=0)
    X, y = (X - low) / (high - low), np.where(y == 1, 1, -1)
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[:COVTYPE_TRAIN], order[-COVTYPE_TEST:]
    return X[train], y[train], X[test], y[test]


def plain_rows(name):
    (X, y), (X_test, y_test) = load(name, "train"), load(name, "test")
    unit = np.float32(255 if name == "mnist" else 1)
    return X.astype(np.float32) / unit, y, X_test.astype(np.float32) / unit, y_test


def shifted_digits(n_rows):
    """Rows of MNIST, shifted by up to two pixels each way, as bytes on the device; and their labels."""
    import torch

    X, y = load("mnist", "train")
    images = torch.as_tensor(np.asarray(X, np.uint8), device="cuda").view(-1, 28, 28)
    out = torch.empty((n_rows, 784), dtype=torch.uint8, device="cuda")
    rng, labels = np.random.default_rng(0), []
    for start in range(0, n_rows, len(y)):
        n = min(len(y), n_rows - start)
        shift = tuple(int(each) for each in rng.integers(-2, 3, 2))
        out[start : start + n] = torch.roll(images, shift, (1, 2))[:n].reshape(-1, 784)
        labels.append(y[:n])
    return out, np.concatenate(labels)


def on_device(X):
    import torch

    return torch.as_tensor(X, device="cuda")


def steady_fit(model, X, y):
    """The median of three fits, after one that loads libraries and chooses kernels for these sizes; and GiB."""
    timed_fit(model, X, y)
    times, peaks = zip(*(timed_fit(model, X, y) for _ in range(3)), strict=True)
    return float(np.median(times)), max(peaks)


def timed_fit(model, X, y):
    import torch

    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    torch.cuda.synchronize()
    start = time.perf_counter()
    model.fit(X, y)
    torch.cuda.synchronize()
    return time.perf_counter() - start, torch.cuda.max_memory_allocated() / 2**30


def error(model, X, y):
    return 100 * float(np.mean(model.predict(X) != y))


# --- parts ------------------------------------------------------------------------------------------------


def equality(options, console):
    out = table(
        "The same problem on each device, tol=1e-11", "data", "", "s", "objective", "error %", "largest difference",
        "median", "above 1e-3 %", "s to fit",
    )  # fmt: skip
    devices = ["cpu", "torch"] + (["cuda"] if find_gpu().is_available else [])
    cases = {
        "a9a": (plain_rows, 256, 0.05, 1.0),
        "ijcnn1": (plain_rows, 256, 1.0, 10.0),
        "mnist": (plain_rows, 256, 0.02, 1.0),
        "covtype": (lambda _: covtype_rows(), 256, 1.0, 3.0),
    }
    for name, (rows, s, gamma, C) in cases.items():
        X, y, X_test, y_test = rows(name)
        values = {}
        for device in devices:
            model = ASSETClassifier(
                n_components=s, gamma=gamma, C=C, loss="squared_hinge", tol=1e-11, device=device, random_state=0,
                n_jobs=16, max_iter=300, eigenvalue_threshold=1e-5,  # below, weights are known to few digits only
            )  # fmt: skip
            start = time.perf_counter()
            model.fit(X, y)
            seconds = time.perf_counter() - start
            values[device] = model.decision_function(X_test)
            gap = np.abs(values[device] - values["cpu"])
            out.add_row(
                name, device, str(s), f"{model.objective_:.7f}", f"{error(model, X_test, y_test):.3f}",
                f"{gap.max():.1e}", f"{np.median(gap):.1e}", f"{100 * np.mean(gap > 1e-3):.3f}", f"{seconds:.2f}",
            )  # fmt: skip
        console.print(f"{name} done")
    return out


def covtype(options, console):
    X, y, X_test, y_test = covtype_rows()
    X = on_device(X)
    out = table("Covertype, class 1 against the rest, 464 809 rows", "s", "gamma", "C", "error %", "s", "GiB", "gap")
    for s in options.landmarks or (1024, 4096, 16_384):
        gamma, C = (2.0, 5.0) if s <= 1024 else (8.0, 30.0)
        model = _machine(s, gamma, C)
        seconds, peak = (steady_fit if s <= 16_384 else timed_fit)(model, X, y)
        numbers = (f"{error(model, X_test, y_test):.2f}", f"{seconds:.3f}", f"{peak:.1f}")
        out.add_row(str(s), f"{gamma:g}", f"{C:g}", *numbers, f"{model.suboptimality_bound_ / model.objective_:.1e}")
    return out


def _machine(s, gamma, C, **others):
    return ASSETClassifier(n_components=s, gamma=gamma, C=C, device="cuda", random_state=0, **others)


def mnist(options, console):
    X, y, X_test, y_test = plain_rows("mnist")
    X = on_device(X)
    out = table("MNIST, ten classes, 60 000 rows, squared hinge", "s", "dtype", "error %", "s", "GiB", "steps")
    for s in options.landmarks or (1024, 8192, 16_384, 32_768):
        for dtype in ("float32", "tf32"):
            model = _machine(s, 0.02, 10.0, loss="squared_hinge", dtype=dtype)
            seconds, peak = steady_fit(model, X, y)
            numbers = (f"{error(model, X_test, y_test):.2f}", f"{seconds:.3f}", f"{peak:.1f}", str(model.n_iter_))
            out.add_row(str(s), dtype, *numbers)
    return out


def many(options, console):
    X_test, y_test = load("mnist", "test")
    out = table(
        "Shifted digits, bytes, ten classes, s=4096, squared hinge",
        "rows",
        "dtype",
        "from",
        "error %",
        "s",
        "GiB",
        "steps",
    )
    gamma = 0.02 / 255**2
    for n_rows in (2_040_000, 8_000_000):
        X, y = shifted_digits(n_rows)
        cases = [("float32", None), ("tf32", None)] if n_rows < 4_000_000 else [("tf32", None), ("tf32", "15GB")]
        if n_rows > 4_000_000:
            X = X.cpu().numpy()
        for dtype, limit in cases:
            model = _machine(4096, gamma, 10.0, loss="squared_hinge", dtype=dtype, memory_limit=limit)
            seconds, peak = timed_fit(model, X, y)
            where = "device" if n_rows < 4_000_000 else "host, once" if limit is None else "host, in every pass"
            numbers = (f"{error(model, X_test, y_test):.2f}", f"{seconds:.2f}", f"{peak:.1f}", str(model.n_iter_))
            out.add_row(f"{n_rows:,}", dtype, where, *numbers)
            console.print(n_rows, dtype, where, *numbers)
        del X
    return out


def memory(options, console):
    X, y, X_test, y_test = covtype_rows()
    X = on_device(X)
    out = table(
        "Covertype, kernel values stored and computed again", "s", "memory_limit", "dtype", "error %", "s", "GiB"
    )
    timed_fit(_machine(256, 1.0, 3.0), X[:50_000], y[:50_000])
    for s, limit, dtype in (
        (4096, None, "float32"),
        (4096, None, "float16"),
        (4096, "6GB", "float32"),
        (16_384, "40GB", "float32"),
    ):
        model = _machine(s, 8.0, 30.0, memory_limit=limit, dtype=dtype)
        seconds, peak = timed_fit(model, X, y)
        out.add_row(str(s), str(limit), dtype, f"{error(model, X_test, y_test):.2f}", f"{seconds:.2f}", f"{peak:.1f}")
    return out


def profile(options, console):
    from torch.profiler import ProfilerActivity
    from torch.profiler import profile as profiled

    X, y, _, _ = covtype_rows()
    X = on_device(X)
    timed_fit(_machine(4096, 8.0, 30.0), X, y)
    with profiled(activities=[ProfilerActivity.CUDA]) as watched:
        timed_fit(_machine(4096, 8.0, 30.0), X, y)
    events = [each for each in watched.key_averages() if each.self_device_time_total > 0]
    total = sum(each.self_device_time_total for each in events)
    out = table(f"Covertype, s=4096: {total / 1e6:.3f} s of kernels", "kernel", "share %", "calls")
    products = sum(each.self_device_time_total for each in events if _is_product(each.key))
    out.add_row("matrix products, all", f"{100 * products / total:.1f}", "")
    for each in sorted(events, key=lambda each: -each.self_device_time_total)[:12]:
        out.add_row(each.key[:70], f"{100 * each.self_device_time_total / total:.1f}", str(each.count))
    return out


def _is_product(name):
    return any(word in name.lower() for word in ("gemm", "gemv", "splitk", "cutlass", "trsm"))


def predict(options, console):
    X, y, *_ = plain_rows("mnist")
    out = table(
        "Decision values of a kernel expansion, rows per second", "model", "vectors", "CPU", "GPU", "difference"
    )
    model = BSGDClassifier(budget=2000, gamma=0.02, alpha=1e-5, random_state=0).fit(X[:10_000], y[:10_000])
    values, rates = {}, {}
    for device in (None, "cuda"):
        model.decision_function(X[:1000], device=device)
        start = time.perf_counter()
        values[device] = model.decision_function(X, device=device)
        rates[device] = len(X) / (time.perf_counter() - start)
    gap = np.abs(values[None] - values["cuda"]).max() / np.abs(values[None]).max()
    out.add_row("BSGD", str(len(model.support_vectors_)), f"{rates[None]:,.0f}", f"{rates['cuda']:,.0f}", f"{gap:.1e}")
    return out


if __name__ == "__main__":
    main()
