"""The speed table: `python -m bench.speed > docs/performance.md`.

Measures this machine, in one run: the full model's shapes with random weights (q4, q8) and the built-in model, with
one thread and with all. Each figure is the median of several runs in fresh processes, with the range beside it.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
from pathlib import Path

from uocr import bench, models, native

RUNS = 3


def measure(path: Path, threads: int) -> list[dict[str, float]]:
    """RUNS measurements, each in a process of its own."""
    command = [sys.executable, "-m", "uocr.cli", "bench", "--model", str(path), "--threads", str(threads), "--json"]
    return [json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout) for _ in range(RUNS)]


def cell(runs: list[dict[str, float]], name: str, digits: int) -> str:
    values = [run[name] for run in runs]
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def rows(label: str, path: Path) -> None:
    for threads in sorted(
        {1, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1}
    ):
        runs = measure(path, threads)
        print(
            f"| {label} | {threads} | {cell(runs, 'open_s', 3)} | {cell(runs, 'decode_tokens_per_s', 1)} | "
            f"{cell(runs, 'prefill_tokens_per_s', 0)} | {cell(runs, 'view_1024_s', 2)} | {cell(runs, 'view_640_s', 2)} |",
            flush=True,
        )


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def main() -> int:
    load = os.getloadavg()[0]
    print("# Speed\n")
    print(
        "Made by `python -m bench.speed > docs/performance.md`: median of "
        f"{RUNS} runs in fresh processes, lowest and highest in brackets.\n"
    )
    print(
        f"{processor()}, {os.cpu_count()} processors, {platform.platform(terse=True)}, Python "
        f"{platform.python_version()}, libuocr {native.version()}; load at the start {load:.2f}. FAST precision, a prompt of "
        "277 tokens, 64 tokens decoded.\nThe full shapes carry random weights: speed does not depend on their values.\n"
    )
    print(
        "| model | threads | open, s | decode, tokens/s | prefill, tokens/s | view 1024, s | view 640, s |\n"
        "|---|---|---|---|---|---|---|"
    )
    for profile in ("q4", "q8"):
        with bench.random_full_model(profile) as path:
            rows(f"full shapes, {profile}", path)
    rows("built-in, q8", models.resolve(None))
    return 0


if __name__ == "__main__":
    sys.exit(main())
