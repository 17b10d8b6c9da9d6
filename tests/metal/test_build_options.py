"""The CMake option UOCR_GPU: which sources a build takes in."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from host_device import ROOT

pytestmark = pytest.mark.skipif(
    not shutil.which("cmake") or not shutil.which("cc"), reason="no cmake or no C compiler: apt-get install cmake gcc"
)


def configured(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = ["cmake", "-S", ROOT, "-B", folder, "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", *options]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def gpu_sources(folder: Path) -> set[str]:
    commands = json.loads((folder / "compile_commands.json").read_text())
    files = [Path(command["file"]) for command in commands]
    assert any(file.name == "decode.c" for file in files)
    return {file.name for file in files if file.parent.name == "gpu"}


def test_the_host_build_has_the_portable_half_and_the_host_device_alone(tmp_path: Path) -> None:
    done = configured(tmp_path, "-DUOCR_GPU=HOST")
    assert done.returncode == 0, done.stderr
    found = gpu_sources(tmp_path)
    assert {"backend_gpu.c", "ahead.c", "ops_linear.c"} < found
    assert {name for name in found if name.startswith("device_")} == {"device_host.c"}
    assert "UOCR_GPU_FIRST" not in (tmp_path / "compile_commands.json").read_text()


@pytest.mark.skipif(sys.platform == "darwin", reason="a Mac builds the Metal device")
def test_without_a_word_other_systems_build_no_gpu(tmp_path: Path) -> None:
    done = configured(tmp_path)
    assert done.returncode == 0, done.stderr
    assert gpu_sources(tmp_path) == set()
    assert "UOCR_GPU" not in (tmp_path / "compile_commands.json").read_text()


def test_an_unknown_device_is_refused_with_the_choices(tmp_path: Path) -> None:
    done = configured(tmp_path, "-DUOCR_GPU=CUDA")
    assert done.returncode != 0
    assert "UOCR_GPU is CUDA; it may be OFF, METAL or HOST." in done.stderr
