"""The command line, as people use it: files in, files out, sentences on the way."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file
from typer.testing import CliRunner

from frugalsvm.cli.app import app
from frugalsvm.cli.catalogue import KERNELS
from frugalsvm.cli.flags import FLAGS
from frugalsvm.core.kernels import KERNELS as REGISTRY
from frugalsvm.datasets import make_checkerboard
from frugalsvm.persist import load
from frugalsvm.pipelines.preparing import SCALERS

FAST = ["--gamma", "8", "--alpha", "1e-5", "--budget", "50", "--quiet"]


def run(*arguments, code=0):
    """Output of a command that ends with an exit code."""
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exit_code == code, (result.output, result.exception)
    return result.output


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Checkerboards as LIBSVM text and as CSV with a header, for training and testing."""
    made = tmp_path_factory.mktemp("data")
    for name, n, seed in (("train", 20_000, 0), ("test", 3_000, 1)):
        X, y = make_checkerboard(n, random_state=seed)
        dump_svmlight_file(X, y, str(made / f"{name}.libsvm"), zero_based=False)
        rows = np.column_stack([X, y])
        np.savetxt(
            made / f"{name}.csv", rows, delimiter=",", header="a,b,label", comments="", fmt=["%.6g", "%.6g", "%d"]
        )
    return made


@pytest.fixture(scope="module")
def model(folder):
    path = folder / "model.frugal"
    run("train", folder / "train.libsvm", "-o", path, *FAST)
    return path


class TestTrain:
    @pytest.mark.parametrize(
        ("scale", "words"),
        [
            ("robust", "features scaled"),
            ("soft", "softly clipped"),
            ("symmetric", "long tails"),
            ("standard", "standardized"),
        ],
    )
    def test_scalers_by_name(self, folder, tmp_path, scale, words):
        output = tmp_path / "model.frugal"
        assert words in run("train", folder / "test.csv", "--scale", scale, "-o", output, *FAST)
        assert load(output).scaler_.get_params() == SCALERS[scale].get_params()

    def test_all_scalers_have_a_name(self):
        assert set(FLAGS["scale"].choices) == {"auto", "yes", "no", *SCALERS}

    def test_with_no_other_flag(self, folder, tmp_path):
        for data in ("train.libsvm", "train.csv"):
            output = tmp_path / "model.frugal"
            told = json.loads(run("train", folder / data, "--budget", 100, "-o", output, "--json"))
            assert told["examples"] == 20_000
            assert told["bad_lines"] == 0
            results = json.loads(
                run("evaluate", output, (folder / data).with_name(data.replace("train", "test")), "--json")
            )
            assert results["accuracy"] > 0.9
            assert results["auc"] > 0.95
            assert np.sum(results["confusion"]) == 3_000

    @pytest.mark.parametrize("algorithm", ["bsgd", "lasvm", "asset", "tvm"])
    def test_algorithms(self, folder, tmp_path, algorithm):
        strength = ["--alpha", "1e-5"] if algorithm in ("bsgd", "asset") else ["--C", "10"]
        budget = [] if algorithm == "lasvm" else ["--budget", "50"]  # which has none
        output = tmp_path / "model.frugal"
        run("train", folder / "test.csv", "-a", algorithm, *budget, "--gamma", 8, *strength, "-o", output, "-q")
        assert json.loads(run("evaluate", output, folder / "test.csv", "--json"))["accuracy"] > 0.7

    @pytest.mark.parametrize(
        ("algorithm", "kernel"),
        [("asset", "laplacian"), ("asset", "linear"), pytest.param("bsgd", "matern32", marks=pytest.mark.slow)],
    )
    def test_kernels(self, folder, tmp_path, algorithm, kernel):
        output = tmp_path / "model.frugal"
        flags = ["-a", algorithm, "--kernel", kernel, "--budget", 50, "--alpha", "1e-5"]
        told = json.loads(run("train", folder / "test.csv", *flags, "-o", output, "--json"))
        assert told["chosen"]["kernel"] == kernel
        estimator = load(output).estimator_
        assert estimator.kernel == kernel
        accuracy = json.loads(run("evaluate", output, folder / "test.csv", "--json"))["accuracy"]
        assert (accuracy > 0.8) == (kernel != "linear")

    def test_a_kernel_that_is_not_there(self, folder):
        said = run("train", folder / "test.csv", "--kernel", "laplace", code=2)
        assert "laplacian" in said
        assert tuple(KERNELS) == tuple(REGISTRY)

    def test_configuration_file(self, folder, tmp_path):
        config = tmp_path / "flags.toml"
        config.write_text("budget = 20\ngamma = 8.0\nalpha = 1e-5\n")
        output = tmp_path / "model.frugal"
        run("train", folder / "test.libsvm", "--config", config, "-o", output, "-q")
        assert json.loads(run("inspect", output, "--json"))["support vectors"] == 20
        run("train", folder / "test.libsvm", "--config", config, "--budget", 10, "-o", output, "-q")
        assert json.loads(run("inspect", output, "--json"))["support vectors"] == 10
        config.write_text("colour = 3\n")
        assert "colour" in run("train", folder / "test.libsvm", "--config", config, "-o", output, code=3)

    def test_several_passes_are_better(self, folder, tmp_path):
        accuracies = []
        for passes in (1, 3):
            output = tmp_path / f"{passes}.frugal"
            run("train", folder / "test.libsvm", "--passes", passes, "-o", output, *FAST)
            accuracies.append(json.loads(run("evaluate", output, folder / "test.libsvm", "--json"))["accuracy"])
        assert accuracies[1] > accuracies[0]


