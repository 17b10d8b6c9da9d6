"""Vector code against plain C, inner loop by inner loop (test_twins.c); and results that no thread count changes."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from c_programs import ADDRESS, ENGINE, HERE, INCLUDE, LIBRARIES, compiler, run, sanitizes
from uocr import errors, native
from whole_engine import build_with_engine

BUILT_IN = Path(__file__).resolve().parents[2] / "resources" / "models" / "built-in.uocr"


@pytest.mark.skipif(not compiler(), reason="no C compiler: install one, or the PyPI package ziglang")
def test_every_inner_loop_equals_its_twin_in_plain_code() -> None:
    program = build_with_engine("test_twins", ADDRESS if sanitizes(ADDRESS) else "")
    try:
        output = run(program)
    finally:
        program.unlink()
    assert re.search(r"^[1-9]\d* checks held, 0 failed$", output, re.MULTILINE), output
    if platform.machine() in ("x86_64", "AMD64") and "avx2" in Path("/proc/cpuinfo").read_text():
        assert re.search("^avx2$", output, re.MULTILINE), output  # the baseline was really run


@pytest.fixture(scope="module")
def arm_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program for arm64, statically linked."""
    zig = [sys.executable, "-m", "ziglang"]
    if subprocess.run([*zig, "version"], capture_output=True, check=False).returncode != 0:
        pytest.skip("NEON was not run: the PyPI package ziglang, which compiles for arm64, is not installed")
    if shutil.which("qemu-aarch64") is None:
        pytest.skip("NEON was not run: qemu-aarch64 (package qemu-user) is not installed")
    ground = [ENGINE / f"{name}.c" for name in ("memory", "pixels", "processors", "profile", "status", "threads")]
    sources = [HERE / "test_twins.c", *sorted((ENGINE / "cpu").glob("*.c")), *ground]
    target = tmp_path_factory.mktemp("arm64") / "test_twins"
    command = [*zig, "cc", "-target", "aarch64-linux-musl", "-std=c11", "-D_GNU_SOURCE", "-O2", "-ffp-contract=off",
               f"-I{ENGINE}", f"-I{INCLUDE}", f"-I{HERE}", *map(str, sources), "-o", str(target), *LIBRARIES]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return target


@pytest.mark.parametrize(("processor", "names"), [
    ("max", ["neon+i8mm", "neon", "portable"]),
    ("cortex-a76", ["neon+dotprod", "neon", "portable"]), ("cortex-a53", ["neon", "portable"])])
def test_neon_equals_its_twin_in_plain_code(arm_program: Path, processor: str, names: list[str]) -> None:
    done = subprocess.run(["qemu-aarch64", "-cpu", processor, arm_program], capture_output=True, text=True,
                          check=False, timeout=500)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[:-1] == names


def reading(threads: int, precision: str) -> tuple[list[int], list[float], bytes]:
    """Tokens, their log-probabilities and the visual rows of one small view read by the built-in model."""
    with native.Engine(BUILT_IN, threads=threads, precision=precision) as engine:
        info = engine.info()
        rows = 8 * 9 + 1  # of a view of 512 pixels
        ids = [info.bos_id, *[info.image_id] * rows, 3]
        plan = native.Plan(ids, global_size=512, max_new_tokens=24, ignore_eos=True)
        page = np.full((512, 512, 3), 255, np.uint8)
        page[100:110, 40:400] = page[200:300, 60:64] = 0
        tokens, logprobs = [], []
        with engine.begin(plan) as running:
            running.capture("rows")
            for event in running.events():
                if event.kind == native.NEED_VIEW:
                    running.feed(event.view, page)
                elif event.kind == native.TOKEN:
                    tokens.append(event.token)
                    logprobs.append(event.logprob)
            found = running.fetch("rows")
    return tokens, logprobs, found.tobytes()


@pytest.mark.parametrize("precision", ["fast", "exact"])
def test_no_number_of_threads_changes_a_bit_of_what_is_read(precision: str) -> None:
    one = reading(1, precision)
    for threads in (0, 3, 64):
        assert reading(threads, precision) == one, threads


def test_zero_threads_are_as_many_as_this_process_may_use_and_too_many_are_refused() -> None:
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with native.Engine(BUILT_IN, threads=0) as engine:
        assert 1 <= engine.info().threads <= allowed  # a control group may allow fewer
    with native.Engine(BUILT_IN, threads=64) as engine:
        assert engine.info().threads == 64
    with pytest.raises(errors.InvalidRequest, match="257 threads were asked for; at most 256, or 0"):
        native.Engine(BUILT_IN, threads=257)
