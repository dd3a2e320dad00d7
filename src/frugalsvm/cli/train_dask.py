"""``frugalsvm train --dask``: files that match a pattern, learned on a Dask cluster."""

from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from frugalsvm.cli.console import tell
from frugalsvm.cli.outcome import Outcome

__all__ = ["TlsFiles", "train_dask"]

_ALGORITHMS = ("asset", "bsgd")
_LOOPBACK = "127.0.0.1"  # workers on this machine, and their dashboard, are for this machine only
_READERS = {".parquet": "read_parquet", ".pq": "read_parquet", ".csv": "read_csv", ".tsv": "read_csv"}


class TlsFiles(NamedTuple):
    """PEM files for a scheduler that speaks TLS: who signed the certificates, and the certificate of this client."""

    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None


def train_dask(
    address: str,
    source: str,
    label: str | None,
    algorithm: str,
    settings: dict[str, Any],
    output: Path,
    *,
    delimiter: str | None = None,
    tls: TlsFiles = TlsFiles(),  # noqa: B008 - it is immutable
    quiet: bool = False,
) -> Outcome:
    """Train on a cluster and write the ordinary estimator to a file.

    Parameters
    ----------
    address : str
        ``tcp://host:port`` or ``tls://host:port`` of a scheduler, or ``local:N`` for N worker processes here.
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
    tls : TlsFiles, default=TlsFiles()
        For an address that begins with ``tls://``.
    quiet : bool, default=False

    Returns
    -------
    Outcome
    """
    try:
        from frugalsvm.dask import DaskASSETClassifier, DaskBSGDClassifier
    except ImportError as error:
        raise ImportError(
            f"--dask needs {error.name}, which is not installed: pip install 'frugalsvm[dask]'."
        ) from error
    from frugalsvm.persist import save

    if algorithm not in _ALGORITHMS:
        raise ValueError(f"--dask is for the algorithms {' and '.join(_ALGORITHMS)}, not for {algorithm!r}.")
    settings = {name: value for name, value in settings.items() if value is not None}
    if algorithm == "asset" and "budget" in settings:
        settings["n_components"] = settings.pop("budget")
    estimator = {"asset": DaskASSETClassifier, "bsgd": DaskBSGDClassifier}[algorithm]
    with _client(address, tls) as client:
        if not quiet:
            tell(f"Dask dashboard: {client.dashboard_link}")
        X, y = _table(source, label, delimiter)
        model = estimator(**settings, client=client).fit(X, y, callback=None if quiet else _tell_round)
    local = model.to_local()
    vars(local).pop("feature_names_in_", None)  # the other commands read numbers without names
    examples = int(local.t_)
    accuracy = model.history_[-1]["accuracy"]
    figures = {"rounds": model.n_iter_, "validation_accuracy": accuracy, "gamma": local.gamma_}
    # `--resume` tells by this that there is no row to resume from.
    training = {"driver": "dask", "finished": True, "examples": examples, **figures}
    save(local, output, metadata={"training": training})
    chosen = {"algorithm": algorithm, "kernel": local.kernel, "gamma": local.gamma_, "scale": False}
    chosen |= {
        "strength": settings.get("alpha"),
        "budget": settings.get("n_components", settings.get("budget")),
        "C": settings.get("C"),
        "metric": settings.get("metric"),
    }
    return Outcome(output, examples, chosen, figures)


@contextmanager
def _client(address: str, tls: TlsFiles):
    from distributed import Client, LocalCluster

    kind, _, number = address.partition(":")
    if kind == "local":
        if not number.isdigit() or int(number) < 1:
            raise ValueError(f"--dask {address}: after local: comes the number of worker processes, as in local:4.")
        if any(tls):
            raise ValueError(f"--dask {address} starts its own workers: --dask-tls-... are for a scheduler elsewhere.")
        with (
            LocalCluster(
                n_workers=int(number),
                threads_per_worker=1,
                host=_LOOPBACK,
                dashboard_address=f"{_LOOPBACK}:0",
                worker_dashboard_address=f"{_LOOPBACK}:0",
            ) as cluster,
            Client(cluster) as client,
        ):
            yield client
        return
    if "://" not in address:
        raise ValueError(f"--dask {address}: give the address of a scheduler, tcp://host:port, or local:N.")
    security = _security(address, tls)
    try:
        client = Client(address, timeout="10s", security=security)
    except OSError as error:
        raise OSError(f"--dask {address}: no scheduler answers there ({error}).") from error
    with client:
        yield client


def _security(address: str, tls: TlsFiles) -> Any:
    """How to speak to a scheduler; None is in the open."""
    flags = {"--dask-tls-ca": tls.ca, "--dask-tls-cert": tls.cert, "--dask-tls-key": tls.key}
    if not address.startswith("tls://"):
        if any(tls):
            raise ValueError(f"--dask {address}: --dask-tls-... are for addresses that begin with tls://.")
        return None
    for flag, path in flags.items():
        if path is None:
            raise ValueError(
                f"--dask {address}: TLS needs --dask-tls-ca, --dask-tls-cert and --dask-tls-key; {flag} is missing."
            )
        if not path.is_file():
            raise ValueError(f"{flag} {path}: there is no such file.")
    from distributed.security import Security

    return Security(
        tls_ca_file=str(tls.ca), tls_client_cert=str(tls.cert), tls_client_key=str(tls.key), require_encryption=True
    )


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
    tell(", ".join([f"round {figures['round']}: validation accuracy {100 * figures['accuracy']:.2f} %", *others]))
