"""Every operator of the CPU back end against float64 references, in C (test_ops.c and ops_*.c).

As it is shipped (-O3), under the address, undefined-behaviour and thread sanitizers where the compiler has
them, and for arm64 when the PyPI package ziglang can compile for it and qemu can run it.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from c_programs import (
    ADDRESS,
    CACHE,
    ENGINE,
    FLAGS,
    HERE,
    INCLUDE,
    LIBRARIES,
    THREAD,
    compiler,
    run,
    sanitizes,
)
from whole_engine import compile_object, header_digest

GROUND = ["memory.c", "pixels.c", "processors.c", "profile.c", "status.c", "threads.c"]
SOURCES = [HERE / "test_ops.c", *sorted(HERE.glob("ops_*.c")), *sorted((ENGINE / "cpu").glob("*.c")),
           *(ENGINE / name for name in GROUND)]
INCLUDES = [f"-I{ENGINE}", f"-I{INCLUDE}", f"-I{HERE}"]

needs_compiler = pytest.mark.skipif(not compiler(),
                                    reason="no C compiler: install one, or the PyPI package ziglang")


def build_ops(folder: Path, optimise: str, sanitizer: str = "") -> Path:
    """The test program; vector files get the flags of their instruction set."""
    flags = [optimise if flag == "-O1" else flag for flag in FLAGS]
    command = [*compiler(), *flags, *INCLUDES]
    if sanitizer:
        command += [f"-fsanitize={sanitizer}", "-fno-sanitize-recover=undefined"]
    folder.mkdir(parents=True, exist_ok=True)
    headers = header_digest()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(lambda source: compile_object(source, folder, command, headers), SOURCES))
    for old in set(folder.glob("*.o")) - set(objects):
        old.unlink()
    program = folder / "test_ops"
    done = subprocess.run([*command, *map(str, objects), "-o", str(program), *LIBRARIES],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return program


def held(output: str) -> bool:
    return re.search(r"^[1-9]\d* checks held, 0 failed$", output, re.MULTILINE) is not None


@needs_compiler
def test_every_operator_equals_its_reference_for_any_number_of_threads() -> None:
    output = run(build_ops(CACHE / "ops-plain", "-O3"), "--few")
    assert held(output), output
    if platform.machine() in ("x86_64", "AMD64") and "avx2" in (flags := Path("/proc/cpuinfo").read_text()):
        assert "avx2 fast" in output
        best = "avx512-vnni" if "avx512_vnni" in flags else "avx2"
        assert f"{best} fast" in output and f"{best} exact" in output
    assert "portable fast" in output and "portable exact" in output


@needs_compiler
@pytest.mark.slow
def test_every_operator_equals_its_reference_in_the_largest_shapes() -> None:
    output = run(build_ops(CACHE / "ops-plain", "-O3"))
    assert held(output), output


@needs_compiler
@pytest.mark.parametrize(("sanitizer", "options"), [
    (ADDRESS, ["--few", "--quick"]),
    (THREAD, ["--few", "--vector", "--fast"]),
])
def test_no_sanitizer_has_anything_to_report(sanitizer: str, options: list[str]) -> None:
    if not sanitizes(sanitizer):
        pytest.skip(f"this compiler has no {sanitizer} sanitizer")
    output = run(build_ops(CACHE / f"ops-{sanitizer.replace(',', '-')}", "-O1", sanitizer), *options)
    assert held(output), output


@pytest.fixture(scope="module")
def arm_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The test program for arm64, statically linked."""
    zig = [sys.executable, "-m", "ziglang"]
    if subprocess.run([*zig, "version"], capture_output=True, check=False).returncode != 0:
        pytest.skip("NEON was not run: the PyPI package ziglang, which compiles for arm64, is not installed")
    if shutil.which("qemu-aarch64") is None:
        pytest.skip("NEON was not run: qemu-aarch64 (package qemu-user) is not installed")
    program = tmp_path_factory.mktemp("arm64") / "test_ops"
    command = [*zig, "cc", "-target", "aarch64-linux-musl", "-std=c11", "-D_GNU_SOURCE", "-O2",
               "-ffp-contract=off", "-Wall", "-Wextra", "-Wpedantic", "-Werror", *INCLUDES]
    done = subprocess.run([*command, *map(str, SOURCES), "-o", str(program), *LIBRARIES],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return program


@pytest.mark.parametrize(("processor", "name", "options"), [
    ("max", "neon+i8mm", []),                    # all that qemu knows
    ("cortex-a76", "neon+dotprod", ["--fast"]),  # an M1's instructions: dot product and half, no 8-bit matrices
    ("cortex-a53", "neon", ["--fast"]),          # no dot product: only the integer products differ
])
def test_neon_equals_the_reference(arm_program: Path, processor: str, name: str, options: list[str]) -> None:
    command = ["qemu-aarch64", "-cpu", processor, str(arm_program), "--few", "--quick", "--vector", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=500)
    assert done.returncode == 0 and held(done.stdout), done.stdout + done.stderr
    assert f"{name} fast" in done.stdout, done.stdout
