"""`make check-cuda` where there is no NVIDIA GPU: what it says, and that its sources still follow the kernels."""

from __future__ import annotations

import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from host_device import HERE, translate

sys.path.insert(0, str(HERE / "cuda"))

import check


def test_without_a_gpu_it_says_so_in_one_line_and_is_no_failure(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, HERE / "cuda" / "check.py"],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("check-cuda is skipped: no NVIDIA GPU answers here")
    assert done.stdout.count("\n") == 1


def test_without_the_compiler_it_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(check, "gpu", lambda: True)
    monkeypatch.setattr(check, "nvcc", lambda: None)
    monkeypatch.setattr(check, "BUILD", tmp_path)
    monkeypatch.setattr(sys, "argv", ["check.py"])
    monkeypatch.setattr("builtins.print", lambda text: said.append(text))
    check.main()
    how = "install NVIDIA's CUDA toolkit 12 or newer and put nvcc on the PATH."
    assert said == [f"check-cuda is skipped: no nvcc; {how}"]


@pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler called cc: apt-get install gcc")
def test_every_kernel_that_the_tests_ask_for_is_compiled_once_with_its_constants(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check, "BUILD", tmp_path)
    with ThreadPoolExecutor() as pool:
        wanted = check.wanted(pool)
    text = "".join(path.read_text() for path in check.sources(wanted))
    names = {key.split()[0] for key in wanted}
    known = {name for path in check.KERNELS.glob("*.metal") for name in translate.translate(path.read_text()).codes}
    # The guard, the history and the chosen token's embedding belong to a test of their own.
    assert known - names == {"embed_chosen", "guard_ban", "history_append"}
    assert len(wanted) > 100
    for key in wanted:
        assert text.count(f'_registered("{key}")') == 1, key
    assert "device" not in text.replace("__device__", "")
