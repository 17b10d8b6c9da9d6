"""Work counted, not timed: instructions by callgrind, heap calls and system calls by the program itself.

Every statement compares two counts of one run of the tests, so that it holds on any machine and under any load. Each
names the regression it catches. Instructions need valgrind (Debian package valgrind), which runs AVX2 at most.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import pytest
from c_programs import CACHE, ENGINE, FLAGS, HERE, INCLUDE, LIBRARIES, compiler, run
from whole_engine import X86, compile_object, header_digest

BUILT_IN = Path(__file__).resolve().parents[2] / "resources" / "models" / "built-in.uocr"

pytestmark = pytest.mark.skipif(not compiler(), reason="no C compiler: install one, or the PyPI package ziglang")
needs_valgrind = pytest.mark.skipif(
    shutil.which("valgrind") is None,
    reason="instructions were not counted: valgrind (Debian package valgrind) is not installed")


@pytest.fixture(scope="module")
def program() -> Path:
    """count_work with the whole engine, optimised as it is shipped."""
    folder = CACHE / "counted"
    folder.mkdir(parents=True, exist_ok=True)
    flags = ["-O3" if flag == "-O1" else flag for flag in FLAGS]
    command = [*compiler(), *flags, '-DUOCR_VERSION_STRING="0.0.0"', f"-I{ENGINE}", f"-I{INCLUDE}", f"-I{HERE}"]
    headers = header_digest()
    sources = [HERE / "count_work.c", *sorted(ENGINE.glob("*.c")), *sorted((ENGINE / "cpu").glob("*.c"))]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(lambda source: compile_object(source, folder, command, headers), sources))
    for old in set(folder.glob("*.o")) - set(objects):
        old.unlink()
    target = folder / f"count_work-{os.getpid()}"
    done = subprocess.run([*command, *map(str, objects), "-o", str(target), *LIBRARIES],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return target


@pytest.fixture(scope="module", autouse=True)
def _removed(program: Path) -> object:
    yield None
    program.unlink()


def callgrind(program: Path, out: Path, *arguments: str | int, inside: str = "") -> str:
    """What callgrind printed; instructions outside the function `inside` are left out."""
    options = [f"--toggle-collect={inside}"] if inside else []
    options.append("--fair-sched=try")  # threads take turns: without it one does nearly all the work
    done = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", *options, str(program),
                           *map(str, arguments)], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stderr


Count = Callable[..., int]


@pytest.fixture(scope="module")
def steps(program: Path, tmp_path_factory: pytest.TempPathFactory) -> Count:
    """Instructions of a run on one thread: prompt ids, after token `first`, up to token `last`."""
    out = tmp_path_factory.mktemp("callgrind") / "out"

    @cache
    def count(prompt: int, first: int, last: int) -> int:
        text = callgrind(program, out, "run", BUILT_IN, 1, prompt, first, last, inside="counted_steps")
        found = re.search(r"Collected : (\d+)", text)
        assert found and int(found[1]) > 0, text
        return int(found[1])

    return count


def instructions_by_file(path: Path) -> dict[str, int]:
    """Self cost of every source file in callgrind's output (its format is described in the valgrind manual)."""
    names: dict[str, str] = {}
    found: dict[str, int] = {}
    file, of_a_call = "", False
    for line in path.read_text().splitlines():
        if match := re.match(r"(?:fl|fi|fe)=\((\d+)\)(?: (.*))?", line):
            if match[2]:
                names[match[1]] = match[2]
            file = names[match[1]]
        elif match := re.match(r"(?:cfi|cfl)=\((\d+)\) (.*)", line):
            names[match[1]] = match[2]
        elif line.startswith("calls="):
            of_a_call = True  # the next line is the cost of what was called
        elif match := re.match(r"[+*-]?\d*(?:\+\d+)? (\d+)$", line):
            if not of_a_call:
                found[file] = found.get(file, 0) + int(match[1])
            of_a_call = False
    return found


@needs_valgrind
@pytest.mark.skipif(not X86, reason="the ratio is that of AVX2; this is another architecture")
def test_a_vector_product_takes_a_fifth_of_the_instructions_of_plain_code(program: Path, tmp_path: Path) -> None:
    """Catches a product that falls back to scalars, or unpacks nibbles one by one: 0.15 was counted."""
    if "avx2" not in Path("/proc/cpuinfo").read_text():
        pytest.skip("this processor has no AVX2")
    counted = {}
    for table in ("baseline", "portable"):
        text = callgrind(program, tmp_path / "out", "gemv", table, inside="counted_gemv")
        counted[table] = int(re.search(r"Collected : (\d+)", text)[1])  # type: ignore[index]
    assert 0 < counted["baseline"] < 0.22 * counted["portable"], counted


@needs_valgrind
def test_a_token_costs_the_same_however_many_came_before(steps: Count) -> None:
    """Catches attention over all tokens instead of the ring, a guard that rereads its whole history, a growing list."""
    early, late = steps(8, 40, 50), steps(8, 120, 130)  # ring and guard are full in both
    assert abs(late - early) < 0.005 * early, (early, late)
    assert steps(8, 2, 12) < early


@needs_valgrind
def test_a_prompt_token_costs_less_than_a_decoded_one(steps: Count) -> None:
    """Catches prefill that goes row by row or dequantises weights for every row: 0.39 was counted."""
    prefill = steps(128, 0, 1) / 128
    decode = steps(8, 40, 50) / 10
    assert prefill < 0.6 * decode, (prefill, decode)


@needs_valgrind
def test_a_longer_prompt_costs_in_proportion(steps: Count) -> None:
    """Catches work that grows with the square of the prompt beside attention, and packing that is not shared."""
    half, whole = steps(64, 0, 1), steps(128, 0, 1)
    assert whole < 1.02 * 2 * half, (half, whole)


@needs_valgrind
def test_threads_share_the_work_and_add_none(program: Path, tmp_path: Path) -> None:
    """Catches work done once a thread instead of once: quantising activations, packing, whole products.

    Waiting for each other costs instructions too: those are in threads.c and are not counted.
    """
    work = {}
    for threads in (1, 3):
        out = tmp_path / f"out-{threads}"
        callgrind(program, out, "run", BUILT_IN, threads, 40, 0, 10)
        by_file = instructions_by_file(out)
        work[threads] = sum(count for name, count in by_file.items() if "/src/cpu/" in name)
        assert work[threads] > 0.3 * sum(by_file.values()) > 0, by_file
    assert abs(work[3] - work[1]) < 0.03 * work[1], work


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="heap calls are counted with the GNU C library only")
def test_a_decode_step_does_not_use_the_heap(program: Path) -> None:
    """Catches any allocation in a token's path, on two threads."""
    assert run(program, "allocations", BUILT_IN).strip() == "0"


@pytest.mark.skipif(platform.system() != "Linux", reason="system calls are forbidden with Linux' seccomp only")
def test_a_decode_step_makes_no_system_call(program: Path) -> None:
    """Catches a lock that sleeps, advice to the kernel, reading files, giving the processor away, with one thread."""
    found = run(program, "calls", BUILT_IN).strip()
    if found == "unknown":
        pytest.skip("system calls cannot be forbidden here (seccomp filters are not allowed)")
    assert found == "0"
    assert run(program, "one-call", BUILT_IN).strip() == "31"  # SIGSYS: a call would have been seen
