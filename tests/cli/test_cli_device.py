"""``--device`` of the commands, and ``frugalsvm info``."""

import json
import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file
from typer.testing import CliRunner

import frugalsvm
from frugalsvm.arrays import namespace as device_arrays
from frugalsvm.cli.app import app
from frugalsvm.datasets import make_checkerboard
from frugalsvm.installation import EXTRAS
from frugalsvm.streams import batch

ASSET = ["-a", "asset", "--budget", "100", "--quiet"]


def invoke(*arguments, code=0):
    """Output of a command, and its errors as one line of words."""
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exit_code == code, (result.output, result.exception)
    return " ".join(result.output.replace("│", " ").split()) if code else result.output


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("data")
    for name, n, seed in (("train", 9_000, 0), ("test", 2_000, 1)):
        X, y = make_checkerboard(n, random_state=seed)
        dump_svmlight_file(X, y, str(made / f"{name}.libsvm"), zero_based=False)
        lines = [f"{a:.6g},{b:.6g},{'left' if a < 0 else 'right'},{label}" for (a, b), label in zip(X, y, strict=True)]
        (made / f"{name}.csv").write_text("\n".join(["a,b,side,label", *lines]) + "\n")
    return made


@pytest.fixture(scope="module")
def model(folder):
    path = folder / "whole.frugal"
    invoke("train", folder / "train.libsvm", *ASSET, "--device", "cpu", "-o", path)
    return path


@pytest.fixture
def torch():
    pytest.importorskip("array_api_compat")
    return pytest.importorskip("torch")


def accuracy(model, data, *flags):
    return json.loads(invoke("evaluate", model, data, "--json", *flags))["accuracy"]


class TestTrain:
    @pytest.mark.parametrize("device", ["cpu", "auto", "torch"])
    def test_all_rows_at_once(self, folder, tmp_path, device, request):
        if device == "torch":
            request.getfixturevalue("torch")
        output = tmp_path / "model.frugal"
        told = json.loads(invoke("train", folder / "train.libsvm", *ASSET, "--device", device, "-o", output, "--json"))
        assert told["examples"] == 9_000
        assert told["accuracy_before_learning"] is None
        chosen = told["chosen"]
        assert chosen["device"] == device
        assert chosen["C"] in (0.1, 1.0, 10.0, 100.0)
        assert chosen["validation_accuracy"] > 0.95
        assert accuracy(output, folder / "test.libsvm") > 0.95
        loaded = frugalsvm.load(output)
        assert loaded.estimator_.device == loaded.estimator.device == "cpu"
        assert loaded.estimator_.t_ == 9_000

    def test_given_parameters(self, folder, tmp_path):
        output, flags = tmp_path / "model.frugal", ["--gamma", 8, "--device", "cpu", "--json"]
        for strength in (["--C", 5], ["--alpha", 1e-5]):
            told = json.loads(invoke("train", folder / "test.libsvm", *ASSET, *flags, *strength, "-o", output))[
                "chosen"
            ]
            assert told["gamma"] == 8
            assert "validation_accuracy" not in told
            estimator = frugalsvm.load(output).estimator_
            assert estimator.gamma_ == 8
            assert (estimator.C, estimator.alpha) == ((5, None) if strength[0] == "--C" else ("auto", 1e-5))

    def test_text_calibration_and_words(self, folder, tmp_path):
        output = tmp_path / "model.frugal"
        flags = ["-a", "asset", "--budget", "80", "--gamma", "8", "--calibrate", "--device", "cpu"]
        said = invoke("train", folder / "train.csv", *flags, "-o", output)
        assert "C " in said
        assert accuracy(output, folder / "test.csv") > 0.9
        assert frugalsvm.load(output).calibration_.slope > 0

    def test_it_can_go_on_learning(self, folder, model):
        told = json.loads(invoke("evaluate", model, folder / "test.libsvm", "--prequential", "--json"))
        assert told["accuracy"] > 0.9

    def test_a_finished_file_is_not_resumed(self, folder, model):
        before = model.read_bytes()
        told = json.loads(invoke("train", folder / "train.libsvm", *ASSET, "--resume", "-o", model, "--json"))
        assert told["was_finished"]
        assert model.read_bytes() == before

    @pytest.mark.slow
    def test_a_pipe(self, folder, tmp_path):
        output = tmp_path / "model.frugal"
        command = [sys.executable, "-m", "frugalsvm.cli", "train", "-", *ASSET, "--device", "cpu", "-o", str(output)]
        with (folder / "train.libsvm").open("rb") as rows:
            subprocess.run(command, stdin=rows, check=True, timeout=300)
        assert accuracy(output, folder / "test.libsvm") > 0.95

    def test_more_rows_than_memory_holds(self, folder, tmp_path, monkeypatch):
        monkeypatch.setattr(batch, "_most_bytes", lambda share: 1000)
        output = tmp_path / "model.frugal"
        said = invoke("train", folder / "train.libsvm", *ASSET, "--device", "cpu", "-o", output, code=3)
        assert "more rows than memory can hold" in said
        assert "without --device" in said
        assert not output.exists()


