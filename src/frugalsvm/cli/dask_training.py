"""``frugalsvm train --dask``: files that match a pattern, learned on a Dask cluster."""

from contextlib import contextmanager
from pathlib import Path
from typing import Any

from frugalsvm.cli.showing import tell

__all__ = ["train_on_dask"]

_ALGORITHMS = ("asset", "bsgd")
_READERS = {".parquet": "read_parquet", ".pq": "read_parquet", ".csv": "read_csv", ".tsv": "read_csv"}


def train_on_dask(
    address: str,
    source: str,
    label: str | None,
    algorithm: str,
    settings: dict[str, Any],
    output: Path,
    *,
    delimiter: str | None = None,
    quiet: bool = False,
) -> dict[str, Any]:
    """Train on a cluster and write the ordinary estimator to a file.

    Parameters
    ----------
    address : str
        ``tcp://host:port`` of a scheduler, or ``local:N`` for N worker processes on this machine.
    source : str
        Parquet or CSV files: a pattern such as ``data/*.parquet``, or one file.
    label : str or None
        Column of the labels; None is the last one.
    algorithm : {"asset", "bsgd"}
    settings : dict
        Parameters of the estimator; those that are None stay at their defaults.
    output : Path
    delimiter : str, default=None
        Between the fields of CSV.
    quiet : bool, default=False

    Returns
    -------
    dict
        What to print.
    """
    from frugalsvm.dask import DaskASSETClassifier, DaskBSGDClassifier
    from frugalsvm.persist import save
    from frugalsvm.persist.atomic import check_writable

    if algorithm not in _ALGORITHMS:
        raise ValueError(f"--dask is for the algorithms {' and '.join(_ALGORITHMS)}, not for {algorithm!r}.")
    check_writable(output)
    settings = {name: value for name, value in settings.items() if value is not None}
    if algorithm == "asset" and "budget" in settings:
        settings["n_components"] = settings.pop("budget")
    estimator = {"asset": DaskASSETClassifier, "bsgd": DaskBSGDClassifier}[algorithm]
    with _client(address) as client:
        if not quiet:
            tell(f"Dask dashboard: {client.dashboard_link}")
        X, y = _table(source, label, delimiter)
        model = estimator(**settings, client=client).fit(X, y, callback=None if quiet else _tell_round)
    local = model.to_local()
    vars(local).pop("feature_names_in_", None)  # the other commands read numbers without names
    save(local, output)
    return {
        "output": str(output),
        "examples": int(local.t_),
        "rounds": model.n_iter_,
        "held_accuracy": model.history_[-1]["accuracy"],
        "gamma": local.gamma_,
        "bytes": output.stat().st_size,
    }


@contextmanager
def _client(address: str):
    from distributed import Client, LocalCluster

    kind, _, number = address.partition(":")
    if kind == "local":
        if not number.isdigit() or int(number) < 1:
            raise ValueError(f"--dask {address}: after local: comes the number of worker processes, as in local:4.")
        with (
            LocalCluster(n_workers=int(number), threads_per_worker=1, dashboard_address=":0") as cluster,
            Client(cluster) as client,
        ):
            yield client
        return
    if "://" not in address:
        raise ValueError(f"--dask {address}: give the address of a scheduler, tcp://host:port, or local:N.")
    try:
        client = Client(address, timeout="10s")
    except OSError as error:
        raise OSError(f"--dask {address}: no scheduler answers there ({error}).") from error
    with client:
        yield client


def _table(source: str, label: str | None, delimiter: str | None) -> tuple[Any, Any]:
    """Rows and labels of all files, read when they are needed."""
    import dask.dataframe as dd

    suffix = Path(source.rstrip("*")).suffix.lower()
    if suffix not in _READERS:
        raise ValueError(f"{source}: --dask reads files that end with {', '.join(sorted(_READERS))}.")
    options = {}
    if _READERS[suffix] == "read_csv" and (delimiter is not None or suffix == ".tsv"):
        options["sep"] = delimiter or "\t"
    frame = getattr(dd, _READERS[suffix])(source, **options)
    names = list(frame.columns)
    name = names[-1] if label is None else names[int(label)] if label.lstrip("-").isdigit() else label
    if name not in names:
        raise ValueError(f"{source} has no column {name!r}; its columns are {', '.join(map(str, names))}.")
    return frame.drop(columns=name), frame[name]


def _tell_round(figures: dict[str, Any]) -> None:
    """A line for each round."""
    others = [f"{name} {value:.4g}" for name, value in figures.items() if name not in ("round", "accuracy")]
    tell(", ".join([f"round {figures['round']}: held accuracy {100 * figures['accuracy']:.2f} %", *others]))
