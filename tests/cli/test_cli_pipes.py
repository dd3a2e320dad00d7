"""Pipes: slow ones, ones that never end, and ones that are asked to be read twice."""

import gzip
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress

import numpy as np
import pytest
from typer.testing import CliRunner

from frugalsvm.cli.app import app
from frugalsvm.datasets import make_checkerboard
from frugalsvm.persist import describe, load
from frugalsvm.streams import Batch, open_stream
from frugalsvm.streams.pipes import Pipe, grouped, is_read_once

FAST = ["--gamma", "8", "--alpha", "1e-5", "--budget", "50"]
pytestmark = pytest.mark.skipif(os.name != "posix", reason="pipes of POSIX")


def text(n_rows, seed=0):
    X, y = make_checkerboard(n_rows, random_state=seed)
    return "a,b,y\n" + "".join(f"{a:.4f},{b:.4f},{c}\n" for (a, b), c in zip(X.tolist(), y.tolist(), strict=True))


@contextmanager
def started(output, *flags, **settings):
    """A training that reads a pipe; it is killed after a while, so that no test waits for ever."""
    command = [sys.executable, "-m", "frugalsvm.cli", "train", "-", "-o", str(output), *FAST, *map(str, flags)]
    pipes = {"stdin": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, **pipes, preexec_fn=heed_signals, **settings) as process:
        watchdog = threading.Timer(150, process.kill)
        watchdog.start()
        try:
            yield process
        finally:
            watchdog.cancel()


def sent(rows, output, *flags, code=0):
    """What a training of rows from standard input says, in this process."""
    arguments = ["train", "-", "-o", str(output), *FAST, *map(str, flags)]
    result = CliRunner().invoke(app, arguments, input=rows.encode())
    assert result.exit_code == code, (result.output, result.exception)
    return " ".join(result.output.split())


