"""Flags that would have no effect are refused: the table of flag, driver and algorithm, gone through."""

import json

import numpy as np
import pytest
import typer.main
from typer.testing import CliRunner

from frugalsvm.cli import catalogue
from frugalsvm.cli.app import app
from frugalsvm.cli.catalogue import ALGORITHMS, AUTO, CATALOGUE, L1_KERNELS
from frugalsvm.cli.commands.train_stream import checkpoint_schedule
from frugalsvm.cli.flag_rules import DRIVERS, TABLE, applies, flag_named, has_driver, refusal
from frugalsvm.core.capabilities import offers
from frugalsvm.core.kernels import KERNELS
from frugalsvm.pipelines.prequential import CheckpointSchedule

# A value for each flag that takes one
VALUES = {
    "budget": 20,
    "kernel": "linear",
    "gamma": 1.0,
    "alpha": 1e-3,
    "c": 1.0,
    "metric": "auto",
    "loss": "huber",
    "quantile": "0.1,0.9",
    "nu": 0.3,
    "alarm_rate": 0.02,
    "half_life": "auto",
    "scale": "no",
    "passes": 2,
    "shuffle_buffer": 100,
    "classes": "0,1",
    "checkpoint_every": "100",
    "format": "csv",
    "label": "y",
    "on_bad_line": "skip",
    "header": "yes",
    "delimiter": ";",
    "features": 3,
    "hash_features": 64,
    "decimal": ",",
    "thousands": ".",
    "categorical": "a",
    "ignore": "b",
    "missing": "mean",
    "shuffle": "yes",
    "seed": 1,
    "time_budget": "60s",
    "task": "classification",
    "dask_tls_ca": "ca.pem",
    "dask_tls_cert": "cert.pem",
    "dask_tls_key": "key.pem",
}
SWITCHES = ("calibrate", "prequential", "resume", "changed_data", "as_json", "quiet")
OF_DRIVERS = {"stream": [], "auto": [], "device": ["--device", "cpu"], "dask": ["--dask", "nonsense"]}
ALWAYS = {"data", "output", "algorithm", "config", "device", "dask"}  # they choose, or are in every command here


def invoke(*arguments):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def parameters():
    return {each.name for each in typer.main.get_command(app).commands["train"].params}


def words(flag):
    return [flag_named(flag)] if flag in SWITCHES else [flag_named(flag), VALUES[flag]]


def algorithms_of(driver):
    """Those that the flags of a driver lead to it, or to a refusal."""
    streaming = [name for name, algorithm in CATALOGUE.items() if algorithm.streams]
    return {"auto": [AUTO], "dask": list(ALGORITHMS), "stream": streaming}.get(driver, list(CATALOGUE))


def test_the_table_has_all_flags():
    assert set(TABLE) == parameters()
    assert set(VALUES) | set(SWITCHES) | ALWAYS == parameters()


@pytest.mark.parametrize("flag", sorted({*VALUES, *SWITCHES}))
@pytest.mark.parametrize("driver", DRIVERS)
def test_a_flag_has_an_effect_or_is_refused(driver, flag, tmp_path):
    """There is no data: flags are looked at first, and where they are right the data are missed."""
    others = ["--resume"] if flag == "changed_data" else []
    for algorithm in algorithms_of(driver):
        command = ["train", tmp_path / "nowhere.csv", "-o", tmp_path / "m.frugal", "-a", algorithm, *OF_DRIVERS[driver]]
        result = invoke(*command, *words(flag), *others)
        if applies(flag, driver, algorithm) and not (flag == "missing" and algorithm == AUTO):  # with means
            assert result.exit_code != 2, result.output
        else:
            assert result.exit_code == 2, (algorithm, result.output)
            told = result.output.split("Error: ")[1]
            refused_driver = driver != "stream" and not has_driver(driver, algorithm)
            assert (f"--{driver}" if refused_driver else flag_named(flag)) in told
            assert algorithm in told or "auto" in told or "--dask" in told or "--device" in told  # and the reason
    assert not list(tmp_path.iterdir())


