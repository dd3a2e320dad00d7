"""Disks that are full, folders that may not be written, readers that go away: one sentence, and nothing is lost."""

import ctypes
import errno
import json
import os
import resource
import signal
import subprocess
import sys
import time
from functools import partial

import pytest
from sklearn.datasets import dump_svmlight_file
from typer.testing import CliRunner

from frugalsvm.cli.app import app
from frugalsvm.datasets import make_checkerboard
from frugalsvm.persist import atomic, model

FLAGS = ["--gamma", "8", "--alpha", "1e-5", "--budget", "50", "--checkpoint-every", "4096"]
PROGRAM = [sys.executable, "-m", "frugalsvm.cli"]
DROP_FROM_BOUNDING_SET, MAY_WRITE_EVERYWHERE = 24, 1  # PR_CAPBSET_DROP, CAP_DAC_OVERRIDE of Linux


def run(*arguments, code=0):
    """Output of a command that ends with an exit code."""
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exit_code == code, (result.output, result.exception)
    return result.output


def started(*arguments, **settings):
    settings = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True, **settings}
    return subprocess.Popen([*PROGRAM, *map(str, arguments)], **settings)


def told(process, code):
    """Standard error of a process that ends with an exit code."""
    message = process.communicate(timeout=300)[1]
    assert process.returncode == code, message
    return message


def as_a_user_without_privileges():
    """Even root may not write where permissions say no."""
    if os.geteuid() == 0 and ctypes.CDLL(None).prctl(DROP_FROM_BOUNDING_SET, MAY_WRITE_EVERYWHERE, 0, 0, 0):
        raise PermissionError


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "train.libsvm"
    X, y = make_checkerboard(20_000, random_state=0)
    dump_svmlight_file(X, y, str(path), zero_based=False)
    return path


@pytest.fixture(scope="module")
def trained(data):
    """A finished model; machine code for it is on the disk from here on."""
    path = data.with_name("model.frugal")
    run("train", data, "-o", path, *FLAGS, "-q")
    return path


@pytest.fixture
def good(trained, tmp_path):
    """The only file of a folder: a model that must not be harmed."""
    path = tmp_path / "only" / "good.frugal"
    path.parent.mkdir()
    path.write_bytes(trained.read_bytes())
    return path


class TestFullDisk:
    def test_no_room_for_the_first_checkpoint(self, data, good):
        """Files may not be larger than 4 KiB: writing fails in the middle of the file."""
        before = good.read_bytes()
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))  # noqa: E731
        message = told(started("train", data, "-o", good, *FLAGS, "--seed", 1, "-q", preexec_fn=limit), code=5)
        expected = f"{str(good)!r}: {os.strerror(errno.EFBIG)}; the file that was there is unchanged."
        assert message == f"error: The model could not be saved to {expected}\n"
        assert good.read_bytes() == before
        assert os.listdir(good.parent) == [good.name]

    @pytest.mark.parametrize("failing", [2, 5])  # the second checkpoint, and the finished model
    def test_room_that_comes_back(self, data, trained, tmp_path, monkeypatch, failing):
        """The checkpoint before is whole, and the resumed run ends with the same file."""
        path, write, states = tmp_path / "m.frugal", model.write_archive, []

        def full_after_a_while(file, entries):
            states.append(path.read_bytes() if path.exists() else None)
            if len(states) == failing:
                file.write(b"a part")
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            write(file, entries)

        monkeypatch.setattr(model, "write_archive", full_after_a_while)
        common = ["train", data, "-o", path, *FLAGS, "-q"]
        message = run(*common, code=5)
        assert len(states) == failing
        assert "No space left on device" in message
        assert "--resume" in message
        assert "Errno" not in message
        assert path.read_bytes() == states[-1]
        assert {path.name, atomic.previous_of(path).name} >= set(os.listdir(tmp_path))
        monkeypatch.undo()
        run(*common, "--resume")
        assert path.read_bytes() == trained.read_bytes()

    @pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
    @pytest.mark.parametrize("flags", [[], ["--json"]])
    def test_results_that_cannot_be_written(self, flags):
        with open("/dev/full", "w") as full:
            message = told(started("algorithms", *flags, stdout=full), code=5)
        assert message == "error: Standard output cannot be written: No space left on device.\n"