def heed_signals():
    """What shells have their background jobs ignore, and these hand on."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def said_soon(process, words):
    """Read standard error up to words; give up after a while."""
    heard, deadline = b"", time.monotonic() + 100
    while words.encode() not in heard:
        readable, _, _ = select.select([process.stderr], [], [], max(deadline - time.monotonic(), 0))
        more = os.read(process.stderr.fileno(), 1 << 16) if readable else b""
        if not more:
            process.kill()
        assert more, heard
        heard += more


class TestASlowPipe:
    # SIGTERM also ends a run in test_cli.py.
    @pytest.mark.parametrize(
        "number", [pytest.param(signal.SIGTERM, marks=pytest.mark.slow), signal.SIGINT, signal.SIGHUP]
    )
    def test_shows_what_came_and_saves_it_when_it_is_to_end(self, tmp_path, number):
        """Far less than a block of text, and the last line is not whole: 1 or 12 are both classes."""
        output = tmp_path / "m.frugal"
        with started(output) as process:
            process.stdin.write((text(300) + "0.25,0.75,1").encode())
            process.stdin.flush()
            said_soon(process, "301 lines so far")
            process.send_signal(number)
            told = process.stderr.read().decode()
        assert process.returncode == 128 + number
        assert "Interrupted; `--resume` continues at example 300." in told
        training = describe(output).metadata["training"]
        assert (training["counts"]["rows"], training["finished"]) == (300, False)
        assert load(output).classes_.tolist() == [-1, 1]

    def test_goes_on_when_the_rows_are_sent_again(self, tmp_path):
        output, rows = tmp_path / "m.frugal", text(3000)
        with started(output) as process:
            process.stdin.write(rows[: len(rows) // 2].encode())
            process.stdin.flush()
            said_soon(process, "lines so far")
            process.send_signal(signal.SIGTERM)
            process.stderr.read()
        begun = describe(output).metadata["training"]["counts"]["rows"]
        assert 1400 < begun < 1600
        told = sent(rows.replace("\n0", "\n1", 1), output, "--resume", "-q", code=3)
        assert f"has changed in its first {begun:,} rows" in told
        sent(rows, output, "--resume", "-q")
        assert describe(output).metadata["training"]["counts"]["rows"] == 3000

    def test_without_a_row(self, tmp_path):
        output = tmp_path / "m.frugal"
        with started(output) as process:
            said_soon(process, "0 lines so far")
            process.send_signal(signal.SIGTERM)
            told = process.stderr.read().decode()
        assert process.returncode == 128 + signal.SIGTERM
        assert "Interrupted before the first row came; nothing was saved." in told
        assert os.listdir(tmp_path) == []

    def test_compressed_data_that_are_cut(self, tmp_path):
        output = tmp_path / "m.frugal"
        with started(output) as process:
            process.stdin.write(gzip.compress(text(3000).encode())[:-2000])
            process.stdin.flush()
            said_soon(process, "lines so far")
            process.send_signal(signal.SIGTERM)
            told = process.stderr.read().decode()
        assert process.returncode == 128 + signal.SIGTERM
        assert "damaged" not in told


def test_a_pipe_is_not_read_twice(tmp_path):
    output = tmp_path / "m.frugal"
    told = sent(text(100), output, "--passes", 2, code=2)
    assert "--passes: standard input can be read only once: save the rows to a file" in told
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    result = CliRunner().invoke(app, ["train", str(fifo), "--passes", "2", "-o", str(output)])
    assert (result.exit_code, is_read_once(str(fifo))) == (2, True)
    assert "fifo can be read only once" in " ".join(result.output.split())


def test_a_pipe_gives_the_model_of_the_file(tmp_path):
    rows, file, pipe = tmp_path / "rows.csv", tmp_path / "file.frugal", tmp_path / "pipe.frugal"
    rows.write_text(text(9000))
    command = [sys.executable, "-m", "frugalsvm.cli", "train", "-", "-o", str(pipe), *FAST, "--json"]
    from_pipe = subprocess.run(command, input=rows.read_bytes(), capture_output=True, check=True).stdout
    from_file = CliRunner().invoke(app, ["train", str(rows), "-o", str(file), *FAST, "--json"]).stdout
    assert len({json.loads(told)["accuracy_before_learning"] for told in (from_pipe, from_file)}) == 1
    X = np.random.default_rng(0).normal(size=(200, 2)).astype(np.float32)
    np.testing.assert_array_equal(*(load(path).decision_function(X) for path in (file, pipe)))


class TestPipe:
    @pytest.fixture
    def ends(self):
        reading, writing = os.pipe()
        yield Pipe(reading, "a pipe"), writing
        for descriptor in (reading, writing):
            with suppress(OSError):  # a test may have closed it
                os.close(descriptor)

    def test_gives_lines_when_they_are_whole(self, ends):
        pipe, writing = ends
        os.write(writing, b"one\ntw")
        assert pipe.read(100) == b"one\n"
        os.write(writing, b"o\n")
        assert pipe.read(100) == b"two\n"
        assert pipe.n_lines == 2

    def test_at_its_end_gives_all(self, ends):
        pipe, writing = ends
        os.write(writing, b"one\ntw")
        os.close(writing)
        assert pipe.readall() == b"one\ntw"

    def test_told_to_end_gives_whole_lines(self, ends):
        pipe, writing = ends
        os.write(writing, b"one\ntw")
        assert pipe.read(2) == b"on"
        pipe.end()
        assert pipe.readall() == b"e\n"

    def test_is_a_source_of_rows(self, ends):
        pipe, writing = ends
        os.write(writing, b"a,y\n1,0\n2,1\n3,")
        stream = open_stream(pipe, format="csv", batch_rows=1)
        pipe.end()
        with pytest.raises(Exception, match="a pipe"):
            list(stream)  # told to end before anything was read


class TestGroups:
    def batches(self, n_rows, seconds=0.0):
        for start in range(0, n_rows, 2):
            time.sleep(seconds)
            yield Batch(np.zeros((min(2, n_rows - start), 1)), np.zeros(min(2, n_rows - start)), start=start)

    def test_of_a_fast_pipe_are_full(self):
        groups = list(grouped(self.batches(19), 8, hasty_after=1))
        assert [(group.start, group.n_rows) for group in groups] == [(0, 8), (8, 8), (16, 3)]

    def test_of_a_slow_one_come_soon(self):
        groups = list(grouped(self.batches(19, 0.01), 8, hasty_after=1, patience=0.0))
        assert [(group.start, group.n_rows) for group in groups][:3] == [(0, 8), (8, 2), (10, 2)]
        assert [group.n_rows for group in grouped(self.batches(19, 0.01), 8, hasty_after=None, patience=0.0)] == [
            8,
            8,
            3,
        ]