def test_what_is_not_given_is_not_refused():
    for driver in DRIVERS:
        for algorithm in algorithms_of(driver):
            known = driver == "stream" or has_driver(driver, algorithm)
            assert (refusal([], driver, algorithm) is None) == known


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["-a", "lasvm", "--alpha", 1], "--alpha: lasvm does not use it: its regularization strength is --C."),
        (["-a", "bsgd", "--C", 1], "--C: bsgd does not use it: its regularization strength is --alpha."),
        (["-a", "perceptron", "--C", 1], "--C: perceptron does not use it: it has no such parameter."),
        (
            ["-a", "tvm", "--metric", "auto"],
            "--metric: tvm has none: leave it out, or choose one of bsgd, lasvm, lasvm-nc,",
        ),
        (["--metric", "whole"], "--metric: 'whole' is not one of auto, diag, full."),
        (
            ["-a", "bsgd", "--kernel", "laplacian", "--metric", "full"],
            "--metric full: --kernel laplacian adds up the distances of single features",
        ),
        (["-a", "lasvm", "--budget", 9], "--budget: lasvm keeps as many vectors as it needs"),
        (["--dask", "local:1", "--passes", 2], "--passes: with --dask the workers read the files"),
        (["--dask", "local:1", "--passes", 2], "rounds end by themselves, so leave it out."),
        (["--dask", "local:1", "-a", "bsgd-regressor"], "`-a asset --task regression` learns numbers there."),
        (["--dask", "local:1", "--on-bad-line", "skip"], "mend such lines first, or train without --dask."),
        (["--dask-tls-ca", "x"], "--dask-tls-ca: it is for training with --dask: leave it out."),
        (["-a", "asset", "--device", "cpu", "--alpha", 1, "--C", 1], "--alpha: give --alpha or --C, not both."),
        (["-a", "local", "--budget", 9], "--budget: local keeps as many vectors as it needs"),
        (["-a", "local", "--passes", 2], "--passes: local learns all rows at once: leave it out."),
        (["-a", "local", "--alpha", 1], "--alpha: local does not use it: its regularization strength is --C."),
        (["--gamma", -1], "--gamma: -1 is not a number above 0."),
        (["-a", "lasvm", "--C", "inf"], "--C: inf is not a number above 0."),
        (["--budget", 0], "--budget"),
        (["--changed-data"], "--changed-data: it needs --resume."),
    ],
)
def test_words(flags, told, tmp_path):
    result = invoke("train", tmp_path / "nowhere.csv", "-o", tmp_path / "m.frugal", *flags)
    assert result.exit_code == 2
    assert told in " ".join(result.output.split())


class TestFilesOfFlags:
    def test_count_as_given(self, tmp_path):
        config = tmp_path / "flags.toml"
        config.write_text("C = 3.0\n")
        result = invoke("train", tmp_path / "nowhere.csv", "--config", config)
        assert result.exit_code == 2
        assert "--C" in result.output
        # What the command line says goes before what the file says, and then the file has given nothing else.
        config.write_text('algorithm = "lasvm"\n')
        assert invoke("train", tmp_path / "nowhere.csv", "--config", config, "--C", 1).exit_code == 3
        assert invoke("train", tmp_path / "nowhere.csv", "--config", config, "-a", "bsgd", "--C", 1).exit_code == 2

    @pytest.mark.parametrize("text", ["checkpoint-every = 5", "checkpoint_every = 5", "json = true", "quiet = true"])
    def test_names_are_those_of_the_command_line(self, tmp_path, text):
        config = tmp_path / "flags.toml"
        config.write_text(text)
        assert invoke("train", tmp_path / "nowhere.csv", "--config", config).exit_code == 3  # no data

    @pytest.mark.parametrize(
        ("text", "told"),
        [
            ('budget = "many"', "budget = 'many': "),
            ("passes = 0", "passes = 0: "),
            ("resume = 1", "resume = 1 should be true or false"),
            ("gamma = [1.0, 2.0]", "should be one value"),
            ("colour = 3", "'colour' is not a flag of this command"),
            ("gamma = ", "is not TOML"),
        ],
    )
    def test_what_is_wrong_is_told(self, tmp_path, text, told):
        config = tmp_path / "flags.toml"
        config.write_text(text)
        result = invoke("train", tmp_path / "nowhere.csv", "--config", config)
        assert result.exit_code == 3
        assert told in result.output
        assert "flags.toml" in result.output


