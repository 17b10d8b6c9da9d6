"""Our engine alone: `python -m bench.speed [--out docs/figures/speed.json]`.

Measures this machine, in one run: the full model's shapes with random weights (q4, q8) and the built-in model, with
one thread and with all. Each figure is the median of several runs in fresh processes, with the range beside it. A whole
page through the command line: bench.one_page.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from uocr import bench, models, native

from bench import machine

RUNS = 3
COLUMNS = {  # figure of `uocr bench`: (heading, digits)
    "open_s": ("open, s", 3), "decode_tokens_per_s": ("decode, tokens/s", 1),
    "prefill_tokens_per_s": ("prefill, tokens/s", 0), "view_1024_s": ("view 1024, s", 2),
    "view_640_s": ("view 640, s", 2),
}


def measure(path: Path, threads: int) -> dict[str, list[float]]:
    """Figures of RUNS runs, each in a process of its own."""
    command = [sys.executable, "-m", "uocr.cli", "bench", "--model", str(path), "--threads", str(threads), "--json"]
    runs = [json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout) for _ in range(RUNS)]
    return {name: [round(run[name], 4) for run in runs] for name in COLUMNS}


def run() -> dict[str, Any]:
    threads = sorted({1, machine.processors()})
    report: dict[str, Any] = {"made_by": "python -m bench.speed", "machine": machine.describe(),
                              "engine": native.version(), "runs": RUNS, "load_at_start": machine.load(), "rows": []}

    def add(label: str, path: Path) -> None:
        for count in threads:
            report["rows"].append({"model": label, "threads": count, "figures": measure(path, count)})

    for profile in ("q4", "q8"):
        with bench.random_full_model(profile) as path:
            add(f"full shapes, {profile}", path)
    add("built-in, q8", models.resolve(None))
    report["load_at_end"] = machine.load()
    return report


def cell(values: Sequence[float], digits: int) -> str:
    """Median, lowest and highest."""
    low, middle, high = (f"{v:.{digits}f}" for v in (min(values), statistics.median(values), max(values)))
    return f"{middle} ({low} to {high})"


def tables(report: Mapping[str, Any]) -> str:
    """The figures as Markdown."""
    lines = ["| model | threads | " + " | ".join(head for head, _ in COLUMNS.values()) + " |",
             "|---|---|" + "---|" * len(COLUMNS)]
    lines += [f"| {row['model']} | {row['threads']} | "
              + " | ".join(cell(row["figures"][name], digits) for name, (_, digits) in COLUMNS.items()) + " |"
              for row in report["rows"]]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.speed", description=__doc__)
    parser.add_argument("--out", type=Path, help="where to store the figures as JSON")
    chosen = parser.parse_args()
    report = run()
    machine.tell(report, tables(report), chosen.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