class TestResume:
    # What is saved with other flags is seen without processes, in test_cli_resume.py.
    @pytest.mark.parametrize(
        "flags",
        [
            ["--shuffle-buffer", "5000"],
            pytest.param([], marks=pytest.mark.slow),
            pytest.param(["--shuffle", "yes"], marks=pytest.mark.slow),
        ],
    )
    def test_a_killed_run_ends_with_the_same_file(self, folder, tmp_path, flags):
        """Killed after its first checkpoint, whenever that is; and so is the run that goes on."""
        whole, resumed = tmp_path / "whole.frugal", tmp_path / "resumed.frugal"
        common = [*FAST, "--passes", "3", "--checkpoint-every", "4096", *flags]
        run("train", folder / "train.libsvm", "-o", whole, *common)
        command = [sys.executable, "-m", "frugalsvm.cli", "train", str(folder / "train.libsvm"), "-o", str(resumed)]
        for attempt in range(2):
            extra = ["--resume"] if attempt else []
            process = subprocess.Popen([*command, *common, *extra], stderr=subprocess.DEVNULL)
            deadline = time.monotonic() + 60
            before = resumed.stat().st_mtime_ns if resumed.exists() else None
            while process.poll() is None and time.monotonic() < deadline:
                if resumed.exists() and resumed.stat().st_mtime_ns != before:
                    break
                time.sleep(0.002)
            process.kill()
            process.wait()
        if not json.loads(run("inspect", resumed, "--json"))["training"]["finished"]:
            run("train", folder / "train.libsvm", "-o", resumed, *common, "--resume")
        assert resumed.read_bytes() == whole.read_bytes()

    def test_an_interrupted_run_saves_and_says_so(self, folder, tmp_path):
        output = tmp_path / "model.frugal"
        command = [sys.executable, "-m", "frugalsvm.cli", "train", "-", "--format", "libsvm", "-o", str(output), *FAST]
        command += ["--checkpoint-every", "4096"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            process.stdin.write((folder / "train.libsvm").read_text())
            process.stdin.flush()  # but not closed: the run waits for more
            deadline = time.monotonic() + 90
            while not output.exists() and time.monotonic() < deadline:
                time.sleep(0.05)
            process.send_signal(signal.SIGTERM)
            message = process.stderr.read()
        assert process.returncode == 128 + signal.SIGTERM
        assert "--resume" in message
        assert not json.loads(run("inspect", output, "--json"))["training"]["finished"]

    def test_a_resumed_run_is_the_one_that_was_begun(self, folder, tmp_path):
        """Flags that were not repeated do not change it."""
        whole, resumed = tmp_path / "whole.frugal", tmp_path / "resumed.frugal"
        flags = [*FAST, "--passes", "2", "--shuffle-buffer", "500", "--seed", "3"]
        run("train", folder / "train.libsvm", "-o", whole, *flags)
        lines = (folder / "train.libsvm").read_bytes().splitlines(keepends=True)
        cut = tmp_path / "cut.libsvm"
        cut.write_bytes(b"".join([*lines[:-10], b"not a row\n", *lines[-10:]]))
        run("train", cut, "-o", resumed, *flags, "--checkpoint-every", "1000", code=3)
        assert resumed.exists()
        run("train", folder / "train.libsvm", "-o", resumed, "--resume", "--quiet")
        seen = [json.loads(run("inspect", path, "--json")) for path in (whole, resumed)]
        assert seen[0]["training"]["counts"] == seen[1]["training"]["counts"]
        X, _ = make_checkerboard(500, random_state=5)
        np.testing.assert_array_equal(*(load(path).decision_function(X) for path in (whole, resumed)))

    def test_a_finished_model_is_not_resumed(self, folder, model):
        before = Path(model).read_bytes()
        # Not an error: whoever starts a run again until it succeeds must come to an end.
        assert "finished" in run("train", folder / "train.libsvm", "-o", model, "--resume", *FAST)
        assert Path(model).read_bytes() == before


class TestOtherCommands:
    def test_predict(self, folder, model, tmp_path):
        lines = run("predict", model, folder / "test.libsvm").split()
        labels = [int(float(line)) for line in lines]
        X, y = make_checkerboard(3_000, random_state=1)
        assert np.mean(labels == y) > 0.9
        output = tmp_path / "scores.txt"
        run("predict", model, folder / "test.libsvm", "--scores", "-o", output)
        scores = np.array([float(line.split("\t")[1]) for line in output.read_text().splitlines()])
        np.testing.assert_allclose(scores, load(model).decision_function(X), rtol=1e-4, atol=1e-4)

    def test_predictions_are_written_whole_or_not_at_all(self, folder, model, tmp_path):
        rows, output = tmp_path / "rows.libsvm", tmp_path / "labels.txt"
        lines = (folder / "test.libsvm").read_bytes().splitlines(keepends=True)
        output.write_text("from before\n")
        rows.write_bytes(b"".join([*lines, b"not a row\n"]))
        run("predict", model, rows, "-o", output, code=3)
        assert output.read_text() == "from before\n"
        assert sorted(path.name for path in tmp_path.iterdir()) == ["labels.txt", "rows.libsvm"]
        rows.write_bytes(b"".join(lines))
        run("predict", model, rows, "-o", output)
        assert len(output.read_text().splitlines()) == len(lines)

    def test_prequential_curve(self, folder, model):
        curve = json.loads(run("evaluate", model, folder / "test.libsvm", "--prequential", "--json"))["curve"]
        assert curve[-1]["examples"] == 3_000

    def test_tune_writes_flags_for_train(self, folder, tmp_path):
        best = tmp_path / "best.toml"
        told = json.loads(run("tune", folder / "train.libsvm", "--rows", 4000, "--budget", 30, "-o", best, "--json"))
        assert told["accuracy"] > 0.7
        run("train", folder / "test.libsvm", "--config", best, "-o", tmp_path / "model.frugal", "-q")

    def test_inspect_and_algorithms(self, model):
        assert "BSGDClassifier" in run("inspect", model)
        assert hashlib.sha256(Path(model).read_bytes()).hexdigest() in run("inspect", model)
        assert "bsgd" in run("algorithms")
        assert len(json.loads(run("algorithms", "--json"))) >= 9

    def test_export(self, folder, model, tmp_path):
        told = run("export", model, "--to", "libsvm", "-o", tmp_path / "model.txt")
        assert "svm-scale -r" in told
        assert (tmp_path / "model.txt").read_text().startswith("svm_type c_svc")
        assert (tmp_path / "model.txt.range").read_text().startswith("x\n-1 1\n1 ")
        unscaled = tmp_path / "unscaled.frugal"
        run("train", folder / "test.libsvm", "--scale", "no", "-o", unscaled, *FAST)
        assert "svm-scale" not in run("export", unscaled, "--to", "libsvm", "-o", tmp_path / "plain.txt")
        assert not (tmp_path / "plain.txt.range").exists()
        for dtype, real in (("float32", "float"), ("float64", "double")):
            run("export", model, "--to", "c", "-o", tmp_path, "--name", "board", "--dtype", dtype)
            assert f"board_decision(const {real} *x" in (tmp_path / "board.h").read_text()
        assert "board_explain" not in (tmp_path / "board.h").read_text()
        run("export", model, "--to", "c", "-o", tmp_path, "--name", "board", "--explain")
        assert "board_explain(const float *x, float *shares)" in (tmp_path / "board.h").read_text()
        run("export", model, "--to", "c", "-o", tmp_path, "--name", "board", "--learn")
        assert "int board_learn(board_context *self" in (tmp_path / "board.h").read_text()

    def test_exports_refuse_flags_without_effect(self, model, tmp_path):
        output = tmp_path / "out"
        wrong = (
            ["onnx", "--name", "x"],
            ["onnx", "--explain"],
            ["onnx", "--learn"],
            ["libsvm", "--dtype", "float64"],
            ["xml"],
        )
        for flags in wrong:
            run("export", model, "-o", output, "--to", *flags, code=2)
        run("export", model, "-o", output, "--to", "c", "--dtype", "float16", code=2)
        assert not output.exists()

    def test_the_demo_runs(self, tmp_path):
        pytest.importorskip("matplotlib")
        shown = run("demo", "--examples", 2000, "--budget", 20, "-o", tmp_path)
        assert "frugalsvm" in shown
        assert (tmp_path / "demo.png").exists()

    @pytest.mark.parametrize(
        ("words", "completed"),
        [
            ("train x -a las", ["lasvm", "lasvm-nc", "lasvm-i"]),
            ("train x --scale ", ["auto", "yes", "no", "robust", "soft", "symmetric", "standard", "following"]),
            ("predict m x --on-bad-line s", ["skip"]),
            ("export m --to ", ["onnx", "c", "libsvm"]),
        ],
    )
    def test_the_shell_completes(self, words, completed):
        words = f"frugalsvm {words}"
        asked = {"_FRUGALSVM_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
        command = [sys.executable, "-m", "frugalsvm.cli"]
        shown = subprocess.run(command, env={**os.environ, **asked}, capture_output=True, text=True, check=False)
        assert shown.stdout.split() == completed

    @pytest.mark.parametrize("module", ["frugalsvm", "frugalsvm.cli"])
    def test_python_runs_the_package(self, module):
        command = [sys.executable, "-m", module, "--version"]
        assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == run("--version")

    def test_version_and_help(self):
        assert "frugalsvm" in run("--version")
        for command in ("train", "predict", "evaluate", "tune", "inspect", "export", "algorithms", "demo"):
            assert command in run("--help")
            run(command, "--help")


class TestTrouble:
    def test_bad_lines(self, tmp_path):
        data = tmp_path / "bad.libsvm"
        good = [f"{1 if i % 2 else -1} 1:{i % 7} 2:{i % 3}" for i in range(200)]
        data.write_text("\n".join([*good[:100], "1 1:abc", *good[100:]]) + "\n")
        message = run("train", data, "-o", tmp_path / "m.frugal", *FAST, code=3)
        assert "bad.libsvm" in message
        assert "101" in message
        told = json.loads(run("train", data, "-o", tmp_path / "m.frugal", "--on-bad-line", "skip", "--json", *FAST))
        assert told["bad_lines"] == 1
        assert told["examples"] == 200

    def test_missing_and_empty_files(self, tmp_path):
        assert "nowhere" in run("train", tmp_path / "nowhere.csv", "-o", tmp_path / "m.frugal", code=3)
        (tmp_path / "empty.csv").write_text("")
        run("train", tmp_path / "empty.csv", "-o", tmp_path / "m.frugal", code=3)

    def test_folder_that_is_not_there(self, folder, tmp_path):
        message = run("train", folder / "test.libsvm", "-o", tmp_path / "no" / "m.frugal", *FAST, code=5)
        assert "no" in message

    def test_model_file_that_is_none(self, folder, tmp_path):
        junk = tmp_path / "junk.frugal"
        junk.write_bytes(b"junk" * 100)
        run("predict", junk, folder / "test.libsvm", code=4)
        run("inspect", junk, code=4)

    def test_unknown_choices(self, folder, tmp_path):
        run("train", folder / "test.libsvm", "-a", "magic", code=2)
        run("train", folder / "test.libsvm", "--on-bad-line", "ignore", code=2)


def test_columns_of_text_alone(tmp_path):
    """Parameters are chosen on what the estimator sees: the encoded columns."""
    rng = np.random.default_rng(0)
    colours, shapes = rng.choice(["red", "blue", "green"], 900), rng.choice(["round", "square"], 900)
    labels = (colours == "red") ^ (shapes == "round")
    rows = [f"{c},{s},{int(y)}" for c, s, y in zip(colours, shapes, labels, strict=True)]
    (tmp_path / "text.csv").write_text("\n".join(["colour,shape,y", *rows]) + "\n")
    run("train", tmp_path / "text.csv", "-o", tmp_path / "text.frugal", "-a", "bsgd", "--quiet")
    assert json.loads(run("evaluate", tmp_path / "text.frugal", tmp_path / "text.csv", "--json"))["accuracy"] == 1.0
    assert "best:" in run("tune", tmp_path / "text.csv", "-a", "bsgd", "--rows", "300")
