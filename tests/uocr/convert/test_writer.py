"""The final name holds a whole, verified file or what it held before; whatever happens on the way."""

from __future__ import annotations

import errno
import fcntl
import os
import resource
import shutil
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from checkpoint_files import Make
from uocr.convert import convert_checkpoint
from uocr.errors import ModelFileError, OutputExists, OutputFailed
from uocr.modelfile import ModelFile

OLD = b"an older model"
# Converts argv[1] to argv[2] and kills itself, without any clean-up, when argv[3] percent are done. At 100
# percent it dies at the moment of the rename, before it happens.
KILLED = textwrap.dedent("""
    import os, signal, sys
    from pathlib import Path
    from uocr.convert import convert_checkpoint

    def die(*_):
        os.kill(os.getpid(), signal.SIGKILL)

    def progress(done, total):
        if done >= total * int(sys.argv[3]) / 100:
            die()

    if sys.argv[3] == "100":
        os.replace, progress = die, None
    convert_checkpoint(Path(sys.argv[1]), Path(sys.argv[2]), "q8", overwrite=True, progress=progress)
""")


def run_python(code: str, *arguments: object, **options) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True,
                          env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}, **options)


@pytest.mark.parametrize("percent", [1, 40, 60, 85, 99, 100])
def test_killed_at_any_moment_it_leaves_the_old_file(golden: Path, tmp_path: Path, percent: int) -> None:
    target = tmp_path / "model.uocr"
    target.write_bytes(OLD)
    done = run_python(KILLED, golden, target, percent)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert target.read_bytes() == OLD
    assert {path.name for path in tmp_path.iterdir()} <= {"model.uocr", "model.uocr.partial"}


def test_after_a_kill_the_next_conversion_succeeds(golden: Path, tmp_path: Path, converted: Make) -> None:
    target = tmp_path / "model.uocr"
    assert run_python(KILLED, golden, target, 70).returncode == -signal.SIGKILL
    assert not target.exists() and (tmp_path / "model.uocr.partial").stat().st_size > 0
    convert_checkpoint(golden, target, "q8")
    assert target.read_bytes() == converted("q8").read_bytes()
    assert not (tmp_path / "model.uocr.partial").exists()


def test_an_existing_file_needs_leave_to_be_replaced(golden: Path, tmp_path: Path) -> None:
    target = tmp_path / "model.uocr"
    target.write_bytes(OLD)
    with pytest.raises(OutputExists, match=r"model\.uocr exists already"):
        convert_checkpoint(golden, target, "q4")
    assert target.read_bytes() == OLD
    convert_checkpoint(golden, target, "q4", overwrite=True)
    with ModelFile.open(target) as model:
        assert model.profile == "q4"


def test_a_file_that_appears_meanwhile_is_not_replaced(golden: Path, tmp_path: Path) -> None:
    target = tmp_path / "model.uocr"

    def progress(_done: int, _total: int) -> None:
        target.write_bytes(OLD)

    with pytest.raises(OutputExists):
        convert_checkpoint(golden, target, "q4", progress=progress)
    assert target.read_bytes() == OLD
    assert list(tmp_path.iterdir()) == [target]


def test_a_full_disk_gives_one_sentence_and_leaves_nothing(golden: Path, tmp_path: Path,
                                                           monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "model.uocr"
    written = 0

    def write_all(file, data) -> None:
        nonlocal written
        written += len(data)
        if written > 2_000_000:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        file.write(data)

    monkeypatch.setattr("uocr.convert.writer.write_all", write_all)
    with pytest.raises(OutputFailed, match=r"model\.uocr could not be written after .* No space left"):
        convert_checkpoint(golden, target, "q8")
    assert list(tmp_path.iterdir()) == []


def test_the_limit_of_the_file_system_gives_one_sentence_too(golden: Path, tmp_path: Path) -> None:
    code = textwrap.dedent("""
        import sys
        from pathlib import Path
        from uocr.convert import convert_checkpoint
        from uocr.errors import OutputFailed
        try:
            convert_checkpoint(Path(sys.argv[1]), Path(sys.argv[2]), "q8")
        except OutputFailed as error:
            print(error)
    """)
    target = tmp_path / "model.uocr"
    done = run_python(code, golden, target,
                      preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20)))
    assert "could not be written after" in done.stdout and "File too large" in done.stdout, done.stderr
    assert list(tmp_path.iterdir()) == []


def test_too_little_room_is_said_before_anything_is_written(golden: Path, tmp_path: Path,
                                                            monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(tmp_path)._replace(free=50_000_000)
    monkeypatch.setattr("shutil.disk_usage", lambda _path: usage)
    with pytest.raises(OutputFailed, match=r"model.uocr needs 72 MB, the disk has 50 MB free"):
        convert_checkpoint(golden, tmp_path / "model.uocr", "q8")
    assert list(tmp_path.iterdir()) == []


def test_a_missing_folder_is_named(golden: Path, tmp_path: Path) -> None:
    with pytest.raises(OutputFailed, match="nowhere cannot be written: No such file or directory"):
        convert_checkpoint(golden, tmp_path / "nowhere" / "model.uocr", "q8")


def test_two_conversions_to_one_name_do_not_mix(golden: Path, tmp_path: Path) -> None:
    with (tmp_path / "model.uocr.partial").open("wb") as other:
        other.write(b"half")
        other.flush()
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(OutputFailed, match="in use by another conversion"):
            convert_checkpoint(golden, tmp_path / "model.uocr", "q8")
    assert (tmp_path / "model.uocr.partial").read_bytes() == b"half"


def test_what_the_progress_callback_raises_ends_it_cleanly(golden: Path, tmp_path: Path) -> None:
    def progress(done: int, total: int) -> None:
        if done > total // 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        convert_checkpoint(golden, tmp_path / "model.uocr", "q8", progress=progress)
    assert list(tmp_path.iterdir()) == []


def test_progress_rises_to_its_total(golden: Path, tmp_path: Path) -> None:
    heard: list[tuple[int, int]] = []
    convert_checkpoint(golden, tmp_path / "model.uocr", "q8", progress=lambda *pair: heard.append(pair))
    done = [pair[0] for pair in heard]
    assert done == sorted(done)
    assert heard[-1][0] == heard[-1][1]
    assert len(set(done)) > 100


def test_what_the_disk_returns_is_compared_before_the_rename(golden: Path, tmp_path: Path,
                                                             monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.fsync

    def damaging(handle: int) -> None:
        real(handle)
        if os.fstat(handle).st_size > 1_000_000:
            os.pwrite(handle, b"\x55" * 64, 1_000_000)

    monkeypatch.setattr("os.fsync", damaging)
    with pytest.raises(ModelFileError, match="does not have its SHA-256"):
        convert_checkpoint(golden, tmp_path / "model.uocr", "q8")
    assert list(tmp_path.iterdir()) == []
