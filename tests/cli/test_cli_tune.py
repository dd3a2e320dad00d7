"""`frugalsvm tune`: algorithms compared, one of them tuned, and candidates side by side on rows that come once."""

import json
import signal

import numpy as np
import pytest
from typer.testing import CliRunner

from frugalsvm.auto.comparison import Candidate
from frugalsvm.cli.app import app
from frugalsvm.cli.commands import tune_file
from frugalsvm.datasets import make_checkerboard
from frugalsvm.persist import describe, load
from frugalsvm.pipelines.prequential import learn_stream
from frugalsvm.streams.batch import Batch, sample_rows


def invoke(*arguments, code=0, data=None):
    result = CliRunner().invoke(app, [str(a) for a in arguments], input=data)
    assert result.exit_code == code, (result.output, result.exception)
    return result


def board(n, seed=0, header="a,b,label"):
    X, y = make_checkerboard(n, random_state=seed)
    lines = [f"{a:.4f},{b:.4f},{label}" for (a, b), label in zip(X, y, strict=True)]
    return "\n".join([header, *lines]) + "\n"


@pytest.fixture
def heard():
    """Ctrl-C is heard, also in tests that a shell has told to ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("tune")
    (made / "board.csv").write_text(board(300))
    (made / "large.csv").write_text(board(6000))
    (made / "test.csv").write_text(board(1000, seed=1))
    return made


@pytest.fixture(scope="module")
def told(folder):
    """With little time for `auto`, which always has a model, and no limit for others: so on slow machines, too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tune_file, "_limit", lambda candidate, *_: 5.0 if candidate.name == "auto" else None)
        return json.loads(invoke("tune", folder / "board.csv", "-o", folder / "best.toml", "--json").stdout)


class TestAlgorithms:
    @pytest.mark.slow
    def test_all_that_suit_the_size_are_compared(self, told):
        names = [each["algorithm"] for each in told["compared"]]
        assert names[0] == "auto"
        assert names[1:] == ["asset", "asset", "bsgd", "bsgd", "lasvm"]
        assert told["rows_judged"] == 300  # few rows: each judges once
        assert told["rows_learned"] == 225
        for each in told["compared"]:
            assert each["model_bytes"] > 1000
            assert each["train_seconds_all_rows"] > 0
            assert each["prediction_microseconds"] > 0

    @pytest.mark.slow
    def test_every_one_of_them_can_be_trained(self, told, folder, tmp_path):
        for k, each in enumerate(told["compared"]):
            config, model = tmp_path / f"{k}.toml", tmp_path / f"{k}.frugal"
            lines = [f"{name} = {json.dumps(value)}" for name, value in each["flags"].items()]
            config.write_text("\n".join(lines) + "\n")
            more = ["--time-budget", "3s"] if each["algorithm"] == "auto" else []
            invoke("train", folder / "board.csv", "--config", config, "-o", model, "-q", *more)
            accuracy = json.loads(invoke("evaluate", model, folder / "test.csv", "--json").stdout)["accuracy"]
            assert accuracy > 0.6, each

    def test_what_is_written_is_the_best(self, told, folder):
        assert f'algorithm = "{told["best"]["algorithm"]}"' in (folder / "best.toml").read_text()
        assert any("standard error" in sentence for sentence in told["sentences"])

    def test_numbers_are_for_auto_alone(self, tmp_path):
        (tmp_path / "price.csv").write_text("a,price\n" + "".join(f"{k},{k / 7:.3f}\n" for k in range(200)))
        told = invoke("tune", tmp_path / "price.csv", code=3).stderr
        assert "has numeric targets, and `tune` compares classifiers" in told


class TestOneAlgorithm:
    def test_is_compared_with_what_train_would_choose(self, folder, tmp_path):
        best = tmp_path / "best.toml"
        result = invoke("tune", folder / "large.csv", "-a", "bsgd", "--budget", 50, "--label", "label", "-o", best)
        assert "as `train` chooses by itself" in result.stdout
        assert "standard error" in result.stdout
        assert f"train {folder / 'large.csv'} --config {best}" in result.stdout
        assert 'label = "label"' in best.read_text()  # what is needed to read the file goes with it
        invoke("train", folder / "large.csv", "--config", best, "-o", tmp_path / "m.frugal", "-q")
        assert describe(tmp_path / "m.frugal").metadata["training"]["options"]["budget"] == 50

    def test_sorted_files_are_mixed(self, folder, tmp_path):
        header, *lines = (folder / "large.csv").read_text().splitlines()
        (tmp_path / "sorted.csv").write_text("\n".join([header, *sorted(lines, key=lambda t: t.split(",")[2])]) + "\n")
        told = json.loads(invoke("tune", tmp_path / "sorted.csv", "--budget", 50, "--json").stdout)
        assert told["accuracy"] > 0.8

    def test_what_cannot_be_written_is_told_before_the_search(self, folder, tmp_path):
        said = invoke("tune", folder / "board.csv", "-o", tmp_path / "nowhere" / "best.toml", code=5).stderr
        assert f"There is no folder {tmp_path / 'nowhere'} to write best.toml to." in said
        assert "Comparing" not in said

    def test_what_has_no_effect_is_refused(self, folder, tmp_path):
        def said(*flags):
            return " ".join(invoke("tune", folder / "board.csv", *flags, code=2).output.split())

        assert "--model: candidates learn only part of the rows" in said("--model", tmp_path / "m.frugal")
        assert "--budget: auto chooses that by itself" in said("-a", "auto", "--budget", 9)
        assert "--missing: --algorithm auto imputes medians" in said("-a", "auto", "--missing", "mean")
        assert "--rows: all rows are learned, once" in said("--once", "--rows", 200)
        assert "--time-budget: it ends when the rows do" in said("--once", "--time-budget", "9s")
        assert "--metric full: --kernel laplacian" in said("--kernel", "laplacian", "--metric", "full")


