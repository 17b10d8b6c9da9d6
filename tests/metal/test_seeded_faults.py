"""Faults put into real kernels on purpose: the checker must name each, and accept the kernels as they are.

One row a fault: the file it is put into, what is replaced by what (the `place`-th time it occurs), the case
that runs, and a part of what the checker must say.
"""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from host_device import CACHE, GPU, GROUND, HERE, KERNELS, OPERATOR_TESTS, kernels, missing, program

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing() or "all is there")
BARRIER = "threadgroup_barrier(mem_flags::mem_threadgroup);"
SOURCES = {"gemv": "gemv", "gemm": "gemm", "decode": "decode", "attention": "attention"}


@dataclass(frozen=True)
class Fault:
    name: str
    file: str
    old: str
    new: str
    case: str
    says: str
    place: int = 1


FAULTS = [
    Fault("no barrier after staging", "gemm.metal", BARRIER, "", "gemm", "RACE"),
    Fault("no barrier at the end of a step", "gemm.metal", BARRIER, "", "gemm", "RACE", 2),
    Fault("no barrier before the tail", "gemm.metal", BARRIER, "", "gemm", "RACE", 3),
    Fault(
        "column guard dropped",
        "gemm.metal",
        "r >= rows || c >= args.cols",
        "r >= rows",
        "gemm",
        "RACE: store after store",
    ),
    Fault(
        "row guard of staging dropped",
        "gemm.metal",
        "row >= rows || k >= args.depth",
        "k >= args.depth",
        "gemm",
        "OUT OF BOUNDS load",
    ),
    Fault(
        "tile too small by a row", "gemm.metal", "tile + n * K", "tile + (n + 1) * K", "gemm", "OUT OF BOUNDS"
    ),
    Fault(
        "matrices in a diverged simdgroup",
        "gemm.metal",
        "multiply<T>(inputs, weights, simdgroup, first);",
        "if (thread_index % 32 < 31) multiply<T>(inputs, weights, simdgroup, first);",
        "gemm",
        "diverged",
    ),
    Fault("no barrier before merging", "decode.metal", BARRIER, "", "decode", "UNINITIALISED"),
    Fault(
        "barrier that one simdgroup alone reaches",
        "decode.metal",
        BARRIER,
        f"if (simdgroup != 0) return; {BARRIER}",
        "decode",
        "not reached by all threads",
    ),
    Fault(
        "one simdgroup never writes its part",
        "decode.metal",
        "if (part == 0) {",
        "if (part == 0 && simdgroup != 5) {",
        "decode",
        "UNINITIALISED",
    ),
    Fault(
        "room for one simdgroup too few",
        "decode.metal",
        "GPU_DECODE_SIMDGROUPS * 4;",
        "GPU_DECODE_SIMDGROUPS * 4 - 4;",
        "decode",
        "OUT OF BOUNDS store",
    ),
    Fault(
        "simd_sum after a lane has left",
        "gemv.metal",
        "const float product = simd_sum(sum[r]);",
        "if (lane == 31) return; const float product = simd_sum(sum[r]);",
        "gemv",
        "simdgroup operation after some lanes",
    ),
    Fault(
        "two lanes write one result",
        "gemv.metal",
        "if (lane == 0 && r < count) {",
        "if (lane < 2 && r < count) {",
        "gemv",
        "RACE: store after store",
    ),
    Fault(
        "guard of weight rows dropped",
        "gemv.metal",
        "if (row0 >= part.rows) return;",
        "",
        "gemv",
        "OUT OF BOUNDS load",
    ),
    Fault(
        "vector load off its alignment",
        "gemv.h",
        "payload + group * (GROUP / 2) + j)",
        "payload + group * (GROUP / 2) + j + 2)",
        "gemv",
        "MISALIGNED",
    ),
    Fault(
        "scores are read before the simdgroup has met",
        "attention.metal",
        "simdgroup_barrier(mem_flags::mem_threadgroup);",
        "",
        "attention",
        "RACE",
    ),
    Fault(
        "values are read while others still load them", "attention.metal", BARRIER, "", "attention", "RACE", 5
    ),
]


def seeded(fault: Fault | None, case: str, folder: Path) -> str:
    """The case's output over kernels with this fault."""
    sources = folder / "metal"
    shutil.copytree(KERNELS, sources)
    if fault:
        text = (sources / fault.file).read_text()
        place = -1
        for _ in range(fault.place):
            place = text.index(fault.old, place + 1)
        (sources / fault.file).write_text(text[:place] + fault.new + text[place + len(fault.old) :])
    chosen = [sources / f"{name}.metal" for name in dict.fromkeys([SOURCES[case], "decode"])]
    digest = kernels.digest(True, chosen)
    (CACHE / "seeded").mkdir(parents=True, exist_ok=True)
    library = kernels.build(CACHE / "seeded" / f"{case}-{digest}.so", True, chosen)
    executable = program("test_seeded", [HERE / "test_seeded.c", OPERATOR_TESTS[3], *GPU, *GROUND])
    done = subprocess.run(
        [executable, case],
        env={"UOCR_HOST_KERNELS": str(library)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return done.stdout + done.stderr


@pytest.mark.parametrize("case", list(SOURCES))
def test_kernels_as_they_are_give_nothing_to_report(case: str, tmp_path: Path) -> None:
    assert seeded(None, case, tmp_path) == "nothing to report\n"


@pytest.mark.parametrize("fault", FAULTS, ids=[fault.name for fault in FAULTS])
def test_a_seeded_fault_is_reported(fault: Fault, tmp_path: Path) -> None:
    assert fault.says in seeded(fault, fault.case, tmp_path)
