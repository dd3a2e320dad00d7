"""Saving never harms the file that was there; checkpoints fall back on the one before."""

import errno
import os
import subprocess
import sys

import pytest

from frugalsvm import BSGDClassifier
from frugalsvm.persist import ModelFileError, archive, describe, load, load_checkpoint, save, save_checkpoint
from frugalsvm.persist.atomic import OutputLockedError, locked, previous_of, write_atomically


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "model.frugal"
    save(BSGDClassifier(budget=1), path)
    return path


def no_space(*args, **kwargs):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("name", ["fsync", "replace"])
def test_failures_of_the_system_leave_the_old_file(path, name, monkeypatch):
    monkeypatch.setattr(os, name, no_space)
    with pytest.raises(OSError, match=r"could not be saved to .*No space left on device; the file .* is unchanged"):
        save(BSGDClassifier(budget=2), path)
    monkeypatch.undo()
    assert load(path).budget == 1
    assert os.listdir(path.parent) == [path.name]


def test_full_disk_while_writing(path, monkeypatch):
    write_entry = archive._write_entry

    def only_the_first(zip_file, file, name, pieces):
        write_entry(zip_file, file, name, pieces)
        no_space()

    monkeypatch.setattr(archive, "_write_entry", only_the_first)
    with pytest.raises(OSError, match="No space left") as caught:
        save(BSGDClassifier(budget=2), path)
    assert caught.value.errno == errno.ENOSPC
    assert load(path).budget == 1
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_a_really_full_device(path, monkeypatch):
    opened = os.open
    monkeypatch.setattr(os, "open", lambda name, flags, *mode: opened("/dev/full", os.O_RDWR))
    with pytest.raises(OSError, match="No space left"):
        save(BSGDClassifier(budget=2), path)
    monkeypatch.undo()
    assert load(path).budget == 1


def test_interruption_while_writing(path):
    def interrupted(file):
        file.write(b"half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_atomically(path, interrupted)
    assert load(path).budget == 1
    assert os.listdir(path.parent) == [path.name]


def test_folders_that_cannot_be_written(path):
    with pytest.raises(FileNotFoundError, match=r"could not be saved to .*nothing was written"):
        save(BSGDClassifier(), path.parent / "missing" / "model.frugal")
    with pytest.raises(IsADirectoryError, match="that is a folder"):
        save(BSGDClassifier(), path.parent)
    if os.geteuid() != 0:
        path.parent.chmod(0o500)
        try:
            with pytest.raises(PermissionError, match="could not be saved"):
                save(BSGDClassifier(budget=2), path)
        finally:
            path.parent.chmod(0o700)
        assert load(path).budget == 1


def test_what_cannot_be_saved_touches_nothing(path):
    with pytest.raises(ModelFileError, match="type object cannot be saved"):
        save(BSGDClassifier(class_weight=object()), path)
    assert load(path).budget == 1
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
class TestPermissions:
    @pytest.mark.parametrize("mode", [0o600, 0o640, 0o664])
    def test_those_of_the_file_before_stay(self, path, mode):
        before = os.umask(0o022)
        try:
            path.chmod(mode)
            for keep_previous in (False, True):
                save(BSGDClassifier(budget=3), path, keep_previous=keep_previous)
                assert path.stat().st_mode & 0o777 == mode
            assert previous_of(path).stat().st_mode & 0o777 == mode
        finally:
            os.umask(before)

    def test_a_new_file_has_those_of_new_files(self, tmp_path):
        before = os.umask(0o027)
        try:
            save(BSGDClassifier(), tmp_path / "new.frugal")
            assert (tmp_path / "new.frugal").stat().st_mode & 0o777 == 0o640
        finally:
            os.umask(before)


HOLDER = """
import sys, time
from frugalsvm.persist.atomic import locked
with locked(sys.argv[1]):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.mark.skipif(os.name != "posix", reason="locks of POSIX")
class TestLocks:
    def test_one_at_a_time(self, tmp_path):
        path = tmp_path / "model.frugal"
        with locked(path):
            said = f"model.frugal is being written by process {os.getpid()}"
            with pytest.raises(OutputLockedError, match=said), locked(path):
                pass
            with locked(tmp_path / "other.frugal"):
                pass
        with locked(path):
            pass
        assert os.listdir(tmp_path) == []

    def test_a_link_is_what_it_leads_to(self, tmp_path):
        (tmp_path / "link.frugal").symlink_to(tmp_path / "model.frugal")
        with locked(tmp_path / "model.frugal"), pytest.raises(OutputLockedError), locked(tmp_path / "link.frugal"):
            pass

    def test_a_killed_process_holds_nothing(self, tmp_path):
        path = tmp_path / "model.frugal"
        with subprocess.Popen([sys.executable, "-c", HOLDER, str(path)], stdout=subprocess.PIPE) as process:
            assert process.stdout.readline() == b"held\n"
            with pytest.raises(OutputLockedError, match=f"process {process.pid}"), locked(path):
                pass
            process.kill()
        with locked(path):
            pass
        assert os.listdir(tmp_path) == []


class TestCheckpoints:
    def test_the_previous_one_is_kept(self, tmp_path):
        path = tmp_path / "run.frugal"
        for step in (1, 2, 3):
            save_checkpoint(BSGDClassifier(budget=step), path, {"position": step})
        assert load_checkpoint(path).metadata == {"position": 3}
        assert describe(previous_of(path)).metadata == {"position": 2}
        assert sorted(os.listdir(tmp_path)) == ["run.frugal", "run.frugal.previous"]

    @pytest.mark.parametrize("linked", [True, False])
    def test_damage_falls_back(self, tmp_path, linked, monkeypatch):
        if not linked:  # a file system without links
            monkeypatch.setattr(os, "link", no_space)
        path = tmp_path / "run.frugal"
        for step in (1, 2):
            save_checkpoint(BSGDClassifier(budget=step), path, {"position": step})
        path.write_bytes(path.read_bytes()[:-100])
        with pytest.warns(RuntimeWarning, match=r"run\.frugal cannot be used .*continues from the previous one"):
            assert load_checkpoint(path)[1:] == ({"position": 1}, previous_of(path))
        path.unlink()
        with pytest.warns(RuntimeWarning, match=r"run\.frugal cannot be used \(it is missing\)"):
            assert load_checkpoint(path).model.budget == 1
        previous_of(path).unlink()
        with pytest.raises(FileNotFoundError, match=r"run\.frugal'"):
            load_checkpoint(path)

    def test_leftovers_of_killed_processes_go(self, path):
        process = subprocess.Popen([sys.executable, "-c", ""])
        process.wait()
        dead = path.with_name(f".{path.name}.{process.pid}-0123abcd.tmp")
        mine = path.with_name(f".{path.name}.{os.getpid()}-0123abcd.tmp")
        other = path.with_name(f".other.{process.pid}-0123abcd.tmp")
        for leftover in (dead, mine, other):
            leftover.write_bytes(b"")
        save(BSGDClassifier(), path)
        assert not dead.exists()
        assert mine.exists()
        assert other.exists()

    def test_links_stay_links(self, path, tmp_path):
        link = tmp_path / "link.frugal"
        link.symlink_to(path)
        save(BSGDClassifier(budget=7), link)
        assert link.is_symlink()
        assert load(path).budget == 7


def test_new_files_have_the_usual_permissions(path):
    plain = path.with_name("plain")
    plain.touch()
    assert path.stat().st_mode == plain.stat().st_mode