class TestRefusals:
    @pytest.mark.parametrize(
        ("flags", "words"),
        [
            (["-a", "bsgd"], "bsgd learns one example after the other, on the CPU"),
            (["-a", "asset", "--passes", 2], "--passes is for streams"),
            (["-a", "asset", "--checkpoint-every", "100"], "--checkpoint-every is for streams"),
            (["-a", "asset", "--resume"], "--resume is for streams"),
            (["-a", "asset", "--classes", "1,2"], "--classes is for streams"),
            (["-a", "asset", "--C", 1, "--alpha", 1], "--alpha or --C, not both"),
        ],
    )
    def test_flags_that_do_not_go_together(self, folder, tmp_path, flags, words):
        output = tmp_path / "model.frugal"
        said = invoke("train", folder / "test.libsvm", *flags, "--device", "cuda", "-o", output, "-q", code=2)
        assert words in said
        assert not output.exists()

    def test_without_torch(self, folder, model, tmp_path, monkeypatch):
        monkeypatch.setattr(device_arrays, "find_spec", lambda name: None)
        for command in (
            ["train", folder / "train.libsvm", *ASSET, "-o", tmp_path / "model.frugal"],
            ["predict", model, folder / "test.libsvm"],
            ["evaluate", model, folder / "test.libsvm"],
        ):
            said = invoke(*command, "--device", "cuda", code=5)
            assert "pip install 'frugalsvm[torch]'" in said
        assert not (tmp_path / "model.frugal").exists()

    def test_wrong_names(self, folder, model):
        assert "not 'gpu'" in invoke("predict", model, folder / "test.libsvm", "--device", "gpu", code=3)


class TestPredict:
    @pytest.mark.parametrize("algorithm", ["asset", "bsgd", "lasvm"])
    def test_the_same_on_a_device(self, torch, folder, tmp_path, algorithm):
        output = tmp_path / "model.frugal"
        budget = [] if algorithm == "lasvm" else ["--budget", "50"]  # which has none
        invoke("train", folder / "test.libsvm", "-a", algorithm, "--gamma", 8, *budget, "-q", "-o", output)
        said = [
            invoke("predict", output, folder / "test.libsvm", "--scores", *flags)
            for flags in ([], ["--device", "cpu"], ["--device", "torch"])
        ]
        assert said[0] == said[1]
        scores = [np.array([float(line.split("\t")[1]) for line in text.splitlines()]) for text in said]
        np.testing.assert_allclose(scores[2], scores[0], atol=1e-4 * np.abs(scores[0]).max())
        accuracies = [accuracy(output, folder / "test.libsvm", *flags) for flags in ([], ["--device", "torch"])]
        assert accuracies[1] == pytest.approx(accuracies[0], abs=2e-3)

    def test_auto(self, folder, model):
        assert accuracy(model, folder / "test.libsvm", "--device", "auto") > 0.95


class TestInfo:
    def test_for_scripts(self):
        told = json.loads(invoke("info", "--json"))
        assert told["frugalsvm"] == frugalsvm.__version__
        assert set(told["packages"]) == {"numpy", "scipy", "scikit-learn", "numba"}
        assert told["packages"]["numpy"] == np.__version__
        assert set(told["extras"]) == set(EXTRAS)
        assert told["extras"]["cli"]["present"]
        assert {"cpu", "cuda"} <= set(told["devices"])
        assert told["threads"]["cores"] >= 1
        assert told["machine_code"] is None or told["machine_code"]["processor"]

    def test_for_people(self):
        said = invoke("info")
        for words in ("numba", "extra torch", "device cuda", "threads", "machine code"):
            assert words in said

    def test_what_is_missing(self, monkeypatch):
        monkeypatch.setattr("frugalsvm.installation.find_spec", lambda name: None)
        monkeypatch.setattr(device_arrays, "find_spec", lambda name: None)
        told = json.loads(invoke("info", "--json"))
        for name, extra in told["extras"].items():
            assert not extra["present"]
            assert extra["install"] == f"pip install 'frugalsvm[{name}]'"
        assert "pip install 'frugalsvm[torch]'" in " ".join(invoke("info").split())

    def test_extras_are_those_of_the_package(self):
        """All but those for developers."""
        import tomllib
        from pathlib import Path

        project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
        for_developers = {"dev", "docs", "test", "experiments", "benchopt", "comparison", "explainers"}
        assert set(EXTRAS) == set(project["optional-dependencies"]) - for_developers
