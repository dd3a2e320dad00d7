"""Checkpoints where they were asked for; runs go on only with the rows and the flags that they were begun with."""

import json
import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from frugalsvm import BSGDClassifier
from frugalsvm.cli.app import app
from frugalsvm.cli.commands import train_stream
from frugalsvm.cli.io import saved_run
from frugalsvm.persist import describe, load, save
from frugalsvm.persist.atomic import locked, previous_of
from frugalsvm.pipelines import StreamPipeline
from frugalsvm.streams import open_stream
from frugalsvm.streams.fingerprint import Fingerprint

N_ROWS = 6000
FAST = ["--gamma", "0.05", "--alpha", "1e-4", "--budget", "40", "-q"]


def invoke(*arguments, code=0):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == code, (result.output, result.exception)
    return result


def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, 12)).round(3)  # wide enough for blocks of rows to be looked at together
    return X, (X[:, 0] * X[:, 1] + X[:, 2] > 0).astype(int)


def lines(X, y, names="abcdefghijkl"):
    rows = [",".join(map(str, [*row, label])) for row, label in zip(X.tolist(), y.tolist(), strict=True)]
    return [",".join([*names, "y"]), *rows]


@cache
def text():
    return "\n".join(lines(*table())) + "\n"


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text(text())
    return "rows.csv"


@pytest.fixture
def saves(monkeypatch):
    """Where checkpoints were written: pass and row."""
    written, write = [], saved_run.save_run

    def noted(*arguments):
        written.append((arguments[6], arguments[4].rows))
        write(*arguments)

    monkeypatch.setattr(train_stream, "save_run", noted)
    return written


def interrupted(data, output, *flags, after=1):
    """A run whose disk is full after some checkpoints."""
    write, written = saved_run.save_run, []

    def full(*arguments):
        if len(written) == after:
            raise OSError(28, "No space left on device")
        written.append(write(*arguments))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(train_stream, "save_run", full)
        invoke("train", data, "-o", output, *FAST, *flags, code=5)


class TestCheckpoints:
    def test_are_where_they_were_asked_for(self, data, saves):
        """At the first end of a block of 64 rows after each thousand."""
        invoke("train", data, *FAST, "--checkpoint-every", 1000)
        assert saves == [*((0, row) for row in (1024, 2048, 3008, 4032, 5056, 6000)), (1, 6000)]
        assert all(row - 1000 * (number + 1) < 64 for number, (_, row) in enumerate(saves[:-1]))

    def test_count_over_passes(self, data, saves):
        invoke("train", data, *FAST, "--passes", 3, "--checkpoint-every", 8000)
        assert saves == [(1, 2048), (2, 4032), (3, 6000)]

    @pytest.mark.parametrize("flags", [[], ["--shuffle-buffer", "700"], ["--calibrate"], ["-a", "asset"]])
    def test_change_nothing(self, data, flags):
        """The file is the same, byte for byte."""
        common = [*FAST, "--passes", 2, *flags]
        invoke("train", data, *common, "-o", "none.frugal")
        invoke("train", data, *common, "-o", "some.frugal", "--checkpoint-every", 700)
        assert Path("some.frugal").read_bytes() == Path("none.frugal").read_bytes()

    @pytest.mark.parametrize(
        ("flags", "after"),  # so many checkpoints: in the first pass, or in the second
        [
            ([], 3),
            ([], 8),
            (["--shuffle-buffer", "700"], 3),
            (["--shuffle-buffer", "700"], 8),
            (["--shuffle", "yes"], 8),
            (["--calibrate"], 1),
            (["--on-bad-line", "skip"], 3),
        ],
    )
    def test_in_the_middle_of_a_batch_are_resumed(self, data, flags, after):
        common = [*FAST, "--checkpoint-every", 1000, "--passes", 2, *flags]
        invoke("train", data, *common, "-o", "whole.frugal")
        interrupted(data, "cut.frugal", *common, after=after)
        counts = describe("cut.frugal").metadata["training"]["counts"]
        assert counts["rows"] % 4096 or flags == ["--calibrate"]
        invoke("train", data, *common, "-o", "cut.frugal", "--resume")
        assert Path("cut.frugal").read_bytes() == Path("whole.frugal").read_bytes()

    @pytest.mark.parametrize("text", ["0", "-5", "nan", "5x", "m", "inf", ""])
    def test_nonsense_is_refused(self, data, text):
        told = invoke("train", data, *FAST, "--checkpoint-every", text, code=3).output
        assert "give a number of examples, such as 100000, or a time: 30s, 5m, 2h" in " ".join(told.split())


def edited(X, y):
    X = X.copy()
    X[17, 3] += 0.001
    return lines(X, y)


def swapped(X, y):
    return lines(X[:, [1, 0, *range(2, 12)]], y)  # under the names of each other


def relabelled(X, y):
    y = y.copy()
    y[40] = 1 - y[40]
    return lines(X, y)