@pytest.mark.slow
def test_tune_writes_what_train_takes(tmp_path):
    """For every kind of algorithm: with a budget, without one, and without a regularization strength."""
    data = tmp_path / "rows.csv"
    data.write_text("\n".join(["a,b,y", *(f"{i % 7},{i % 5},{i % 7 > i % 5:d}" for i in range(200))]) + "\n")
    for algorithm in ("lasvm", "perceptron"):
        best = tmp_path / f"{algorithm}.toml"
        told = json.loads(invoke("tune", data, "-a", algorithm, "-o", best, "--json").stdout)
        assert ("budget" in told["best"]) == (algorithm == "perceptron")
        assert invoke("train", data, "--config", best, "-o", tmp_path / "m.frugal", "-q").exit_code == 0
    assert invoke("tune", data, "-a", "lasvm", "--budget", 20).exit_code == 2


def test_kernels_of_the_command_line_are_those_of_the_registry():
    assert sorted(catalogue.KERNELS) == sorted(KERNELS)
    assert {name for name, kernel in KERNELS.items() if "gamma" not in kernel._fields} == set(catalogue.WITHOUT_GAMMA)
    unscaled = {name for name in KERNELS if catalogue.scale_for(name, "auto") == "no"}
    assert {name for name, kernel in KERNELS.items() if offers(kernel, "nonnegative")} <= unscaled
    assert {catalogue.scale_for(name, "yes") for name in KERNELS} == {"yes"}


def test_kernels_of_which_no_matrix_changes_the_distances():
    assert {name for name, kernel in KERNELS.items() if offers(kernel, "l1")} == set(L1_KERNELS)


@pytest.mark.parametrize(
    ("text", "schedule"),
    [
        ("100000", CheckpointSchedule(rows=100_000)),
        ("1e6", CheckpointSchedule(rows=1_000_000)),
        ("30s", CheckpointSchedule(seconds=30.0)),
        ("5m", CheckpointSchedule(seconds=300.0)),
        ("2h", CheckpointSchedule(seconds=7200.0)),
        (None, CheckpointSchedule()),
    ],
)
def test_when_checkpoints_are_due(text, schedule):
    assert checkpoint_schedule(text) == schedule


@pytest.mark.parametrize("text", ["", "0", "-5", "0s", "soon", "5 weeks", "inf"])
def test_a_schedule_that_is_none(text):
    with pytest.raises(ValueError, match="--checkpoint-every"):
        checkpoint_schedule(text)


@pytest.mark.parametrize(("kernel", "has_gamma"), [("chi2", True), ("tanimoto", False)])
def test_kernels_of_counts_take_rows_as_they_are(tmp_path, kernel, has_gamma):
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=300)
    X = rng.poisson(np.where(y[:, None] == 1, [4, 3, 1], [1, 3, 4]))
    np.savetxt(tmp_path / "counts.csv", np.column_stack([X, y]), fmt="%d", delimiter=",", header="a,b,c,y", comments="")
    flags = ["-a", "asset", "--kernel", kernel, "--budget", "20"]  # which needs little machine code for a kernel
    train = ["train", str(tmp_path / "counts.csv"), *flags, "-o", str(tmp_path / "model.frugal")]
    result = CliRunner().invoke(app, train)
    assert result.exit_code == 0, result.output
    assert "features as they are" in result.output
    assert ("gamma" in result.output.split("model.frugal:")[1]) == has_gamma
    scaled = CliRunner().invoke(app, [*train, "--scale", "yes"])
    assert ("not negative" in scaled.output) == has_gamma
