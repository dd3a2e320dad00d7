"""``frugalsvm train --dask``."""

import os
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("distributed")
pytest.importorskip("typer")
pd = pytest.importorskip("pandas")

from distributed import LocalCluster  # noqa: E402
from distributed.security import Security  # noqa: E402

from frugalsvm import load  # noqa: E402
from frugalsvm.cli.commands.train_dask import _client, train_dask  # noqa: E402
from frugalsvm.cli.options import Request, TrainOptions  # noqa: E402
from frugalsvm.datasets import make_checkerboard  # noqa: E402
from frugalsvm.persist import describe  # noqa: E402
from frugalsvm.pipelines.reading import DataOptions  # noqa: E402

SETTINGS = TrainOptions(budget=50, gamma=8.0, scale="no")


def flags(address, **tls):
    """Flags of ``--dask``, with the files of TLS."""
    files = {f"dask_tls_{name}": tls.get(name) for name in ("ca", "cert", "key")}
    return {"dask": address, "c": None, "task": "auto", **files}


@pytest.fixture
def files(tmp_path):
    X, y = make_checkerboard(3000, random_state=0)
    for number in range(3):
        part = slice(1000 * number, 1000 * (number + 1))
        frame = pd.DataFrame({"a": X[part, 0], "label": y[part], "b": X[part, 1]})
        frame.to_csv(tmp_path / f"part-{number}.csv", index=False)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["asset", "bsgd"])
def test_files_become_a_model(files, algorithm, capsys):
    output = files / "model.frugal"
    data, settings = DataOptions(str(files / "*.csv"), label="label"), SETTINGS._replace(algorithm=algorithm)
    told = train_dask(Request(data, settings, output, flags("local:2"))).results()
    X, y = make_checkerboard(3000, random_state=0)
    model = load(output)
    assert np.mean(model.predict(pd.DataFrame({"a": X[:, 0], "b": X[:, 1]})) == y) > 0.8
    assert told["bytes"] == output.stat().st_size
    shown = capsys.readouterr().err
    assert "Dask dashboard: http" in shown
    assert f"round {told['rounds']}: validation accuracy" in shown
    training = describe(output).metadata["training"]
    assert (training["driver"], training["examples"]) == ("dask", told["examples"])


@pytest.mark.parametrize(
    ("address", "message"),
    [("local:none", "number of worker processes"), ("somewhere", "address of a scheduler")],
)
def test_what_is_wrong_is_told(files, address, message):
    with pytest.raises(ValueError, match=message):
        train_dask(Request(DataOptions(str(files)), SETTINGS, files / "model.frugal", flags(address), quiet=True))


def listening_addresses(processes):
    """The addresses at which these processes listen, by Linux's tables."""
    sockets = set()
    for process in processes:
        for entry in Path(f"/proc/{process}/fd").iterdir():
            with suppress(OSError):
                sockets.add(os.readlink(entry))
    found = set()
    for name in ("tcp", "tcp6"):
        for line in Path(f"/proc/self/net/{name}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in sockets:
                found.add(fields[1].rpartition(":")[0])
    return found


@pytest.mark.skipif(not os.path.exists("/proc/self/net/tcp"), reason="reads the tables of Linux")
def test_a_local_cluster_listens_on_loopback_only():
    with _client(flags("local:1")) as client:
        assert client.dashboard_link.startswith("http://127.0.0.1:")
        processes = [os.getpid(), *client.run(os.getpid).values()]
        found = listening_addresses(processes)
    assert found == {"0100007F"}  # 127.0.0.1


@pytest.fixture(scope="module")
def tls(tmp_path_factory):
    """A certificate that signs itself, and its key."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("there is no openssl here")
    folder = tmp_path_factory.mktemp("tls")
    cert, key = folder / "cert.pem", folder / "key.pem"
    command = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    subprocess.run([*command, "-keyout", key, "-out", cert], check=True, capture_output=True)
    return {"ca": cert, "cert": cert, "key": key}


def test_a_scheduler_that_speaks_tls(tls):
    roles = {
        f"tls_{role}_{what}": str(path)
        for role in ("scheduler", "worker", "client")
        for what, path in (("cert", tls["cert"]), ("key", tls["key"]))
    }
    security = Security(tls_ca_file=str(tls["ca"]), require_encryption=True, **roles)
    settings = {"processes": False, "dashboard_address": None, "host": "127.0.0.1", "protocol": "tls://"}
    with LocalCluster(n_workers=1, threads_per_worker=1, security=security, **settings) as cluster:
        with _client(flags(cluster.scheduler_address, **tls)) as client:
            assert client.submit(sum, [1, 2, 3]).result() == 6
        with (
            pytest.raises(ValueError, match="--dask-tls-ca is missing"),
            _client(flags(cluster.scheduler_address)),
        ):
            pass


def test_wrong_files_for_tls(tls, tmp_path):
    for address, files, words in (
        ("tls://127.0.0.1:1", {**tls, "key": None}, "--dask-tls-key is missing"),
        (
            "tls://127.0.0.1:1",
            {**tls, "cert": tmp_path / "no.pem"},
            r"--dask-tls-cert .*no\.pem: there is no such file",
        ),
        ("tcp://127.0.0.1:1", tls, "for addresses that begin with tls://"),
        ("local:1", tls, "starts its own workers"),
    ):
        with pytest.raises(ValueError, match=words), _client(flags(address, **files)):
            pass