class TestOutputThatCannotBeWritten:
    """It is found before training begins: the data, which are not there, are not even looked for."""

    def test_folders(self, tmp_path):
        nowhere = tmp_path / "nowhere.csv"
        for output, reason in [(tmp_path, "that is a folder"), (tmp_path / "no" / "m.frugal", "no folder")]:
            message = run("train", nowhere, "-o", output, code=5)
            assert reason in message
            assert output.name in message
            assert os.listdir(tmp_path) == []

    def test_things_that_are_no_files(self, tmp_path):
        """A device or a pipe would be replaced by a file."""
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        assert "something else than a file" in run("train", tmp_path / "nowhere.csv", "-o", pipe, code=5)
        assert pipe.is_fifo()

    def test_names_that_leave_no_room_for_a_temporary_file(self, tmp_path):
        message = run("train", tmp_path / "nowhere.csv", "-o", tmp_path / ("m" * 250), code=5)
        assert os.strerror(errno.ENAMETOOLONG) in message

    @pytest.mark.skipif(not sys.platform.startswith("linux"), reason="takes privileges away as Linux has them")
    # Whether a run is resumed is looked at later.
    @pytest.mark.parametrize("flags", [[], pytest.param(["--resume"], marks=pytest.mark.slow)])
    def test_folder_without_permission(self, good, flags):
        before = good.read_bytes()
        good.parent.chmod(0o500)
        try:
            process = started(
                "train", good.with_name("nowhere.csv"), "-o", good, *flags, preexec_fn=as_a_user_without_privileges
            )
            message = told(process, code=5)
        except subprocess.SubprocessError:
            pytest.skip("privileges cannot be taken away here")
        finally:
            good.parent.chmod(0o700)
        reason = os.strerror(errno.EACCES)
        expected = f"{str(good)!r}: {reason}; the file that was there is unchanged."
        assert message == f"error: The model could not be saved to {expected}\n"
        assert good.read_bytes() == before
        assert os.listdir(good.parent) == [good.name]


class TestReadersThatGoAway:
    def test_predictions_into_head(self, data, trained):
        """As in ``frugalsvm predict ... | head -1``."""
        process = started("predict", trained, data, "--scores", stdout=subprocess.PIPE)
        assert float(process.stdout.readline().split("\t")[0]) in (-1, 1)
        process.stdout.close()
        process.stdout = None
        assert told(process, code=128 + signal.SIGPIPE) == ""

    @pytest.mark.parametrize("flags", [[], ["--json"]])
    def test_results_that_nobody_reads(self, flags):
        reading, writing = os.pipe()
        os.close(reading)
        with open(writing, "w") as closed:
            assert told(started("algorithms", *flags, stdout=closed), code=128 + signal.SIGPIPE) == ""

    def test_closed_from_the_beginning(self):
        """As ``frugalsvm ... >&-`` does: Python has no standard output then."""
        command = " ".join([*PROGRAM, "algorithms", "--json", ">&-"])
        assert told(subprocess.Popen(["/bin/sh", "-c", command], stderr=subprocess.PIPE, text=True), 0) == ""

    def test_training_goes_on_unwatched(self, data, trained, tmp_path):
        """Progress that cannot be shown is no reason to end."""
        reading, writing = os.pipe()
        os.close(reading)
        path = tmp_path / "m.frugal"
        with open(writing, "w") as closed:
            told(started("train", data, "-o", path, *FLAGS, stderr=closed), code=0)
        assert path.read_bytes() == trained.read_bytes()

    def test_a_terminal_that_is_closed(self, data, tmp_path):
        """The shell and the kernel both send SIGHUP: the second one must not end the saving."""
        path = tmp_path / "m.frugal"
        # Whoever runs these tests may ignore the signal, as `nohup` does, and children inherit that.
        heeded = partial(signal.signal, signal.SIGHUP, signal.SIG_DFL)
        process = started(
            "train", "-", "--format", "libsvm", "-o", path, *FLAGS, stdin=subprocess.PIPE, preexec_fn=heeded
        )
        process.stdin.write(data.read_text())
        process.stdin.flush()  # but not closed: the run waits for more
        deadline = time.monotonic() + 200
        while not path.exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGHUP)
        message = process.stderr.read()
        assert process.wait(timeout=60) == 128 + signal.SIGHUP, message
        process.stdin.close()
        process.stderr.close()
        training = json.loads(run("inspect", path, "--json"))["training"]
        assert not training["finished"]
        assert f"continues at example {training['counts']['rows']:,}" in message