CHANGES = {
    "cut": (lambda X, y: lines(X[:2000], y[:2000]), "has become shorter (2,000 rows, of 2,048 that were learned)"),
    "edited": (edited, "has changed in its first 2,048 rows"),
    "columns swapped": (swapped, "has changed in its first 2,048 rows"),
    "a label": (relabelled, "has changed in its first 2,048 rows"),
    "a row less": (lambda X, y: lines(X[1:], y[1:]), "has changed in its first 2,048 rows"),
}


class TestChangedData:
    @pytest.mark.parametrize("name", CHANGES)
    def test_is_refused(self, data, name):
        change, words = CHANGES[name]
        interrupted(data, "m.frugal", "--checkpoint-every", 2000)
        before = Path("m.frugal").read_bytes()
        Path(data).write_text("\n".join(change(*table())) + "\n")
        told = " ".join(invoke("train", data, "-o", "m.frugal", "--resume", "-q", code=3).output.split())
        assert f"rows.csv {words} since the run was saved" in told
        assert "--changed-data" in told
        assert Path("m.frugal").read_bytes() == before
        invoke("train", data, "-o", "m.frugal", "--resume", "--changed-data", "-q")
        assert describe("m.frugal").metadata["training"]["finished"]

    def test_columns_in_another_order_are_found_by_their_names(self, data):
        interrupted(data, "m.frugal", "--checkpoint-every", 2000)
        X, y = table()
        Path(data).write_text("\n".join(lines(X[:, [1, 0, *range(2, 12)]], y, "bacdefghijkl")) + "\n")
        invoke("train", data, "-o", "m.frugal", "--resume", "-q")
        Path(data).write_text("\n".join(lines(X, y)) + "\n")
        invoke("train", data, "-o", "whole.frugal", *FAST)
        assert Path("m.frugal").read_bytes() == Path("whole.frugal").read_bytes()

    def test_rows_after_those_that_were_learned_may_change(self, data):
        """Somebody repairs a bad line, or appends rows."""
        interrupted(data, "m.frugal", "--checkpoint-every", 2000)
        with open(data, "a") as file:
            file.write("\n".join(lines(*table())[1:100]) + "\n")
        invoke("train", data, "-o", "m.frugal", "--resume", "-q")
        assert describe("m.frugal").metadata["training"]["counts"]["rows"] == N_ROWS + 99

    @pytest.mark.parametrize("change", ["edited", "longer"])
    def test_in_a_second_pass_all_rows_are_known(self, data, change):
        interrupted(data, "m.frugal", "--passes", 2, "--checkpoint-every", 7000)
        assert describe("m.frugal").metadata["training"]["counts"]["rows"] == 1024
        X, y = table()
        X[5500, 0] += change == "edited"
        extra = lines(X, y)[1:5] if change == "longer" else []
        Path(data).write_text("\n".join([*lines(X, y), *extra]) + "\n")
        told = invoke("train", data, "-o", "m.frugal", "--resume", "-q", code=3).output
        words = "has become longer than its 6,000 rows" if extra else "has changed in its first 6,000 rows"
        assert words in " ".join(told.split())
        Path(data).write_text(text())
        invoke("train", data, "-o", "m.frugal", "--resume", "-q")
        invoke("train", data, "-o", "whole.frugal", *FAST, "--passes", 2)
        assert Path("m.frugal").read_bytes() == Path("whole.frugal").read_bytes()

    def test_files_of_old_versions_have_no_fingerprint(self, data):
        interrupted(data, "m.frugal", "--checkpoint-every", 2000)
        training = describe("m.frugal").metadata["training"]
        del training["fingerprint"]
        for name in ("total", "seen"):
            del training["counts"][name]
        save(load("m.frugal"), "m.frugal", metadata={"training": training})
        invoke("train", data, "-o", "m.frugal", "--resume", "-q")
        assert describe("m.frugal").metadata["training"]["counts"]["rows"] == N_ROWS

    @pytest.mark.parametrize("form", ["csv", "libsvm"])
    def test_batches_do_not_matter(self, form, tmp_path):
        rng = np.random.default_rng(0)
        path = tmp_path / f"rows.{form}"
        X = rng.integers(0, 3, size=(500, 4))
        if form == "csv":
            path.write_text("\n".join(["a,b,c,d,t,y", *(",".join(map(str, row)) + ",red,u" for row in X)]) + "\n")
        else:
            path.write_text("".join("1 " + " ".join(f"{j + 1}:{v}" for j, v in enumerate(row)) + "\n" for row in X))
        digests = set()
        for batch_rows in (1, 7, 64, 500):
            read = Fingerprint()
            for batch in open_stream(str(path), batch_rows=batch_rows):
                read.add(batch)
            digests.add((read.n_rows, read.digest()))
        assert len(digests) == 1


