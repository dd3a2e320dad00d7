"""``frugalsvm train --dask``: files that match a pattern, learned on a Dask cluster."""

from contextlib import contextmanager
from pathlib import Path
from typing import Any

from frugalsvm.cli.catalogue import maintenance_for, quantile_settings
from frugalsvm.cli.console import tell
from frugalsvm.cli.errors import in_flags, leaving_as_it_was
from frugalsvm.cli.options import Request, TrainOptions
from frugalsvm.cli.words.outcome import Outcome

_ANOMALIES = 0.01  # share of rows, if --nu is not given
_LOOPBACK = "127.0.0.1"  # workers on this machine, and their dashboard, are for this machine only
_TLS = ("ca", "cert", "key")  # PEM files: who signed the certificates, the certificate of this client, and its key


def train_dask(request: Request) -> Outcome:
    """Train on a cluster and write the ordinary pipeline to a file."""
    try:
        from frugalsvm.dask import DaskPipeline
    except ImportError as error:
        raise ImportError(
            f"--dask needs {error.name}, which is not installed: pip install 'frugalsvm[dask]'."
        ) from error
    from frugalsvm.cli.io.dask_table import read_table
    from frugalsvm.pipelines import ColumnEncoder

    data, options, flags, quiet = request.data, request.options, request.flags, request.quiet
    of_numbers = _learns_numbers(options, flags["task"])
    estimator = _estimator(options, flags["c"], of_numbers=of_numbers)
    labels = None if options.algorithm == "one-class" else "numbers" if of_numbers else "classes"
    with leaving_as_it_was(request.output), _client(flags) as client:
        if not quiet and "dashboard" in client.scheduler_info()["services"]:  # schedulers may do without
            tell(f"Dask dashboard: {client.dashboard_link}")
        table = read_table(data, labels=labels)
        for note in () if quiet else table.notes:
            tell(f"note: {in_flags(note)}")
        if table.doubt is not None:
            tell(f"warning: {in_flags(table.doubt)}")
        model = DaskPipeline(
            estimator.set_params(client=client),
            scale=_scale(options, table.first),
            encoder=ColumnEncoder() if table.has_text else None,
            impute=data.imputes,
        ).fit(table.X, table.y, callback=None if quiet else _tell_round)
        return _saved(model, request._replace(data=data._replace(columns=table.columns)))


def _learns_numbers(options: TrainOptions, task: str) -> bool:
    """Whether numbers are learned: losses and quantiles are for them."""
    if task == "classification" or (task == "auto" and options.loss is None):
        return False
    if options.calibrate:
        raise ValueError("--calibrate is for classes, and numbers are learned here: leave it out.")
    return True


def _scale(options: TrainOptions, first: Any) -> bool | str:
    """The ``scale`` of a pipeline, by the first rows."""
    from frugalsvm.pipelines.first_rows import chosen_scale
    from frugalsvm.pipelines.frames import split_frame

    X = split_frame(first)[0]
    return bool(X.shape[1]) and chosen_scale(options.scale, X)


def _estimator(options: TrainOptions, C: float | None, *, of_numbers: bool) -> Any:
    """The estimator for flags; what was not given is chosen on a sample of the rows."""
    from frugalsvm.dask import DaskASSETClassifier, DaskASSETOneClassSVM, DaskASSETRegressor, DaskBSGDClassifier

    settings: dict[str, Any] = {"kernel": options.kernel, "random_state": options.seed, "metric": options.metric}
    settings["gamma"] = "auto" if options.gamma is None else options.gamma
    if options.algorithm == "bsgd":
        settings |= maintenance_for(options.kernel) | ({"calibrate": "platt"} if options.calibrate else {})
        settings["alpha"] = "auto" if options.strength is None else options.strength
        return DaskBSGDClassifier(budget=options.budget, **settings)
    settings |= {} if options.budget is None else {"n_components": options.budget}
    if options.algorithm == "one-class":
        del settings["metric"]
        settings["gamma"] = options.gamma or "scale"  # there are no labels to choose by
        return DaskASSETOneClassSVM(_ANOMALIES if options.nu is None else options.nu, **settings)
    settings |= {"alpha": options.strength} if C is None else {"C": C}
    if of_numbers:
        settings |= {} if options.loss is None else {"loss": options.loss}
        return DaskASSETRegressor(**settings, **quantile_settings(options.quantile))
    if C is None and options.strength is None:
        settings["C"] = "auto"
    return DaskASSETClassifier(calibrate="platt" if options.calibrate else None, **settings)