class TestStreams:
    def test_a_pipe(self, folder, tmp_path):
        best, model = tmp_path / "best.toml", tmp_path / "m.frugal"
        flags = ["--format", "csv", "--budget", 30, "--budget", 60, "-o", best, "--model", model, "--json"]
        told = json.loads(invoke("tune", "-", *flags, data=board(6000)).stdout)
        assert len(told["candidates"]) == 18
        assert told["rows"] == 6000
        assert told["candidates"][0]["accuracy"] == told["accuracy"] > 0.7
        assert told["best"]["format"] == "csv"
        assert describe(model).estimator == "StreamPipeline"
        won = load(model).estimator_
        assert (won.gamma, won.alpha, won.budget) == tuple(told["best"][k] for k in ("gamma", "alpha", "budget"))
        accuracy = json.loads(invoke("evaluate", model, folder / "test.csv", "--json").stdout)["accuracy"]
        assert accuracy > 0.75
        invoke("train", folder / "large.csv", "--config", best, "-o", tmp_path / "n.frugal", "-q")

    def test_a_file_read_once(self, folder):
        shown = invoke("tune", folder / "large.csv", "--once", "--budget", 30).stdout
        assert "side by side, in one pass" in shown
        assert "best: --algorithm bsgd" in shown
        assert shown.count("%") == 9

    def test_ctrl_c_ends_the_rows(self, folder, tmp_path, monkeypatch, heard):
        def interrupted(*arguments, **flags):
            signal.raise_signal(signal.SIGINT)
            learn_stream(*arguments, **flags)

        monkeypatch.setattr("frugalsvm.cli.commands.tune_stream.learn_stream", interrupted)
        command = ["tune", folder / "large.csv", "--once", "--budget", 30, "-o", tmp_path / "best.toml"]
        result = invoke(*command, code=130)
        assert "Interrupted after 4,096 rows" in result.stderr
        assert " of 9 candidates left, accuracy of the best" in result.stderr
        assert "gamma = " in (tmp_path / "best.toml").read_text()

    def test_classes_that_come_late(self):
        rows = board(6500).splitlines()
        rows[-200:] = [row.rsplit(",", 1)[0] + ",7" for row in rows[-200:]]
        told = json.loads(invoke("tune", "-", "--budget", 30, "--json", data="\n".join(rows) + "\n").stdout)
        assert told["rows"] == 6500


def test_time_is_shared():
    candidates = [Candidate(name, "", print) for name in ("auto", "asset", "bsgd")]
    assert [tune_file._limit(each, 3, 60.0) for each in candidates] == [30.0, 15.0, 15.0]
    assert [tune_file._limit(each, 2, 60.0) for each in candidates[1:]] == [30.0, 30.0]
    assert tune_file._limit(candidates[0], 3, None) is None


class TestSample:
    def batches(self, size):
        values = np.arange(1000.0)[:, None]
        return [Batch(values[k : k + size], values[k : k + size, 0], start=k) for k in range(0, 1000, size)]

    def test_rows_of_all_parts_in_their_order(self):
        sample = sample_rows(self.batches(64), 50, seed=0)
        assert (sample.rows.n_rows, sample.n_rows) == (50, 1000)
        assert (np.diff(sample.rows.y) > 0).all()
        assert sample.rows.y.min() < 200
        assert sample.rows.y.max() > 800

    def test_batches_do_not_matter(self):
        one, other = (sample_rows(self.batches(size), 50, seed=3).rows.y for size in (64, 1000))
        np.testing.assert_array_equal(one, other)

    def test_fewer_rows_are_all_taken(self):
        assert sample_rows(self.batches(100), 2000, seed=0).rows.n_rows == 1000


def test_commands_work_as_they_are_printed(tmp_path):
    """The label is no last column, and its name has a blank; nine rows in ten would say otherwise."""
    lines = ["is red,a,b", *(f"{'yes' if k % 3 else 'no'},{k % 3},{k % 7}" for k in range(120))]
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n")
    flags = ("-a", "bsgd", "--label", "is red", "--budget", 20, "--time-budget", "20s")
    said = " ".join(invoke("tune", tmp_path / "rows.csv", *flags).output.split())
    assert f"frugalsvm train {tmp_path / 'rows.csv'} --algorithm bsgd --label 'is red'`" in said
    assert "All 120 rows were predicted, a quarter at a time" in said
    assert "best: --algorithm bsgd" in said
    assert "--label 'is red'" in said.split("best: ")[1]