class TestFlags:
    def test_that_differ_are_refused(self, data):
        interrupted(data, "m.frugal", "--checkpoint-every", 2000)
        for flags, told in (
            (["--budget", 50], "--budget 50: the run was begun with 40"),
            (["--gamma", 1], "--gamma 1.0: the run was begun with 0.05"),
            (["--alpha", 1], "--alpha 1.0: the run was begun with 0.0001"),
            (["--passes", 3], "--passes 3: the run was begun with 1"),
            (["--calibrate"], "--calibrate: the run was begun without it"),
            (["--delimiter", ";"], "--delimiter ;: the run was begun without it"),
            (["--seed", 4], "--seed 4: the run was begun with 0"),
        ):
            result = invoke("train", data, "-o", "m.frugal", "--resume", "-q", *flags, code=3)
            assert told in " ".join(result.output.split())
        invoke("train", data, "-o", "m.frugal", "--resume", *FAST, "--passes", 1, "--checkpoint-every", 500)

    def test_models_of_dask_say_why(self, data):
        interrupted(data, "m.frugal", "--checkpoint-every", 2000)
        save(load("m.frugal"), "dask.frugal", metadata={"training": {"driver": "dask", "finished": True}})
        told = " ".join(invoke("train", data, "-o", "dask.frugal", "--resume", code=3).output.split())
        assert "it was trained with --dask, which learns all files to the end" in told
        save(load("m.frugal"), "python.frugal")
        told = " ".join(invoke("train", data, "-o", "python.frugal", "--resume", code=3).output.split())
        assert "has not saved it, or did so with --dask" in told


def test_quantiles_of_a_resumed_run_are_those_of_one_without_a_break(data):
    X, y = table()
    Path(data).write_text("\n".join(lines(X[:, :3], y, "abc")) + "\n")
    flags = ("-a", "bsgd-regressor", "--quantile", "0.1,0.9", "--label", "a", "--checkpoint-every", 1000)
    interrupted(data, "broken.frugal", *flags, after=2)
    invoke("train", data, "-o", "broken.frugal", "--resume", "-q")
    invoke("train", data, "-o", "whole.frugal", *FAST, *flags)
    assert Path("broken.frugal").read_bytes() == Path("whole.frugal").read_bytes()


def test_that_there_is_nothing_to_resume_is_told(data):
    told = " ".join(invoke("train", data, "-o", "none.frugal", "--resume", *FAST).output.split())
    assert "note: there is no none.frugal to resume: training begins at the first example" in told


@pytest.mark.filterwarnings("default:The checkpoint:RuntimeWarning")
def test_a_damaged_checkpoint_is_told(data):
    interrupted(data, "m.frugal", "--checkpoint-every", 1000, after=2)
    with open("m.frugal", "r+b") as file:
        file.truncate(os.path.getsize("m.frugal") - 100)
    told = " ".join(invoke("train", data, "-o", "m.frugal", "--resume", "-q").output.split())
    assert "warning: The checkpoint m.frugal cannot be used" in told
    assert f"continues from the previous one, {previous_of('m.frugal')}" in told


@pytest.mark.skipif(os.name != "posix", reason="locks of POSIX")
@pytest.mark.parametrize("training", ["monday", {"data": "rows.csv"}, {"data": {}, "counts": 7}, {"data": {}}])
def test_metadata_of_others_is_not_that_of_a_run(data, training):
    X, y = table()
    model = StreamPipeline(BSGDClassifier(budget=40, gamma=0.05, alpha=1e-4), warmup_rows=100).fit(X[:300], y[:300])
    save(model, "own.frugal", metadata={"training": training})
    assert describe("own.frugal").metadata == {"training": training}
    invoke("inspect", "own.frugal")
    assert len(invoke("predict", "own.frugal", data).stdout.split()) == N_ROWS
    told = invoke("train", data, "-o", "own.frugal", "--resume", *FAST, code=3).stderr
    assert "own.frugal cannot be resumed" in told


def test_two_trainings_into_one_output(data):
    with locked("m.frugal"):
        told = " ".join(invoke("train", data, "-o", "m.frugal", *FAST, code=5).output.split())
        assert f"m.frugal is being written by process {os.getpid()}: wait for it, or choose another output." in told
        invoke("train", data, "-o", "other.frugal", *FAST)
    invoke("train", data, "-o", "m.frugal", *FAST)
    assert not os.path.exists(".m.frugal.lock")


class TestProgress:
    def test_the_last_line_comes_once_and_names_the_pass(self, data):
        shown = invoke("train", data, *FAST[:-1], "--passes", 2).stderr.splitlines()
        ends = [line for line in shown if "examples" in line]
        assert len(ends) == len(set(ends))
        assert ends[-1].startswith(f"pass 2 of 2: {N_ROWS:,} examples")

    def test_one_pass_is_not_counted(self, data):
        shown = invoke("train", data, *FAST[:-1]).stderr
        assert f"{N_ROWS:,} examples" in shown
        assert "pass" not in shown

    def test_json_is_alone(self, data):
        result = invoke("train", data, *FAST[:-1], "--json")
        assert json.loads(result.stdout)["examples"] == N_ROWS
        assert result.stderr == ""