def _saved(model: Any, request: Request) -> Outcome:
    """The model as a file, and what to tell of it."""
    from frugalsvm.persist import save

    local, options = model.to_local(), request.options
    vars(local).pop("feature_names_in_", None)  # the other commands read numbers without names
    machine, last = local.estimator_, model.estimator_.history_[-1]
    judged = {f"validation_{name}": last[name] for name in _qualities(last)}
    figures = {"rounds": model.n_iter_, **judged, "gamma": machine.gamma_}
    chosen = {"algorithm": options.algorithm, "kernel": machine.kernel, "gamma": machine.gamma_, "scale": local.scale}
    chosen |= {"strength": getattr(machine, "alpha_", options.strength), "budget": options.budget}
    chosen |= {"C": _C_of(machine, options), "metric": options.metric}
    n_rows = int(machine.t_)
    # `--resume` tells by the driver that there is no row to resume from
    training = {"driver": "dask", "finished": True, "examples": n_rows, **figures, "chosen": chosen}
    save(local, request.output, metadata={"training": {**training, "data": request.data._asdict()}})
    return Outcome(request.output, n_rows, chosen, figures)


def _C_of(machine: Any, options: TrainOptions) -> float | None:
    """The C of a low-rank machine that has no alpha."""
    C = getattr(machine, "C_", getattr(machine, "C", None))
    return None if options.strength is not None or isinstance(C, str) else C


def _qualities(figures: dict[str, Any]) -> list[str]:
    """What validation rows tell in a round."""
    return [name for name in ("accuracy", "score") if name in figures]


@contextmanager
def _client(flags: dict[str, Any]):
    """A client of a cluster: at ``tcp://host:port``, at ``tls://host:port``, or of ``local:N`` processes here."""
    from distributed import Client, LocalCluster

    address, tls = flags["dask"], {name: flags[f"dask_tls_{name}"] for name in _TLS}
    kind, _, number = address.partition(":")
    if kind == "local":
        if not number.isdigit() or int(number) < 1:
            raise ValueError(f"--dask {address}: after local: comes the number of worker processes, as in local:4.")
        if any(tls.values()):
            raise ValueError(f"--dask {address} starts its own workers: --dask-tls-... are for a scheduler elsewhere.")
        addresses = dict.fromkeys(("dashboard_address", "worker_dashboard_address"), f"{_LOOPBACK}:0")
        cluster = LocalCluster(n_workers=int(number), threads_per_worker=1, host=_LOOPBACK, **addresses)
        with cluster, Client(cluster) as client:
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


def _security(address: str, tls: dict[str, Path | None]) -> Any:
    """How to speak to a scheduler; None is in the open."""
    if not address.startswith("tls://"):
        if any(tls.values()):
            raise ValueError(f"--dask {address}: --dask-tls-... are for addresses that begin with tls://.")
        return None
    for name, path in tls.items():
        flag = f"--dask-tls-{name}"
        if path is None:
            raise ValueError(
                f"--dask {address}: TLS needs --dask-tls-ca, --dask-tls-cert and --dask-tls-key; {flag} is missing."
            )
        if not path.is_file():
            raise ValueError(f"{flag} {path}: there is no such file.")
    from distributed.security import Security

    files = {"tls_ca_file": tls["ca"], "tls_client_cert": tls["cert"], "tls_client_key": tls["key"]}
    return Security(require_encryption=True, **{name: str(path) for name, path in files.items()})


def _tell_round(figures: dict[str, Any]) -> None:
    """A line for each round."""
    judged = _qualities(figures)
    words = [f"validation accuracy {100 * figures[name]:.2f} %" for name in judged if name == "accuracy"]
    words += [f"validation score {figures[name]:.4f}" for name in judged if name != "accuracy"]
    words += [f"{name} {value:.4g}" for name, value in figures.items() if name not in ("round", *judged)]
    tell(f"round {figures['round']}: {', '.join(words)}")
