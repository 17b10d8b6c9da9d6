"""What a reader must know of the machine that figures come from."""

from __future__ import annotations

import argparse
import os
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.quality.stored import write


def processor() -> str:
    """The processor's name as it calls itself."""
    return _cpuinfo("model name") or platform.processor() or platform.machine()


def instruction_sets() -> list[str]:
    """Those that matter here, of the ones this processor has (x86-64 on Linux; empty elsewhere)."""
    flags = _cpuinfo("flags").split()
    return [name for name in ("avx2", "fma", "f16c", "avx_vnni", "avx512f", "avx512_vnni", "amx_int8") if name in flags]


def processors() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def add_threads(parser: argparse.ArgumentParser) -> None:
    """The option --threads: numbers of threads to measure with, one and all unless told."""
    parser.add_argument("--threads", type=_thread_counts, default=sorted({1, processors()}), help="as in 1,2")


def _thread_counts(text: str) -> list[int]:
    found = sorted({int(part) if part.strip().isdecimal() else 0 for part in text.split(",")})
    if found[0] < 1:
        raise argparse.ArgumentTypeError(f"{text} names no threads; give numbers from 1 on, as in 1,2")
    return found


def load() -> float:
    """Processes that ran or waited in the last minute, on average."""
    return round(os.getloadavg()[0], 2)


def describe() -> dict[str, object]:
    return {"processor": processor(), "processors": processors(), "instructions": instruction_sets(),
            "system": platform.platform(terse=True), "python": platform.python_version()}


def sentence(found: dict[str, object]) -> str:
    """`describe` as a reader meets it."""
    sets = found["instructions"]
    listed = f" ({', '.join(sets)})" if isinstance(sets, list) and sets else ""
    return (f"{found['processor']}{listed}, {found['processors']} processors, {found['system']}, "
            f"Python {found['python']}")


def tell(report: Mapping[str, Any], table: str, out: Path | None) -> None:
    """Print a report's machine, its load and the table of its figures; store the report, if a file is named."""
    print(f"{sentence(report['machine'])}; load {report['load_at_start']} to {report['load_at_end']}\n")
    print(table)
    if out:
        write(out, report)


def _cpuinfo(name: str) -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.partition(":")[0].strip() == name), "")
