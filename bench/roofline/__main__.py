"""`python -m bench.roofline [--threads 1,2] [--out docs/figures]`

Prints a Markdown table of the limits and one of each pass; with --out stores roofline.json and roofline.png as well.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from dataclasses import asdict
from pathlib import Path

import platformdirs

from bench import machine
from bench.quality.stored import write
from bench.roofline import build, model, plot

PLOTTED = ("decode q4", "decode q8", "prefill q4", "view 1024")


def measure(threads: list[int], quick: bool) -> dict[str, object]:
    """Everything, as it is stored. `quick`: one repetition, little memory."""
    cache = Path(platformdirs.user_cache_dir("leggio", appauthor=False)) / "roofline"
    programs = build.machine(cache), build.operators(cache)
    report: dict[str, object] = {
        "made_by": f"python -m bench.roofline --threads {','.join(map(str, threads))}",
        "machine": machine.describe(), "load_at_start": machine.load()}
    limits = model.parse_limits(model.run(programs[0], [*(["--small"] if quick else []), *map(str, threads)]))
    passes = []
    for count in threads:
        for options in ([], ["--vision", "--integer"]):
            simd, found = model.parse_passes(
                model.run(programs[1], [str(count), "--json", *options, *(["--quick"] if quick else [])]))
            passes += [model.pass_record(name, count, simd, rows, limits[count]) for name, rows in found.items()]
    return {**report, "limits": {str(count): asdict(limit) for count, limit in limits.items()}, "passes": passes,
            "load_at_end": machine.load()}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.roofline", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    machine.add_threads(parser)
    parser.add_argument("--quick", action="store_true", help="one repetition: to see that it runs")
    parser.add_argument("--out", type=Path, help="folder for roofline.json and roofline.png")
    chosen = parser.parse_args()
    if chosen.out and importlib.util.find_spec("matplotlib") is None:
        print("bench.roofline: the plot needs matplotlib; `pip install 'leggio[bench]'`.", file=sys.stderr)
        return 1
    try:
        report = measure(chosen.threads, chosen.quick)
    except (build.CannotBuild, RuntimeError, ValueError) as error:
        print(f"bench.roofline: {error}", file=sys.stderr)
        return 1
    passes: list[dict[str, object]] = report["passes"]  # type: ignore[assignment]
    print(model.limits_table(report["limits"]))  # type: ignore[arg-type]
    for record in passes:
        print(f"\n{record['pass']}, {record['threads']} threads, {record['simd']}\n\n{model.pass_table(record)}")
    if chosen.out:
        chosen.out.mkdir(parents=True, exist_ok=True)
        write(chosen.out / "roofline.json", report)
        plot.draw(chosen.out / "roofline.png",
                  [record for record in passes if record["pass"] in PLOTTED and record["threads"] == chosen.threads[0]],
                  f"{machine.processor()}: share of this machine's limits")
    return 0


if __name__ == "__main__":
    sys.exit(main())
